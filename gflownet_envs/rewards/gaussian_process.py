"""Rewards drawn from a Gaussian process over what the levels of a component are."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import block_diag, cholesky, eigh
from scipy.spatial.distance import cdist
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    Hyperparameter,
    Kernel,
    NormalizedKernelMixin,
    StationaryKernelMixin,
    WhiteKernel,
)
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import check_random_state

from gflownet_envs.chemistry import molecular_descriptors
from gflownet_envs.environments.base import require_at_least
from gflownet_envs.rewards.source import member_inputs, one_hot_levels

# Bounds of the noise variance, relative to the variance of the targets.
_NOISE_BOUNDS = (1e-6, 1e2)
# Added to the diagonal of covariances before they are factored, relative to its mean.
_JITTER = 1e-9
# A descriptor is constant if its spread is below this share of its largest value.
_ROUNDING = 1e-10


class ComponentRBF(StationaryKernelMixin, NormalizedKernelMixin, Kernel):
    r"""Squared exponential kernel with one width for each block of columns.

    .. math:: k(x, z) = \exp \Bigl( -\frac12 \sum_b
        \frac{\lVert x_b - z_b \rVert^2}{\ell_b^2} \Bigr),

    where :math:`x_b` are the columns of block b. scikit-learn's ``RBF`` has one width
    for all columns or one for each: too few for components of different weight, too
    many for one-hot vectors and descriptors.

    Parameters
    ----------
    sizes : sequence of int
        Number of columns of each block, in the order of the columns.
    length_scale : array-like of float of shape (n_blocks,)
        The widths; where optimisation starts.
    length_scale_bounds : pair of float or "fixed", default=(0.1, 100)
        A width at its upper bound says that the block does not matter; scikit-learn
        then warns.

    Raises
    ------
    ValueError
        When it is evaluated, if there is not one positive width a block, or ``sizes``
        do not add up to the columns.

    See Also
    --------
    level_features : Columns to use it on.

    Examples
    --------
    >>> kernel = ComponentRBF((2, 1), (1.0, 2.0))
    >>> kernel(np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 2.0]])).round(3)
    array([[1.   , 0.223],
           [0.223, 1.   ]])
    """

    def __init__(
        self,
        sizes: Sequence[int],
        length_scale: ArrayLike,
        length_scale_bounds: tuple[float, float] | str = (1e-1, 1e2),
    ) -> None:
        self.sizes = sizes
        self.length_scale = length_scale
        self.length_scale_bounds = length_scale_bounds

    @property
    def hyperparameter_length_scale(self) -> Hyperparameter:
        """How scikit-learn optimises the widths."""
        return Hyperparameter(
            "length_scale", "numeric", self.length_scale_bounds, len(self.sizes)
        )

    def __call__(
        self,
        X: np.ndarray,  # shape: (n, F)
        Y: np.ndarray | None = None,  # shape: (m, F)
        eval_gradient: bool = False,
    ) -> np.ndarray | tuple[np.ndarray, np.ndarray]:
        """Return the kernel matrix, and its gradient by the log widths."""
        widths = self._checked_widths(X)
        ends = np.cumsum(self.sizes)[:-1]
        parts = [np.split(rows, ends, axis=1) for rows in (X, X if Y is None else Y)]
        blocks = [
            cdist(x, y, "sqeuclidean") / width**2
            for x, y, width in zip(*parts, widths, strict=True)
        ]
        values = np.exp(-0.5 * np.sum(blocks, axis=0))
        if not eval_gradient:
            return values
        if self.hyperparameter_length_scale.fixed:
            return values, np.empty((*values.shape, 0))
        return values, np.stack([values * block for block in blocks], axis=2)

    def __repr__(self) -> str:
        widths = ", ".join(f"{width:.3g}" for width in np.ravel(self.length_scale))
        return f"{type(self).__name__}(length_scale=[{widths}])"

    def _checked_widths(self, X: np.ndarray) -> np.ndarray:  # shape: (n_blocks,)
        # scikit-learn's optimiser gives a single width as a number
        widths = np.atleast_1d(np.asarray(self.length_scale, dtype=np.float64))
        if widths.shape != (len(self.sizes),) or not (widths > 0).all():
            raise ValueError(
                f"length_scale must be {len(self.sizes)} positive numbers, one a "
                f"block, got {self.length_scale!r}"
            )
        if sum(self.sizes) != X.shape[1]:
            raise ValueError(
                f"sizes must add up to the columns, {X.shape[1]}, got {self.sizes!r}"
            )
        return widths


@dataclass(frozen=True, eq=False)
class GaussianProcessModes:
    r"""The posterior of a Gaussian process over candidates, by its leading modes.

    With mean m and covariance :math:`C = \sum_k \lambda_k v_k v_k^\top` (the
    Karhunen–Loève expansion over a finite set is the eigendecomposition)

    .. math:: f = m + \sum_{k \le d} \sqrt{\lambda_k}\, \xi_k v_k + r, \qquad
        \xi \sim N(0, I_d),

    and the remainder r is independent of :math:`\xi`. So the inputs are exactly
    independent and standard normal, with or without the remainder. The kernel is taken
    as fitted: the uncertainty of its hyper-parameters is not included.

    In a Pipeline :meth:`transformer` is the embedding: it learns nothing from members.
    """

    mean: np.ndarray  # shape: (n_candidates,)
    # shape: (n_candidates, n_candidates), of the function itself, without the noise of
    # measurements
    covariance: np.ndarray
    # shape: (n_modes, n_candidates), orthonormal :math:`v_k`; the largest entry of each
    # is positive
    components: np.ndarray
    variances: np.ndarray  # shape: (n_modes,), :math:`\lambda_k`, falling
    # the one that was fitted, in units of standardised targets, noise apart
    kernel: Kernel
    # of measurements, in units of the targets squared; at least 1e-6 of their variance
    noise_variance: float

    @property
    def n_modes(self) -> int:
        """Number of inputs."""
        return len(self.variances)

    @property
    def explained_variance_ratio(self) -> np.ndarray:  # shape: (n_modes,)
        r"""Share of the posterior variance, :math:`\lambda_k / \mathrm{tr}\, C`."""
        return self.variances / np.trace(self.covariance)

    def values(self, inputs: ArrayLike) -> np.ndarray:
        # shapes: inputs (E, n_modes) -> (E, n_candidates)
        """Return the functions that inputs stand for, without a remainder."""
        xi = member_inputs("inputs", inputs, self.n_modes).numpy()
        return self.mean + (xi * np.sqrt(self.variances)) @ self.components

    def inputs(self, values: ArrayLike) -> np.ndarray:
        # shapes: values (E, n_candidates) -> (E, n_modes)
        """Return the inputs of functions; their remainder does not matter."""
        f = member_inputs("values", values, len(self.mean)).numpy()
        return (f - self.mean) @ self.components.T / np.sqrt(self.variances)

    def transformer(self) -> FunctionTransformer:
        """Return `inputs` as a transformer, with `values` as its inverse."""
        return FunctionTransformer(
            self.inputs, self.values, check_inverse=False, feature_names_out=self._names
        )

    def _names(self, transformer: Any, input_features: Any) -> np.ndarray:
        return np.array([f"mode{k}" for k in range(self.n_modes)], dtype=object)

    def __deepcopy__(self, memo: dict[int, Any]) -> GaussianProcessModes:
        """Clones of a Pipeline share the covariance: nothing changes it."""
        return self

    def sample(
        self, n_members: int, *, remainder: bool = True, random_state: Any = None
    ) -> tuple[np.ndarray, np.ndarray]:  # (E, n_modes), (E, n_candidates)
        """Draw inputs and functions.

        Parameters
        ----------
        n_members : int
        remainder : bool, default=True
            Whether functions are those of the whole posterior, or of the modes alone.
            A few modes may hold a small part of it.
        random_state : int, RandomState instance or None, default=None

        Returns
        -------
        inputs : ndarray of shape (n_members, n_modes)
            Independent standard normal.
        values : ndarray of shape (n_members, n_candidates)
            In the units of the targets.
        """
        require_at_least("n_members", n_members, 1)
        rng = check_random_state(random_state)
        xi = rng.normal(size=(n_members, self.n_modes))
        values = self.values(xi)
        if not remainder:
            return xi, values
        noise = rng.normal(size=(n_members, len(self.mean)))
        whole = noise @ self._factor.T
        return xi, values + whole - (whole @ self.components.T) @ self.components

    @cached_property
    def _factor(self) -> np.ndarray:  # shape: (n_candidates, n_candidates)
        """A lower triangular square root of the covariance, up to rounding."""
        n = len(self.covariance)
        jitter = _JITTER * np.trace(self.covariance) / n
        return cholesky(self.covariance + jitter * np.eye(n), lower=True)


def gaussian_process_modes(
    features: ArrayLike,  # shape: (n, F)
    targets: ArrayLike,  # shape: (n,)
    candidates: ArrayLike,  # shape: (n_candidates, F)
    *,
    n_modes: int,
    kernel: Kernel | None = None,
    n_fitted_rows: int = 500,
    random_state: Any = None,
) -> GaussianProcessModes:
    r"""Fit a Gaussian process to measured entries and expand its posterior.

    Hyper-parameters maximise the marginal likelihood of (some of) the rows; the
    posterior is that of all rows,

    .. math:: m = K_* (K + \sigma^2 I)^{-1} y, \qquad
        C = K_{**} - K_* (K + \sigma^2 I)^{-1} K_*^\top

    (Rasmussen and Williams, *Gaussian Processes for Machine Learning*, 2006,
    eqs. 2.23–2.24), with y centred and scaled. No network is trained.

    Parameters
    ----------
    features : array of shape (n, n_features)
        Of the measured entries: one-hot levels (`one_hot_levels`), descriptors of
        molecules (`level_features`), or whatever the kernel takes.
    targets : array of shape (n,)
        Measured values, in the units that log R or the yields have.
    candidates : array of shape (n_candidates, n_features)
        In the order of the reward table.
    n_modes : int
        At most n_candidates.
    kernel : sklearn kernel, optional
        Without noise, which is added. Default: a constant times ``RBF()``; on one-hot
        levels its correlation falls by one factor for each component that differs.
    n_fitted_rows : int, default=500
        Rows, drawn at random, that the hyper-parameters are fitted to; the cost grows
        with their cube.
    random_state : int, RandomState instance or None, default=None

    Returns
    -------
    GaussianProcessModes

    Raises
    ------
    ValueError
        If shapes do not fit, an entry is not finite, or fewer than ``n_modes`` modes
        have a variance above rounding.

    Examples
    --------
    >>> levels = np.indices((3, 4)).reshape(2, -1).T
    >>> candidates = one_hot_levels(levels, sizes=(3, 4))
    >>> measured, targets = candidates[[0, 3, 5, 6, 10]], [1.0, 4.0, 2.5, 2.0, 4.5]
    >>> modes = gaussian_process_modes(
    ...     measured, targets, candidates, n_modes=3, random_state=0
    ... )
    >>> inputs, log_reward = modes.sample(5, random_state=0)
    >>> inputs.shape, log_reward.shape
    ((5, 3), (5, 12))
    >>> bool(np.allclose(modes.inputs(log_reward), inputs))
    True
    """
    X = member_inputs("features", features).numpy()
    candidates = member_inputs("candidates", candidates, X.shape[1]).numpy()
    y = np.asarray(targets, dtype=np.float64)
    if y.shape != (len(X),) or not np.isfinite(y).all():
        raise ValueError(
            f"targets must be finite, of shape ({len(X)},), one per row of features, "
            f"got shape {y.shape}"
        )
    require_at_least("n_modes", n_modes, 1)
    require_at_least("n_fitted_rows", n_fitted_rows, 1)
    if n_modes > len(candidates):
        raise ValueError(
            f"n_modes must be at most the number of candidates, {len(candidates)}, got "
            f"{n_modes}"
        )
    if kernel is not None and not isinstance(kernel, Kernel):
        raise ValueError(f"kernel must be a kernel of scikit-learn, got {kernel!r}")
    rng = check_random_state(random_state)
    centre, scale = y.mean(), y.std()
    scale = scale if scale > 0 else 1.0
    standard = (y - centre) / scale
    rows = rng.permutation(len(X))[:n_fitted_rows]
    kernel = ConstantKernel() * RBF() if kernel is None else kernel
    noisy = kernel + WhiteKernel(0.1, _NOISE_BOUNDS)
    regressor = GaussianProcessRegressor(noisy, alpha=0.0, random_state=rng)
    with warnings.catch_warnings():
        # measurements without noise are welcome
        warnings.filterwarnings("ignore", ".*k2__noise_level is close to .* lower")
        # the search ends so where rounding hides what is left to gain
        warnings.filterwarnings("ignore", r"(?s)lbfgs failed to converge.*\bABNORMAL")
        regressor.fit(X[rows], standard[rows])
    signal, noise = regressor.kernel_.k1, float(regressor.kernel_.k2.noise_level)
    posterior = GaussianProcessRegressor(signal, alpha=noise, optimizer=None)
    posterior.fit(X, standard)
    mean, covariance = posterior.predict(candidates, return_cov=True)
    covariance = scale**2 * (covariance + covariance.T) / 2
    n = len(covariance)
    variances, vectors = eigh(covariance, subset_by_index=[n - n_modes, n - 1])
    variances, components = variances[::-1], vectors.T[::-1]
    if variances[-1] <= _JITTER * np.trace(covariance) / n:
        raise ValueError(
            f"n_modes must not be above the number of modes with a variance, got "
            f"{n_modes}: mode {n_modes} has {variances[-1]:.3g}"
        )
    largest = np.abs(components).argmax(axis=1)
    signs = np.sign(components[np.arange(n_modes), largest])
    return GaussianProcessModes(
        mean=centre + scale * mean,
        covariance=covariance,
        components=components * signs[:, np.newaxis],
        variances=variances,
        kernel=signal,
        noise_variance=float(scale**2 * noise),
    )


def level_descriptors(
    smiles: Sequence[str | None], *, names: Sequence[str] | None = None
) -> np.ndarray:  # shape: (n_levels, n_columns)
    r"""Return a table of standardised molecular descriptors of a component's levels.

    Each descriptor has mean 0 over the levels that are molecules, and all of them
    together variance 1: the squared distance of two of K molecules is 2K/(K − 1) on
    average. That of two one-hot vectors is 2, so that components of many levels, and
    one-hot vectors beside descriptors, weigh about alike in a kernel of one width. (Of
    three molecules it is 3.)

    A level that is no molecule (nothing is added) is 0 in all descriptors, the average
    molecule, and has a further column of its own: its squared distance to others is 2
    on average.

    Parameters
    ----------
    smiles : sequence of str or None
        Of each level; None or empty where nothing is added.
    names : sequence of str, optional
        Of RDKit's descriptors; default: all.

    Returns
    -------
    table : ndarray of shape (n_levels, n_columns)
        Descriptors that are constant or not defined for some level are left out.

    Raises
    ------
    ValueError
        If RDKit reads no molecule, or no descriptor separates the molecules.

    See Also
    --------
    level_features : Puts the tables of components side by side.

    Examples
    --------
    >>> halides = ["Clc1ccccn1", "Brc1ccccn1", None]
    >>> level_descriptors(halides, names=["MolWt", "RingCount"])  # doctest: +SKIP
    array([[-1.,  0.],
           [ 1.,  0.],
           [ 0.,  1.]])
    """
    present = np.array([bool(name) for name in smiles], dtype=bool)
    values, _ = molecular_descriptors([name for name in smiles if name], names)
    if len(values) < 2:
        values = values[:, :0]
    else:  # those that are finite and differ between molecules
        values = values[:, np.isfinite(values).all(axis=0)]
        sizes = np.abs(values).max(axis=0)
        values = values[:, values.std(axis=0) > _ROUNDING * sizes]
    n_columns = values.shape[1]
    if n_columns == 0:
        raise ValueError(
            "smiles must contain at least two molecules that differ in some "
            f"descriptor, got {list(smiles)}"
        )
    standard = (values - values.mean(axis=0)) / values.std(axis=0)
    table = np.zeros((len(present), n_columns + (not present.all())))
    table[present, :n_columns] = standard / np.sqrt(n_columns)
    table[~present, n_columns:] = 1.0
    return table


def level_features(
    levels: ArrayLike,  # shape: (n, n_components), int
    tables: Sequence[ArrayLike],  # shapes: (size, n_columns), one a component
) -> np.ndarray:  # shape: (n, Σ n_columns), float64
    """Return the rows of the tables of all components, side by side.

    Tables may be descriptors, identity matrices (`one_hot_levels` is that), or both
    next to each other: levels are then distinct and similar ones still alike.

    Parameters
    ----------
    levels : array of int of shape (n, n_components)
        The level of each component.
    tables : sequence of arrays of shape (size, n_columns)
        A row for each level of a component.

    Raises
    ------
    ValueError
        If there is not one table a component, a table is not two-dimensional and
        finite, or a level has no row.

    Examples
    --------
    >>> sizes = [[0.1], [0.5], [0.9]]
    >>> level_features([[1, 0], [0, 2]], [np.eye(2), sizes])
    array([[0. , 1. , 0.1],
           [1. , 0. , 0.9]])
    """
    blocks = [np.asarray(table, dtype=np.float64) for table in tables]
    for i, block in enumerate(blocks):
        if block.ndim != 2 or not np.isfinite(block).all():
            raise ValueError(
                f"tables[{i}] must be finite, of shape (size, n_columns), got shape "
                f"{block.shape}"
            )
    chosen = one_hot_levels(levels, [len(block) for block in blocks])
    return chosen @ block_diag(*blocks)
