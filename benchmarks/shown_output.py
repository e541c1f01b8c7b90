"""Run the examples of the README, and put what they print below them.

Run: ``python -m benchmarks.shown_output`` from the root of the repository. Pages of the
documentation include the examples.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
_SHOWN = re.compile(r"(```python\n(.*?)^```\n\n```text\n)(.*?)(^```)", re.M | re.S)


def main() -> None:
    """Replace each block of text that follows an example."""
    printed: dict[str, str] = {}

    def with_output(found: re.Match[str]) -> str:
        code = found[2]
        if code not in printed:
            command = [sys.executable, "-c", code]
            printed[code] = subprocess.check_output(command, cwd=ROOT, text=True)
        return found[1] + printed[code] + found[4]

    text = README.read_text(encoding="utf-8")
    README.write_text(_SHOWN.sub(with_output, text), encoding="utf-8")


if __name__ == "__main__":
    main()
