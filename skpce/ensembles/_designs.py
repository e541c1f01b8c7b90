"""Designs for those who can still choose their runs."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from inspect import signature
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import qmc, uniform

from .._checks import (
    FloatArray,
    IndexArray,
    RandomState,
    check_draws,
    check_option,
    check_real,
    make_frame,
    make_generator,
)
from .._input_laws.families import is_frozen
from .._input_laws.other_libraries import all_in_scipy

_METHODS = ("lhs", "random", "sobol")
# What scipy calls the generator of a design; it was "seed" before 1.15.
_GENERATOR = "rng" if "rng" in signature(qmc.Sobol).parameters else "seed"


def sample_inputs(
    distributions: Mapping[str, Any],
    n: int,
    method: str = "sobol",
    *,
    random_state: RandomState = None,
) -> Any:
    """Draw inputs of runs that are still to be made.

    Parameters
    ----------
    distributions : dict of str to distribution
        A frozen distribution of :mod:`scipy.stats` for each input, the bounds (low,
        high) of a uniform one as a tuple, or a list of levels (numbers, text or other
        labels), which are drawn equally often.
    n : int
        Number of runs.
    method : {"sobol", "lhs", "random"}, default="sobol"
        A scrambled Sobol sequence, a Latin hypercube, or independent draws. The first
        two fill the space more evenly, so that a fit needs fewer runs; a Sobol
        sequence is balanced for powers of two.
    random_state : int, RandomState instance or None, default=None
        Randomness of the draws.

    Returns
    -------
    table : data frame of shape (n, n_inputs)
        One row for each run.

    Raises
    ------
    ValueError
        For no inputs, or one that is neither a distribution nor levels.
    ImportError
        If no library of data frames is installed.

    See Also
    --------
    skpce.sample_size.required_ensemble_size : How many runs are enough.
    from_frame : Reads the table once the outputs are in it.

    Notes
    -----
    As a first guess take two to three times the number of terms,
    ``math.comb(d + p, p)`` for d inputs and degree p; after a first fit
    :func:`skpce.sample_size.required_ensemble_size` gives a number.

    Examples
    --------
    >>> from scipy.stats import randint, uniform
    >>> from skpce.ensembles import sample_inputs
    >>> inputs = {"rate": uniform(-4, 3), "depth": randint(1, 9), "loss": ["l1", "l2"]}
    >>> runs = sample_inputs(inputs, 8, random_state=0)
    >>> runs.shape, sorted(runs["loss"].value_counts())
    ((8, 3), [4, 4])
    """
    owner = "sample_inputs"
    check_draws(owner, "n", n)
    check_option(owner, "method", method, _METHODS)
    if not isinstance(distributions, Mapping) or not distributions:
        raise ValueError(
            "distributions must be a dict of names to distributions, not empty. Got "
            f"{distributions!r}."
        )
    given = all_in_scipy(distributions)
    distributions = {name: _checked(name, law) for name, law in given.items()}
    points = _points(method, n, len(distributions), make_generator(random_state))
    columns = {
        name: _values(law, column)
        for (name, law), column in zip(distributions.items(), points.T, strict=True)
    }
    return make_frame(columns, columns.values())


def _checked(name: str, law: Any) -> Any:
    """Return a distribution, a uniform one for bounds, or levels; refuse others."""
    is_pair = isinstance(law, tuple) and len(law) == 2
    if is_pair and all(isinstance(v, Real) and not isinstance(v, bool) for v in law):
        low, high = map(float, law)
        law = uniform(low, high - low) if low < high < np.inf else law
    listed = isinstance(law, (Sequence, np.ndarray)) and not isinstance(law, str)
    levels = list(law) if listed else []
    hashable = all(isinstance(level, Hashable) for level in levels)
    are_levels = len(levels) > 1 and hashable and len(set(levels)) == len(levels)
    if not (are_levels or is_frozen(law)):
        raise ValueError(
            f"distributions: the input {name!r} must have a frozen distribution of "
            f"scipy.stats, or two or more different levels. Got {law!r}."
        )
    return law


def _points(
    method: str, n: int, n_inputs: int, generator: np.random.Generator
) -> FloatArray:  # shape: (n, n_inputs), in (0, 1)
    if method == "random":
        return generator.uniform(size=(n, n_inputs))
    if method == "lhs":
        return qmc.LatinHypercube(n_inputs, **{_GENERATOR: generator}).random(n)
    engine = qmc.Sobol(n_inputs, **{_GENERATOR: generator})
    points = engine.random_base2(int(np.ceil(np.log2(n))))
    # A point can lie at zero, where an unbounded distribution has no quantile.
    return np.clip(points[:n], 2.0**-31, 1.0 - 2.0**-31)


def _values(law: Any, column: FloatArray) -> NDArray[Any]:
    """Return the quantiles of a distribution, or levels."""
    if is_frozen(law):
        return np.asarray(law.ppf(column))
    place = np.minimum((column * len(law)).astype(np.int64), len(law) - 1)
    values = np.fromiter(law, object)[place]
    numbers = all(isinstance(v, Real) for v in law)
    return np.array(list(values)) if numbers else values


def slice_design(
    n_members: int,
    n_slices: int,
    rate: float = 0.5,
    *,
    random_state: RandomState = None,
) -> IndexArray:
    """Draw which slices of the data each member is trained on.

    Parameters
    ----------
    n_members : int
        Members that are to be trained.
    n_slices : int
        Slices of the training data.
    rate : float, default=0.5
        Share of the members that see a slice.
    random_state : int, RandomState instance or None, default=None
        Randomness of the draws.

    Returns
    -------
    design : ndarray of int of shape (n_members, n_slices)
        1 where the member sees the slice. Each slice is seen by ``round(rate *
        n_members)`` members, drawn independently of the other slices. A member
        without any slice takes one over from a member that has several: where
        ``(1 - rate) ** n_slices`` is not small this makes the slices dependent.

    Raises
    ------
    ValueError
        If that rate lets none or all of the members see a slice, or there are fewer
        slices to see than members.

    See Also
    --------
    skpce.PolynomialChaosRegressor : With ``distribution=scipy.stats.bernoulli(rate)``
        degree 1 is the linear datamodel [1]_, and degree 2 has the pairs of slices.

    References
    ----------
    .. [1] A. Ilyas, S. M. Park, L. Engstrom, G. Leclerc and A. Madry, "Datamodels:
       Understanding predictions with data and data with predictions", ICML 2022.

    Examples
    --------
    >>> from skpce.ensembles import slice_design
    >>> slice_design(6, 4, random_state=0).sum(axis=0)
    array([3, 3, 3, 3])
    """
    owner = "slice_design"
    check_draws(owner, "n_slices", n_slices)
    check_draws(owner, "n_members", n_members, low=2, each=int(n_slices))
    check_real(owner, "rate", rate, low=0, high=1)
    seen = round(rate * n_members)
    if not 0 < seen < n_members:
        raise ValueError(
            f"rate={rate} lets {seen} of {n_members} members see a slice; expected "
            "some, but not all."
        )
    if seen * n_slices < n_members:
        raise ValueError(
            f"With rate={rate} and n_slices={n_slices} the members would see "
            f"{seen * n_slices} slices in all, fewer than one for each of {n_members} "
            "members. Give a larger rate or more slices."
        )
    generator = make_generator(random_state)
    column = (np.arange(n_members) < seen).astype(np.int64)
    design = np.stack([generator.permutation(column) for _ in range(n_slices)], axis=1)
    _give_each_a_slice(design, generator)
    return design


def _give_each_a_slice(design: IndexArray, generator: np.random.Generator) -> None:
    """Let members without a slice take one from any that has it and another one."""
    sizes = design.sum(axis=1)
    for empty in np.flatnonzero(sizes == 0):
        gives = design[sizes > 1].any(axis=0)
        place = int(generator.integers(design.shape[1]))
        if not gives[place]:
            place = int(generator.choice(np.flatnonzero(gives)))
        donors = np.flatnonzero((design[:, place] == 1) & (sizes > 1))
        donor = donors[generator.integers(len(donors))]
        design[donor, place], design[empty, place] = 0, 1
        sizes[donor] -= 1
