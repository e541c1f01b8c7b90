"""``python -m skpce runs.csv --output accuracy``: explain a file of runs."""

from __future__ import annotations

import argparse
import io
import sys
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NoReturn

from ._checks import check_target, import_extra
from ._version import __version__
from .drivers import explain
from .ensembles._files import read_file

_FAILED = 2

_ABOUT = """\
Say which input drives which output of a table of runs, with an error rate. The file is
CSV: one row for each run, names of the columns in the first row; or JSON: a list of
runs, or a run in each line. Options that name columns can be repeated, or take names
with commas between them. Messages name parameters of skpce.explain: inputs= is --input
here, outputs= is --output, and the others have their names."""


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        _fail(f"{message} (python -m skpce --help lists what there is)")


def _fail(message: str) -> NoReturn:
    sys.stderr.write(f"skpce: error: {' '.join(message.split())}\n")
    raise SystemExit(_FAILED)


_ONE: dict[str, Any] = {}
_MANY: dict[str, Any] = {"action": "append", "default": []}
_SHARE: dict[str, Any] = {"type": float, "default": 0.05}

# Options: what they take, and what they are for.
_OPTIONS = (
    ("--output", "COLUMN", _MANY, "what a run gave, such as accuracy"),
    (
        *("--input", "COLUMN", _MANY),
        "what differs; else all other columns. NAME=categorical says that they are "
        "labels, NAME=empirical that they are numbers, also where they count the runs",
    ),
    ("--log", "COLUMN", _MANY, "input of which the logarithm is taken"),
    ("--replicate", "COLUMN", _MANY, "column that counts repeats, such as the seed"),
    ("--blocks", "COLUMN", _ONE, "day, machine or batch, whose means go out"),
    ("--groups", "COLUMN", _ONE, "runs that belong together, such as lineages"),
    (
        *("--order", "COLUMN", _ONE),
        "time or position in a series; none: the order of rows means nothing",
    ),
    ("--together", "NAME=A,B", _MANY, "inputs that are tested as one"),
    ("--steps", "NAME=P,Q", _MANY, "columns of probabilities that add up to one"),
    (
        *("--negligible", "SHARE", _SHARE),
        "share below which an input does not matter; 0.05 where not given",
    ),
    ("--report", "HTML", _ONE, "page to write"),
    ("--plot", "PICTURE", _ONE, "picture to write, as .png"),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Explain a file; 0 if that went well, else one line and exit code 2."""
    parser = _Parser(
        prog="python -m skpce",
        description=_ABOUT,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("file", help="CSV or JSON file with a row for each run")
    for option, value, how, purpose in _OPTIONS:
        parser.add_argument(option, metavar=value, help=purpose, **how)
    parser.add_argument("--version", action="version", version=f"skpce {__version__}")
    given = parser.parse_args(arguments)
    warnings.showwarning = _show_warning
    try:
        _check_targets(given.report, given.plot)
        answer = explain(**_told(given))
        if given.plot is not None:
            axes = answer.plot()
            axes = axes[0] if isinstance(axes, list) else axes
            axes.figure.savefig(given.plot, dpi=150)
        if given.report is not None:
            answer.report(given.report)
    except OSError as error:
        _fail(f"{error.strerror or error}: {error.filename}")
    except (ValueError, TypeError, ImportError) as error:
        _fail(f"{error} (inputs= is --input here, and outputs= is --output)")
    if isinstance(sys.stdout, io.TextIOWrapper):  # a terminal without the letter ²
        sys.stdout.reconfigure(errors="replace")
    sys.stdout.write(f"{answer}\n")
    return 0


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    sys.stderr.write(f"skpce: warning: {' '.join(str(message).split())}\n")


def _told(given: argparse.Namespace) -> dict[str, Any]:
    """Return the arguments of explain."""
    table = read_file(given.file)
    known = list(table)
    order: Any = given.order
    if order not in (None, *known) and order.lower() in ("none", "false"):
        order = False
    return {
        "data": table,
        "outputs": _names(given.output, known) or None,
        "inputs": _inputs(given.input, known) or None,
        "steps": _groups("steps", given.steps, known) or None,
        "log": _names(given.log, known),
        "replicate": _names(given.replicate, known) or None,
        "blocks": given.blocks,
        "groups": given.groups,
        "order": order,
        "together": _groups("together", given.together, known) or None,
        "negligible": given.negligible,
    }


def _names(given: Iterable[str], known: Sequence[str]) -> list[str]:
    """Return names of columns; text with commas that is no name is several."""
    found: list[str] = []
    for text in given:
        if text in known or "," not in text:
            found.append(text)
        else:
            found += [name.strip() for name in text.split(",") if name.strip()]
    return found


def _inputs(given: Iterable[str], known: Sequence[str]) -> dict[str, str | None]:
    """Return names of inputs, with the distributions of some."""
    found: dict[str, str | None] = {}
    for text in _names(given, known):
        name, _, law = ("", "", text) if text in known else text.rpartition("=")
        found[name or law] = law if name else None
    return found


def _groups(
    option: str, given: Iterable[str], known: Sequence[str]
) -> Mapping[str, list[str]]:
    found: dict[str, list[str]] = {}
    for text in given:
        name, separator, members = text.partition("=")
        if not (separator and name and members):
            raise ValueError(
                f"--{option} {text!r} must be a name and columns, as in "
                f"--{option} name=a,b."
            )
        if name in found:
            raise ValueError(f"--{option} has two groups {name!r}; expected one.")
        found[name] = _names([members], known)
    return found


def _check_targets(report: str | None, plot: str | None) -> None:
    """Refuse what could not be written, before any work."""
    if report is not None or plot is not None:
        import_extra("matplotlib", "plot", "--report and --plot").use("Agg")
    if report is not None:
        check_target("--report ", report)
    if plot is not None:
        canvas = import_extra("matplotlib.backend_bases", "plot", "--plot")
        known = canvas.FigureCanvasBase.get_supported_filetypes()
        check_target("--plot ", plot, [f".{kind}" for kind in known])


if __name__ == "__main__":
    sys.exit(main())
