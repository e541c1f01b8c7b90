"""One training in a process of its own: ``worker.py METHOD TASK ORDER ANSWER``.

TASK is a file of arrays, ORDER a JSON text (``settings``, ``members``, ``seed``),
ANSWER the file of arrays to write. The process keeps to one core.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

import numpy as np

from .methods.base import Settings, Task


@dataclass(frozen=True)
class Method:
    """An implementation: its module and function, and the packages it stands on."""

    module: str
    packages: tuple[str, ...]
    function: str = "train"


#: Ours and gfnx by ``vmap`` train many members in one call, the others one.
METHODS = {
    "ours": Method("ours", ("torch",)),
    "torchgfn": Method("torchgfn", ("torchgfn", "torch")),
    "gfnx": Method("gfnx", ("gfnx", "jax")),
    "gfnx, by vmap": Method("gfnx", ("gfnx", "jax"), "train_together"),
}


def main() -> None:
    """Train and write the answer."""
    name, task_file, order_text, answer_file = sys.argv[1:]
    method, order = METHODS[name], json.loads(order_text)
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    warnings.simplefilter("ignore")
    module = import_module(f"{__package__}.methods.{method.module}")
    answer = getattr(module, method.function)(
        Task.read(Path(task_file)),
        Settings(**order["settings"]),
        tuple(order["members"]),
        order["seed"],
    )
    versions = {package: version(package) for package in method.packages}
    np.savez(answer_file, **vars(answer), versions=json.dumps(versions))


if __name__ == "__main__":
    main()
