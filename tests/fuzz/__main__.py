"""Play scenes until enough calls were accepted and refused, and count how they ended.

``python -m tests.fuzz --fits 10000 --refused 10000 --jobs 2`` writes the unexplained
calls with the number of their scene; ``--only NUMBER`` plays one scene again.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Iterator

from joblib import Parallel, delayed

from tests.fuzz.judge import ACCEPTED, REFUSED, UNEXPLAINED, Outcome
from tests.fuzz.scenes import play

_BATCH = 20


def play_many(seed: int, numbers: list[int]) -> list[tuple[int, Outcome]]:
    """Play some scenes."""
    _limit_memory()
    return [(number, found) for number in numbers for found in play(seed, number)]


def _limit_memory(gigabytes: int = 8) -> None:
    """Let what asks for too much memory fail rather than the machine."""
    try:
        import resource
    except ImportError:  # not on Windows
        return
    size = gigabytes * 2**30
    resource.setrlimit(
        resource.RLIMIT_AS, (size, resource.getrlimit(resource.RLIMIT_AS)[1])
    )


def batches() -> Iterator[list[int]]:
    """Yield numbers of scenes without end."""
    start = 0
    while True:
        yield list(range(start, start + _BATCH))
        start += _BATCH


def main(arguments: list[str] | None = None) -> int:
    """Play, count and report; return 1 when something is unexplained."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fits", type=int, default=10_000, help="accepted fits")
    parser.add_argument("--refused", type=int, default=10_000, help="refused calls")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", type=int, help="play one scene alone")
    parser.add_argument("--seconds", type=float, default=float("inf"))
    given = parser.parse_args(arguments)
    if given.only is not None:
        for found in play(given.seed, given.only):
            print(
                f"{found.kind:12} {found.name}: {found.reason}\n    {found.described}"
            )
        return 0
    counts: Counter[str] = Counter()
    names: Counter[tuple[str, str]] = Counter()
    unexplained: dict[str, list[int]] = {}
    start = time.monotonic()
    pool = Parallel(n_jobs=given.jobs, return_as="generator_unordered")
    every = batches()
    while counts["fits"] < given.fits or counts[REFUSED] < given.refused:
        if time.monotonic() - start > given.seconds:
            break
        tasks = (delayed(play_many)(given.seed, next(every)) for _ in range(10))
        for numbered in pool(tasks):
            for number, found in numbered:
                counts[found.kind] += 1
                names[found.name, found.kind] += 1
                counts["fits"] += found.is_fit and found.kind == ACCEPTED
                if found.kind == UNEXPLAINED:
                    key = f"{found.name}: {found.reason}"
                    unexplained.setdefault(key, []).append(number)
                    if len(unexplained[key]) == 1:
                        print(
                            f"scene {number}: {key}\n    {found.described}", flush=True
                        )
        seconds = time.monotonic() - start
        print(f"{seconds:6.0f} s, {dict(counts)}", flush=True)
    print(f"\n{'call':60}{'accepted':>10}{'refused':>10}{'unexplained':>13}")
    for name in sorted({name for name, _ in names}):
        row = (names[name, kind] for kind in (ACCEPTED, REFUSED, UNEXPLAINED))
        print(f"{name:60}{next(row):>10}{next(row):>10}{next(row):>13}")
    print(
        f"\nseed {given.seed}: {counts['fits']} accepted fits, {counts[ACCEPTED]} "
        f"accepted calls, {counts[REFUSED]} refused, {counts[UNEXPLAINED]} unexplained "
        f"in {time.monotonic() - start:.0f} s"
    )
    for key, scenes in unexplained.items():
        print(f"{len(scenes)} x {key} (scenes {scenes[:5]})")
    return int(bool(unexplained))


if __name__ == "__main__":
    raise SystemExit(main())
