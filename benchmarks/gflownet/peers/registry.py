"""The implementations that take part."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Method:
    """An implementation: its file and function, and how many members it is given.

    ``members`` are trained in one call, in a process of its own.
    """

    name: str
    module: str
    packages: tuple[str, ...]
    members: int
    function: str = "train"
    is_ours: bool = False


METHODS = {
    method.name: method
    for method in (
        Method("ours, 50 members at once", "ours", ("torch",), 50, is_ours=True),
        Method("ours, one at a time", "ours", ("torch",), 1, is_ours=True),
        Method("torchgfn", "torchgfn", ("torchgfn", "torch"), 1),
        Method("gfnx", "gfnx", ("gfnx", "jax"), 1),
        Method(
            "gfnx, 50 members by vmap",
            "gfnx",
            ("gfnx", "jax"),
            50,
            function="train_together",
        ),
    )
}
