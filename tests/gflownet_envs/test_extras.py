"""Where an optional library is missing the message names the extra that installs it."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from gflownet_envs.extras import EXTRA_OF, OF_A_RUN, import_extra, require_extras
from tests.shared import cases

ROOT = Path(__file__).parents[2]


def without(libraries, code):
    """Run code in a Python that does not find the libraries."""
    blocked = f"import sys\nfor n in {libraries!r}: sys.modules[n] = None\n"
    options = {"capture_output": True, "text": True, "check": False, "cwd": ROOT}
    return subprocess.run([sys.executable, "-c", blocked + code], **options)


def hiding(libraries):
    """Code after which they are not found; some look into sys.modules for others."""
    return (
        "from importlib.machinery import PathFinder as P\n"
        "find = P.find_spec\n"
        f"P.find_spec = lambda n, *a: None if n in {libraries!r} else find(n, *a)\n"
    )


def test_every_library_is_in_the_extra_that_is_named():
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    project = tomllib.loads(text)["project"]
    for library, extra in EXTRA_OF.items():
        library = {"gfn": "torchgfn"}.get(library, library)  # imported as gfn
        needs = project["optional-dependencies"][extra]
        assert any(need.startswith(f"{library}>") for need in needs), library
    assert project["scripts"] == {"gflownet-envs": "gflownet_envs.extras:run_command"}


def test_the_command_names_what_it_needs():
    code = "from gflownet_envs.extras import run_command as r; r()"
    found = without(["click", "torch"], code)
    assert found.returncode == 1
    extras = 'click, torch: pip install torch==2.13.0 ".[cli,torch]"'
    needs = f"gflownet-envs needs {extras}, in a copy of the repository"
    assert found.stderr == f"Error: {needs}\n"


@pytest.mark.slow
def test_the_demonstration_needs_no_more_than_it_installs(tmp_path):
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    (installed,) = re.findall("^DEMO_EXTRAS := (.+)$", makefile, flags=re.MULTILINE)
    absent = [n for n, extra in EXTRA_OF.items() if extra not in installed.split(",")]
    assert {"pandas", "pooch", "rdkit", "distributed"} <= set(absent)
    command = ["gflownet-envs", "run", "grid", "--preset", "smoke", "--out"]
    code = hiding([*absent, "dask", "zuko", "polars", "pytest"])
    code += f"sys.argv = {[*command, str(tmp_path)]!r}\n"
    code += "from gflownet_envs.extras import run_command as r; r()"
    found = without([], code)
    assert found.returncode == 0, found.stderr
    assert (tmp_path / "report.html").is_file()


def test_public_names_without_torch():
    code = (
        "import gflownet_envs\n"
        "try: gflownet_envs.GridEnvironment\n"
        "except ImportError as error: print(error)\n"
    )
    found = without(["torch"], code)
    assert found.stdout == (
        "gflownet_envs.GridEnvironment needs torch: "
        'pip install torch==2.13.0 ".[torch]", in a copy of the repository\n'
    ), found.stderr


@pytest.mark.slow
def test_every_module_without_torch_is_imported_or_names_the_extra():
    code = (
        "from importlib import import_module as load\n"
        "from pathlib import Path\n"
        "for path in sorted(Path('gflownet_envs').rglob('*.py')):\n"
        "    name = '.'.join(path.with_suffix('').parts).removesuffix('.__init__')\n"
        "    try: load(name)\n"
        "    except ImportError as error: print(f'{name}: {error}')\n"
    )
    found = without([], hiding(["torch"]) + code)
    assert not found.stderr
    lines = dict(line.split(": ", 1) for line in found.stdout.splitlines())
    assert len(lines) > 60
    for module, said in lines.items():
        needs = re.match(r'(\S+) needs torch: pip install \S+ "\.\[torch\]"', said)
        assert needs is not None, said
        assert (module + ".").startswith(needs[1] + "."), said
    light = {"experiments.command_line", "datasets._fetch", "storage"}
    assert not {f"gflownet_envs.{name}" for name in light} & set(lines)


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
    expected = rf'this needs {library}: pip install .*"\.\[{EXTRA_OF[library]}\]", in a'
    for call, needed in ((import_extra, library), (require_extras, [library])):
        with pytest.raises(ImportError, match=expected):
            call(needed, "this")


@cases(
    ("code", "extras"),
    ("import gflownet_envs.datasets", {"torch", "pooch", "safetensors", "skpce"}),
    ("import gflownet_envs.storage as s; s.environment_versions()", {"torch"}),
    ("import gflownet_envs.storage", {"safetensors"}),
)
def test_light_modules_import_no_extra(code, extras):
    found = without([], f"{code}; print(sorted({extras} & set(sys.modules)))")
    assert found.stdout == "[]\n", found.stderr


def test_public_names_are_known_and_no_others():
    import gflownet_envs

    assert set(gflownet_envs.__all__) <= set(dir(gflownet_envs))
    with pytest.raises(AttributeError, match="has no attribute 'Grid'"):
        gflownet_envs.Grid  # noqa: B018


def test_another_missing_module_is_not_taken_for_an_extra():
    with pytest.raises(ModuleNotFoundError, match="No module named 'of_nobody'"):
        import_extra("of_nobody", "this")
