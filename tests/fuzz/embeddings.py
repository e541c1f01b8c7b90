"""Calls of the embeddings that train a network, with two epochs; they need torch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.util import find_spec
from typing import Any

from skpce import embedding
from tests.fuzz import invariants as true
from tests.fuzz import values as draw
from tests.fuzz.models import Drawn, Generator, of_keywords


def _trained(kind: Callable[..., Any], noun: str) -> Callable[[Generator], Drawn]:
    def encode(X: Any, **parameters: Any) -> Any:
        if parameters["max_epochs"] == 10**6:
            parameters["max_epochs"] = 2
        model = kind(**parameters).fit(X)
        latent = model.transform(X)
        return latent, model.inverse_transform(latent)

    def faults(found: Any) -> true.Faults:
        for name, table in zip(("latent", "rows"), found, strict=True):
            yield from true.finite(f"{noun} {name}", table)

    def make(rng: Generator) -> Drawn:
        X = draw.inputs(rng, int(draw.one_of(rng, [6, 20, 30])))
        sound = {"n_components": 1, "learning_rate": 0.001, "patience": 1}
        sound |= {
            "hidden_layer_sizes": draw.one_of(rng, [(), (3,), (4, 4)]),
            "batch_size": draw.one_of(rng, [4, 128]),
            "max_epochs": 2,
            "validation_fraction": draw.one_of(rng, [None, 0.3]),
            "random_state": 0,
        }
        given = {"X": X} | sound
        return of_keywords(encode, given), given, faults

    return make


#: The embeddings by name, with what draws their arguments; none without torch.
EMBEDDINGS: Mapping[str, Callable[[Generator], Drawn]] = (
    {
        f"skpce.embedding.{kind.__name__}": _trained(kind, kind.__name__)
        for kind in (embedding.BetaVAE, embedding.NormalizingFlow)
    }
    if find_spec("torch") and find_spec("zuko")
    else {}
)
