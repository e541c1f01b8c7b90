"""Calls of the embeddings that train a network, with two epochs; they need torch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.util import find_spec
from typing import Any

from skpce import embedding
from tests.fuzz import invariants as true
from tests.fuzz import values as draw
from tests.fuzz.models import Drawn, Generator


def _trained(kind: Callable[..., Any], noun: str) -> Callable[[Generator], Drawn]:
    def make(rng: Generator) -> Drawn:
        def encode(X: Any, **parameters: Any) -> Any:
            model = kind(**parameters).fit(X)
            latent = model.transform(X)
            return latent, model.inverse_transform(latent)

        def call(
            X: Any,
            n_components: Any,
            hidden_layer_sizes: Any,
            learning_rate: Any,
            batch_size: Any,
            max_epochs: Any,
            validation_fraction: Any,
            patience: Any,
            random_state: Any,
        ) -> Any:
            is_long = isinstance(max_epochs, int) and max_epochs == 10**6
            max_epochs = 2 if is_long else max_epochs
            return encode(
                X,
                n_components=n_components,
                hidden_layer_sizes=hidden_layer_sizes,
                learning_rate=learning_rate,
                batch_size=batch_size,
                max_epochs=max_epochs,
                validation_fraction=validation_fraction,
                patience=patience,
                random_state=random_state,
            )

        X = draw.inputs(rng, int(draw.one_of(rng, [6, 20, 30])))
        given = {
            "X": X,
            "n_components": 1,
            "hidden_layer_sizes": draw.one_of(rng, [(), (3,), (4, 4)]),
            "learning_rate": 0.001,
            "batch_size": draw.one_of(rng, [4, 128]),
            "max_epochs": 2,
            "validation_fraction": draw.one_of(rng, [None, 0.3]),
            "patience": 1,
            "random_state": 0,
        }

        def faults(found: Any) -> true.Faults:
            for name, table in zip(("latent", "rows"), found, strict=True):
                yield from true.finite(f"{noun} {name}", table)

        return call, given, faults

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
