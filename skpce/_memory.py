"""Whether a basis fits in memory, asked before it is built."""

from __future__ import annotations

import math
import os

# A fit needs about three arrays of the size of the design matrix, of 8 bytes each.
_BYTES_PER_ENTRY = 3 * 8

# The share of the physical memory that they may take.
_SHARE = 0.75

_ADVICE = (
    "Lower 'degree', set 'interaction_order' (2 or 3){anisotropy}, or use "
    "truncation='hyperbolic' with q < 1."
)


def basis_advice(*, anisotropy: bool) -> str:
    """Say what makes a truncation set smaller.

    ``anisotropy`` tells whether the estimator has that parameter.
    """
    weights = ", give minor inputs an 'anisotropy' above 1" if anisotropy else ""
    return _ADVICE.format(anisotropy=weights)


def terms_that_fit(n_samples: int) -> float:
    """Return the largest number of terms that :func:`check_design_fits` lets pass."""
    return _available_memory() / (_BYTES_PER_ENTRY * max(n_samples, 1))


def rows_held_in_blocks(n_samples: int) -> int:
    """Return how many rows to ask for when the design matrix is never held whole.

    Sums over blocks need matrices as high as wide: with fewer rows than that they
    are no saving.
    """
    return min(n_samples, math.isqrt(int(_available_memory() / _BYTES_PER_ENTRY)))


def check_design_fits(owner: str, n_samples: int, n_terms: int, advice: str) -> None:
    """Raise ``ValueError`` when the design matrix would not fit in memory.

    ``advice`` says what makes the basis smaller.
    """
    if n_terms > terms_that_fit(n_samples):
        fit = f"with {n_samples} samples the fit"
        raise _too_large(owner, n_terms, fit, n_samples, advice)


def check_sums_fit(owner: str, n_terms: int, advice: str) -> None:
    """Raise ``ValueError`` when sums over the samples would not fit in memory.

    They are matrices of ``n_terms`` by ``n_terms``, however few the samples.
    """
    if n_terms > terms_that_fit(n_terms):
        raise _too_large(owner, n_terms, "a fit from sums", n_terms, advice)


def _too_large(
    owner: str, n_terms: int, fit: str, n_rows: int, advice: str
) -> ValueError:
    needed = _BYTES_PER_ENTRY * max(n_rows, 1) * n_terms
    return ValueError(
        f"The basis of {owner} has at least {n_terms} terms; {fit} needs about "
        f"{needed / 2**30:.3g} GiB, more than the {_available_memory() / 2**30:.3g} "
        f"GiB that it may use here. {advice}"
    )


def _available_memory() -> float:
    """Bytes that a fit may use; of 8 GiB where the system does not tell its memory."""
    try:
        physical = float(os.sysconf("SC_PAGE_SIZE")) * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        physical = 8.0 * 2**30
    return _SHARE * physical
