"""Where an optional library is missing the message names the extra that installs it."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from gflownet_envs.extras import EXTRA_OF, OF_A_RUN, import_extra, require_extras

ROOT = Path(__file__).parents[2]


def without(libraries, code):
    """Run code in a Python that does not find the libraries."""
    blocked = f"import sys\nfor n in {libraries!r}: sys.modules[n] = None\n"
    return subprocess.run(
        [sys.executable, "-c", blocked + code],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )


def test_every_library_is_in_the_extra_that_is_named():
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    extras = tomllib.loads(text)["project"]["optional-dependencies"]
    for library, extra in EXTRA_OF.items():
        assert any(need.startswith(f"{library}>") for need in extras[extra]), library


@pytest.mark.parametrize(
    ("libraries", "extras"),
    [
        (["click"], "click: pip install 'skpce[cli]'"),
        (
            ["click", "rich", "torch"],
            "click, rich, torch: pip install 'skpce[cli,torch]'",
        ),
        (["matplotlib"], "matplotlib: pip install 'skpce[plot]'"),
        (["safetensors"], "safetensors: pip install 'skpce[torch]'"),
    ],
)
def test_the_command_names_what_it_needs(libraries, extras):
    found = without(libraries, "from gflownet_envs.extras import run_command as r; r()")
    assert found.returncode == 1
    assert found.stderr == f"Error: gflownet-envs needs {extras}\n"


def test_the_command_is_the_one_of_the_distribution():
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    scripts = tomllib.loads(text)["project"]["scripts"]
    assert scripts == {"gflownet-envs": "gflownet_envs.extras:run_command"}


def test_public_names_without_torch():
    code = (
        "import gflownet_envs\n"
        "try: gflownet_envs.GridEnvironment\n"
        "except ImportError as error: print(error)\n"
    )
    found = without(["torch"], code)
    assert found.stdout == (
        "gflownet_envs.GridEnvironment needs torch: pip install 'skpce[torch]'\n"
    ), found.stderr


@pytest.mark.parametrize("library", OF_A_RUN[1:])
def test_a_run_without_an_extra_ends_before_any_work(library, monkeypatch, tmp_path):
    from gflownet_envs.experiments.run import run_task

    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(ImportError, match=f"run_task needs {library}: pip install"):
        run_task("grid", preset="smoke", out=tmp_path / "run")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("library", EXTRA_OF)
def test_each_library_by_its_extra(library, monkeypatch):
    monkeypatch.setitem(sys.modules, library, None)
    expected = rf"this needs {library}: pip install 'skpce\[{EXTRA_OF[library]}\]'"
    with pytest.raises(ImportError, match=expected):
        import_extra(library, "this")
    with pytest.raises(ImportError, match=expected):
        require_extras([library], "this")


def test_another_missing_module_is_not_taken_for_an_extra():
    with pytest.raises(ModuleNotFoundError, match="No module named 'of_nobody'"):
        import_extra("of_nobody", "this")
