"""The version of the distribution, read by the build, and those of its libraries."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

__version__ = "0.1.0.dev0"

#: Where scikit-learn's pictures of estimators lead to, see `_doc_link_template`.
DOC_LINK_TEMPLATE = "https://github.com/skpce/skpce/blob/main/docs/api/index.rst"


_NEEDED = ("numpy", "scipy", "scikit-learn", "joblib")
_EXTRAS = ("torch", "zuko", "matplotlib", "pandas", "polars", "pooch", "rdkit", "dask")


def show_versions() -> None:
    """Print the versions of this package and of those that it can use.

    Nothing is imported for it. A report of a fault should hold the output.

    Examples
    --------
    >>> import skpce
    >>> skpce.show_versions()
    skpce ...
    python ...
    """
    rows = {"skpce": __version__, "python": platform.python_version()}
    rows["platform"] = platform.platform()
    rows |= {name: installed_version(name) for name in (*_NEEDED, *_EXTRAS)}
    width = max(map(len, rows))
    for name, found in rows.items():
        print(f"{name:<{width}}  {found}")  # noqa: T201


def installed_version(name: str) -> str:
    """Return the version of a distribution; a dash where there is none."""
    try:
        return version(name)
    except PackageNotFoundError:
        return "–"
