"""Data sets as pandas objects."""

from __future__ import annotations

from typing import Any


def import_pandas() -> Any:
    """Import pandas, an extra, only where frames are asked for."""
    try:
        import pandas
    except ImportError as error:
        raise ImportError("as_frame=True needs pandas: pip install pandas") from error
    return pandas
