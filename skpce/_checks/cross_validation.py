"""Whether a fit or a prediction is one of the many of a cross-validation."""

from __future__ import annotations

import sys
import warnings

# The package of scikit-learn, and the file in it, that fit and score the folds of every
# search and score.
_PACKAGE, _FILE = "sklearn.model_selection", "_validation.py"
# Whose lines no user can change.
_LIBRARIES = frozenset({"skpce", "sklearn", "gflownet_envs"})


def is_of_a_fold() -> bool:
    """Return whether the caller was called to fit or to score a fold.

    scikit-learn gives an estimator no information about this, so that the frames of the
    callers are the only sign. It is looked for where a warning is due, and only there.
    """
    frame = sys._getframe(1)
    while frame is not None:
        name = str(frame.f_globals.get("__name__"))
        if name.startswith(_PACKAGE) and frame.f_code.co_filename.endswith(_FILE):
            return True
        frame = frame.f_back  # type: ignore[assignment]
    return False


def _level_of_user() -> int:
    """Return the level, from one call up, of the first line outside the libraries."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None:
        if str(frame.f_globals.get("__name__")).partition(".")[0] not in _LIBRARIES:
            break
        level, frame = level + 1, frame.f_back
    return level


def warn_outside_folds(
    message: str, category: type[Warning], *, stacklevel: int | None = None
) -> None:
    """Warn, except in a fold of a cross-validation; of the user's line by default.

    A search of scikit-learn resets the record of what was warned of at every fold, so
    that hundreds of fits would say the same. Its scores measure what the warning is
    about, and the refit on all rows warns once.
    """
    if not is_of_a_fold():
        level = _level_of_user() if stacklevel is None else stacklevel + 1
        warnings.warn(message, category, stacklevel=level)
