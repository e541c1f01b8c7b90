"""Theorem A of the paper, as it is printed."""

from __future__ import annotations

import math

from .._checks import check_integer, check_option, check_real, fail

#: What takes the place of the confidence in the formula.
VARIANTS = ("markov", "printed")


def paper_ensemble_size(
    n_terms: int,
    *,
    noise_variance: float,
    signal_variance: float,
    n_features: int,
    n_actions: int,
    n_steps: int = 1,
    tolerance: float = 0.05,
    confidence_level: float = 0.95,
    variant: str = "printed",
) -> int:
    r"""Return the ensemble size of the paper's Theorem A.

    The claim: with :math:`L` members at least this many, the ridge estimator has
    :math:`|\hat S_i^{(k,t)} - S_i^{(k,t)}| \le \varepsilon` for all inputs, actions
    and steps with probability :math:`1 - \delta`. **It is not proved**, see Notes, and
    there are cases in which simulation finds it to fail. For comparison only; use
    :func:`required_ensemble_size`.

    Parameters
    ----------
    n_terms : int
        :math:`P`, the number of terms with the constant.
    noise_variance : float
        :math:`\sigma^2`.
    signal_variance : float
        :math:`D_{\min}`, the smallest variance of an expansion over actions and steps.
    n_features : int
        :math:`d`.
    n_actions : int
        :math:`K`, actions of a step; the formula has :math:`K_{\mathrm{eff}} = K - 1`.
    n_steps : int, default=1
        :math:`T`. Its proof needs it, its formula does not have it: only
        ``variant="markov"`` uses it.
    tolerance : float, default=0.05
        :math:`\varepsilon`.
    confidence_level : float, default=0.95
        :math:`1 - \delta`.
    variant : {"printed", "markov"}, default="printed"
        - ``"printed"``: :math:`L \ge P +
          4 P \sigma^2 \log(K_{\mathrm{eff}}\, d/\delta) / (D_{\min}\varepsilon^2)`.
        - ``"markov"``: what its proof gives from its first step on, :math:`L \ge P +
          4 P \sigma^2 K_{\mathrm{eff}}\, d\, T / (\delta D_{\min}\varepsilon^2)`.

    Returns
    -------
    n_members : int
        Smallest integer that satisfies the inequality.

    Raises
    ------
    ValueError
        For a bad argument.

    See Also
    --------
    required_ensemble_size : From a bound that is proved.

    Notes
    -----
    Faults of the theorem (supplement of the paper, section "Sample complexity for
    Sobol accuracy"):

    - The proof uses Markov's inequality, which gives :math:`1/\delta`; the statement
      has :math:`\log(1/\delta)`.
    - :math:`T` steps are in its union bound and not in its formula.
    - :math:`E\lVert\hat c - c\rVert^2 \le P\sigma^2/(L - P)` is not true of polynomial
      designs: the mean is :math:`\sigma^2\,\mathrm{tr}(\hat G^{-1})/L`, and
      :math:`\hat G` is far from the identity unless :math:`L \gg P`.
    - :math:`\lVert c\rVert` is bounded by the *smallest* variance, :math:`\hat D` is
      taken to be :math:`D`, terms of second order are dropped, and terms beyond the
      degree and the bias of the ridge are left out.
    - The paper's :math:`L^* = 57` is :math:`P + 1`: it needs
      :math:`\sigma^2/D_{\min} \le 1.9 \cdot 10^{-6}`. It takes
      :math:`K_{\mathrm{eff}} = 3` where the widest step has 24 actions.

    References
    ----------
    The paper, Theorem A.

    Examples
    --------
    >>> from skpce.sample_size import paper_ensemble_size
    >>> setting = dict(signal_variance=1.0, n_features=5, n_actions=4)
    >>> paper_ensemble_size(56, noise_variance=1.9e-6, **setting)
    57
    >>> paper_ensemble_size(56, noise_variance=0.1, **setting)
    51162
    >>> paper_ensemble_size(56, noise_variance=0.1, variant="markov", **setting)
    2688056
    """
    owner = "paper_ensemble_size"
    check_integer(owner, "n_terms", n_terms, low=1)
    check_real(
        owner, "noise_variance", noise_variance, low=0, high=math.inf, closed="left"
    )
    check_real(owner, "signal_variance", signal_variance, low=0, high=math.inf)
    check_integer(owner, "n_features", n_features, low=1)
    check_integer(owner, "n_actions", n_actions, low=2)
    check_integer(owner, "n_steps", n_steps, low=1)
    check_real(owner, "tolerance", tolerance, low=0, high=math.inf)
    check_real(owner, "confidence_level", confidence_level, low=0, high=1)
    check_option(owner, "variant", variant, VARIANTS)
    pairs = (n_actions - 1) * n_features / (1.0 - confidence_level)
    factor = math.log(pairs) if variant == "printed" else pairs * n_steps
    scale = 4.0 * n_terms * noise_variance / (signal_variance * tolerance**2)
    if not math.isfinite(scale * factor):
        raise fail(owner, "noise_variance", "finite over tolerance² D", noise_variance)
    return n_terms + math.ceil(scale * factor)
