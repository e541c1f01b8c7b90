"""One width a block, against products of scikit-learn's RBF and finite differences."""

import pickle

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from gflownet_envs.rewards.gaussian_process import ComponentRBF, gaussian_process_modes
from tests.shared import refuses

SIZES, WIDTHS = (2, 1, 3), (0.7, 2.0, 1.3)
X = np.random.default_rng(0).normal(size=(7, 6))
Z = np.random.default_rng(1).normal(size=(4, 6))


def test_it_is_the_product_of_one_rbf_a_block():
    kernel = ComponentRBF(SIZES, WIDTHS)
    blocks = [slice(0, 2), slice(2, 3), slice(3, 6)]
    for other in (X, Z):
        factors = [
            RBF(width)(X[:, block], other[:, block])
            for block, width in zip(blocks, WIDTHS, strict=True)
        ]
        assert_allclose(kernel(X, other), np.prod(factors, axis=0), rtol=1e-12)
    assert_array_equal(kernel(X), kernel(X, X))
    assert_array_equal(kernel.diag(X), 1)


def test_the_gradient_is_that_of_finite_differences():
    kernel = ComponentRBF(SIZES, WIDTHS)
    _, gradient = kernel(X, eval_gradient=True)
    assert gradient.shape == (7, 7, 3)
    step = 1e-6
    for i in range(3):
        ahead, behind = (
            kernel.clone_with_theta(kernel.theta + sign * step * np.eye(3)[i])(X)
            for sign in (1, -1)
        )
        found = (ahead - behind) / (2 * step)
        assert_allclose(gradient[:, :, i], found, atol=1e-9)


def test_kernels_are_cloned_combined_and_pickled():
    kernel = ConstantKernel(2.0) * ComponentRBF(SIZES, np.array(WIDTHS))
    assert_allclose(kernel.theta, np.log([2.0, *WIDTHS]))
    assert repr(kernel.k2) == "ComponentRBF(length_scale=[0.7, 2, 1.3])"
    for copy in (clone(kernel), pickle.loads(pickle.dumps(kernel))):
        assert_array_equal(copy(X, Z), kernel(X, Z))
    assert_allclose(kernel.bounds, np.log([[1e-5, 1e5], *[[0.1, 100]] * 3]))


def test_fixed_widths_stay():
    kernel = ComponentRBF(SIZES, WIDTHS, "fixed")
    assert kernel(X, eval_gradient=True)[1].shape == (7, 7, 0)
    fitted = GaussianProcessRegressor(ConstantKernel() * kernel).fit(X, X[:, 0])
    assert_array_equal(fitted.kernel_.k2.length_scale, WIDTHS)


def test_a_component_that_does_not_matter_becomes_wide(rng):
    rows = rng.normal(size=(80, 4))
    y = np.sin(2 * rows[:, 0]) + rows[:, 1] + 0.1 * rng.normal(size=80)
    kernel = ConstantKernel() * ComponentRBF((2, 2), (1.0, 1.0), (0.1, 1e4))
    modes = gaussian_process_modes(rows, y, rows, n_modes=2, kernel=kernel)
    matters, does_not = modes.kernel.k2.length_scale
    assert does_not > 10 * matters


def test_bad_arguments():
    words = "must be 3 positive numbers, one a block"
    refuses(words, ComponentRBF(SIZES, (1.0, 2.0, -1.0)), X)
    words = r"add up to the columns, 6, got \(2, 1\)"
    refuses(words, ComponentRBF((2, 1), (1.0, 2.0)), X)
