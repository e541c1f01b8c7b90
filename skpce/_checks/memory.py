"""What may be used of the memory, and the refusal of what takes more."""

from __future__ import annotations

import os

# The share of the physical memory that they may take.
_SHARE = 0.75


def refuse_memory(owner: str, needed: float, what: str) -> None:
    """Raise ``ValueError`` when so many bytes are more than may be used."""
    if needed > available_memory():
        raise ValueError(
            f"{owner} needs about {needed / 2**30:.3g} GiB for {what}, more than the "
            f"{available_memory() / 2**30:.3g} GiB that it may use here; expected less."
        )


def available_memory() -> float:
    """Return the bytes that a fit may use, of 8 GiB where the system reports none."""
    try:
        physical = float(os.sysconf("SC_PAGE_SIZE")) * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        physical = 8.0 * 2**30
    return _SHARE * physical
