"""What the README promises works."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


# What the verdict says of the same classifiers when X has nothing to do with them.
NOISE = """
noise = np.random.default_rng(1).normal(size=X.shape)
print(verdict(surrogate, noise, y, n_permutations=199, random_state=0))
"""


def test_the_example_prints_what_stands_below_it(tmp_path):
    (code,) = re.findall(r"^```python\n(.*?)^```", README, re.DOTALL | re.MULTILINE)
    (shown,) = re.findall(r"^```text\n(.*?)^```", README, re.DOTALL | re.MULTILINE)
    guard = "\nimport sys; assert not {'torch', 'gflownet_envs'} & set(sys.modules)\n"
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", code + NOISE + guard],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith(shown)
    assert result.stdout.count("NOT ATTRIBUTABLE") == 2
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("target", ["demo", "test"])
def test_both_commands_are_targets(target):
    assert f"make {target}" in README
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE)


def test_files_that_it_links_to_exist():
    links = re.findall(r"\]\((?!https?://|#|mailto:)([^)#]+)", README)
    links += re.findall(r"`((?:docs|examples|benchmarks)/[^`*]+\.\w+)`", README)
    missing = [link for link in links if not (ROOT / link).exists()]
    assert not missing
