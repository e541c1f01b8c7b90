"""Play scenes until enough calls were accepted and refused, and count how they ended.

``python -m tests.fuzz --fits 10000 --refused 10000 --jobs 2`` writes the unexplained
calls with the number of their scene; ``--only NUMBER`` plays one scene again.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections import Counter

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


def main(arguments: list[str] | None = None) -> int:
    """Play, count and report; return 1 when something is unexplained."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fits", type=int, default=10_000, help="accepted fits")
    parser.add_argument("--refused", type=int, default=10_000, help="refused calls")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", type=int, help="play one scene alone")
    given = parser.parse_args(arguments)
    if given.only is not None:
        for found in play(given.seed, given.only):
            shown = f"{found.kind:12} {found.name}: {found.reason}"
            print(f"{shown}\n    {found.described}")
        return 0
    counts: Counter[str] = Counter()
    unexplained: dict[str, list[int]] = {}
    start = time.monotonic()
    pool = Parallel(n_jobs=given.jobs, return_as="generator_unordered")
    numbers = itertools.count()
    while counts["fits"] < given.fits or counts[REFUSED] < given.refused:
        batches = (list(itertools.islice(numbers, _BATCH)) for _ in range(10))
        tasks = (delayed(play_many)(given.seed, batch) for batch in batches)
        for number, found in itertools.chain.from_iterable(pool(tasks)):
            counts[found.kind] += 1
            counts["fits"] += found.is_fit and found.kind == ACCEPTED
            if found.kind == UNEXPLAINED:
                key = f"{found.name}: {found.reason}"
                scenes = unexplained.setdefault(key, [])
                scenes.append(number)
                if len(scenes) == 1:
                    print(f"scene {number}: {key}\n    {found.described}", flush=True)
        print(f"{time.monotonic() - start:6.0f} s, {dict(counts)}", flush=True)
    for key, scenes in unexplained.items():
        print(f"{len(scenes)} x {key} (scenes {scenes[:5]})")
    return int(bool(unexplained))


if __name__ == "__main__":
    raise SystemExit(main())
