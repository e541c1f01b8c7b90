"""Rewards drawn from a Gaussian process, and the modes that span them."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import cholesky, eigh
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Kernel, WhiteKernel
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import check_random_state

from gflownet_envs.environments.base import require_at_least
from gflownet_envs.rewards.member_inputs import member_inputs

# Bounds of the noise variance, relative to the variance of the targets.
_NOISE_BOUNDS = (1e-6, 1e2)

# Added to the diagonal of covariances before they are factored, relative to its mean.
_JITTER = 1e-9


def one_hot_levels(
    levels: ArrayLike,  # shape: (n, n_components), int
    sizes: ArrayLike,  # shape: (n_components,), int
) -> np.ndarray:  # shape: (n, Σ sizes), float64
    """Return the one-hot vectors of the levels of all components, side by side.

    The squared distance of two rows is twice the number of components in which they
    differ.

    Examples
    --------
    >>> one_hot_levels([[1, 0], [0, 2]], sizes=(2, 3))
    array([[0., 1., 1., 0., 0.],
           [1., 0., 0., 0., 1.]])
    """
    rows, sizes = np.asarray(levels), np.asarray(sizes)
    whole = np.issubdtype(rows.dtype, np.integer)
    if rows.ndim != 2 or not whole or sizes.shape != rows.shape[1:]:
        raise ValueError(
            "levels must be ints of shape (n, n_components) with one size a component, "
            f"got shapes {rows.shape} and {sizes.shape}, type {rows.dtype}"
        )
    bad = (rows < 0) | (rows >= sizes)
    if bad.any():
        row, column = np.argwhere(bad)[0]
        raise ValueError(
            f"levels must be in [0, {sizes[column]}) for component {column}, got "
            f"{rows[row, column]} in row {row}"
        )
    eyes = [np.eye(size)[rows[:, i]] for i, size in enumerate(sizes)]
    return np.concatenate(eyes, axis=1)


@dataclass(frozen=True, eq=False)
class GaussianProcessModes:
    r"""The posterior of a Gaussian process over candidates, by its leading modes.

    With mean m and covariance :math:`C = \sum_k \lambda_k v_k v_k^\top` (the
    Karhunen–Loève expansion over a finite set is the eigendecomposition)

    .. math:: f = m + \sum_{k \le d} \sqrt{\lambda_k}\, \xi_k v_k + r, \qquad
        \xi \sim N(0, I_d),

    and the remainder r is independent of :math:`\xi`. So the inputs are exactly
    independent and standard normal, with or without the remainder. The law is that of
    the kernel as fitted: what its own hyper-parameters leave open is not in it.

    In a Pipeline :meth:`transformer` is the embedding: it learns nothing from members.

    Attributes
    ----------
    mean : ndarray of shape (n_candidates,)
    covariance : ndarray of shape (n_candidates, n_candidates)
        Of the function itself, without the noise of measurements.
    components : ndarray of shape (n_modes, n_candidates)
        Orthonormal :math:`v_k`; the largest entry of each is positive.
    variances : ndarray of shape (n_modes,)
        :math:`\lambda_k`, falling.
    kernel : Kernel
        The one that was fitted, in units of standardised targets, noise apart.
    noise_variance : float
        Of measurements, in units of the targets squared; at least 1e-6 of their
        variance.
    """

    mean: np.ndarray
    covariance: np.ndarray
    components: np.ndarray
    variances: np.ndarray
    kernel: Kernel
    noise_variance: float

    @property
    def n_modes(self) -> int:
        """Number of inputs."""
        return len(self.variances)

    @property
    def explained_variance_ratio(self) -> np.ndarray:  # shape: (n_modes,)
        r"""Share of the posterior variance, :math:`\lambda_k / \mathrm{tr}\, C`."""
        return self.variances / np.trace(self.covariance)

    def values(
        self,
        inputs: ArrayLike,  # shape: (E, n_modes)
    ) -> np.ndarray:  # shape: (E, n_candidates)
        """Return the functions that inputs stand for, without a remainder."""
        xi = member_inputs("inputs", inputs, self.n_modes).numpy()
        return self.mean + (xi * np.sqrt(self.variances)) @ self.components

    def inputs(
        self,
        values: ArrayLike,  # shape: (E, n_candidates)
    ) -> np.ndarray:  # shape: (E, n_modes)
        """Return the inputs of functions; their remainder does not matter."""
        f = member_inputs("values", values, len(self.mean)).numpy()
        return (f - self.mean) @ self.components.T / np.sqrt(self.variances)

    def transformer(self) -> FunctionTransformer:
        """Return `inputs` as a transformer, with `values` as its inverse.

        Returns
        -------
        transformer : sklearn.preprocessing.FunctionTransformer
            Its outputs are named ``mode0``, ``mode1`` and so on.
        """
        return FunctionTransformer(
            self.inputs,
            self.values,
            check_inverse=False,
            feature_names_out=self._names,
        )

    def _names(self, transformer: Any, input_features: Any) -> np.ndarray:
        return np.array([f"mode{k}" for k in range(self.n_modes)], dtype=object)

    def __deepcopy__(self, memo: dict) -> GaussianProcessModes:
        """Clones of a Pipeline share the covariance: nothing changes it."""
        return self

    def sample(
        self,
        n_members: int,
        *,
        remainder: bool = True,
        random_state: Any = None,
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
        return _square_root(self.covariance)


def gaussian_process_modes(
    features: ArrayLike,  # shape: (n, F)
    targets: ArrayLike,  # shape: (n,)
    candidates: ArrayLike,  # shape: (n_candidates, F)
    *,
    n_modes: int,
    kernel: Kernel | None = None,
    n_fitted_rows: int = 500,
    n_restarts: int = 0,
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
    n_restarts : int, default=0
        Of the optimiser, from random hyper-parameters.
    random_state : int, RandomState instance or None, default=None

    Returns
    -------
    GaussianProcessModes

    Raises
    ------
    ValueError
        If shapes do not fit, an entry is not finite, or fewer than `n_modes` modes have
        a variance above rounding.

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
    signal, noise = _fitted_kernel(X[rows], standard[rows], kernel, n_restarts, rng)
    posterior = GaussianProcessRegressor(signal, alpha=noise, optimizer=None)
    posterior.fit(X, standard)
    mean, covariance = posterior.predict(candidates, return_cov=True)
    covariance = scale**2 * (covariance + covariance.T) / 2
    components, variances = _leading_modes(covariance, n_modes)
    return GaussianProcessModes(
        mean=centre + scale * mean,
        covariance=covariance,
        components=components,
        variances=variances,
        kernel=signal,
        noise_variance=float(scale**2 * noise),
    )


def _fitted_kernel(
    X: np.ndarray,  # shape: (n, F)
    y: np.ndarray,  # shape: (n,)
    kernel: Kernel | None,
    n_restarts: int,
    rng: np.random.RandomState,
) -> tuple[Kernel, float]:
    """Return the kernel of greatest marginal likelihood and the noise variance."""
    signal = ConstantKernel() * RBF() if kernel is None else kernel
    regressor = GaussianProcessRegressor(
        signal + WhiteKernel(0.1, _NOISE_BOUNDS),
        alpha=0.0,
        n_restarts_optimizer=n_restarts,
        random_state=rng,
    )
    with warnings.catch_warnings():
        # measurements without noise are welcome
        warnings.filterwarnings("ignore", ".*k2__noise_level is close to .* lower")
        regressor.fit(X, y)
    return regressor.kernel_.k1, float(regressor.kernel_.k2.noise_level)


def _leading_modes(
    covariance: np.ndarray,  # shape: (n, n)
    n_modes: int,
) -> tuple[np.ndarray, np.ndarray]:  # shapes: (n_modes, n), (n_modes,)
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
    return components * signs[:, np.newaxis], variances


def _square_root(
    covariance: np.ndarray,  # shape: (n, n)
) -> np.ndarray:  # shape: (n, n), lower triangular
    jitter = _JITTER * np.trace(covariance) / len(covariance)
    return cholesky(covariance + jitter * np.eye(len(covariance)), lower=True)
