"""Buchwald–Hartwig reactions: choose conditions under an uncertain yield."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Unpack

import numpy as np

from gflownet_envs.datasets import fetch_buchwald_hartwig
from gflownet_envs.environments.sequences import SequentialSelectionEnvironment
from gflownet_envs.exact.solve import trajectory_of_actions
from gflownet_envs.experiments.task import (
    Preset,
    RunSettings,
    Study,
    Table,
    Task,
    columns_of_levels,
    factorial_parts,
    level_parts,
    mean_and_ends,
    phrases_of_factors,
    presets_of,
    stage,
    words_of,
)
from gflownet_envs.rewards.proxies import (
    PAPER_PROXY,
    FeatureProxies,
    ProxySpec,
    train_feature_proxies,
)
from gflownet_envs.rewards.source import RewardTable, one_hot_levels

#: The paper's τ: log R is the predicted yield in percent over τ.
TEMPERATURE = 4.0

#: What neither components nor their pairs have.
_REST = "single reactions"

#: Components whose levels are parts of their own.
_COMPONENTS_BY_LEVEL = ("aryl_halide", "additive")

#: The variant that takes τ to divide the yield as a fraction, 0 to 1.
FRACTIONS = "yields as fractions"

#: The variant that leaves out the absent halide and the absent additive.
WITHOUT_CONTROLS = "without controls"


class BuchwaldHartwigTask(Task):
    """Catalyst, base, aryl halide, additive: 4 × 3 × 16 × 24 reactions."""

    name = "buchwald-hartwig"
    title, summary = words_of(name)
    presets: ClassVar[Mapping[str, Preset]] = presets_of(name, ProxySpec(), PAPER_PROXY)

    def prepare(self, preset: Preset, **run: Unpack[RunSettings]) -> Study:
        data: Any = fetch_buchwald_hartwig(
            data_home=run["options"].get("data_home"),
            controls=preset.variant != WITHOUT_CONTROLS,
        )
        environment = SequentialSelectionEnvironment(data.levels, name=self.name)
        combinations = environment.object_levels().numpy()
        members = np.arange(preset.n_train + preset.n_test)
        proxies = train_feature_proxies(
            one_hot_levels(data.data, environment.sizes),
            data.target,
            preset.proxy,
            members=members.tolist(),
            seed=run["seed"],
            progress=stage(run["progress"], "training yield proxies"),
            store=run["store"],
        )
        yields = proxies.predict(one_hot_levels(combinations, environment.sizes))
        one = 100.0 if preset.variant == FRACTIONS else 1.0
        log_reward = yields / (TEMPERATURE * one)
        # the reactions whose predictions are the reward features
        shown = np.arange(len(combinations))
        if preset.n_reward_features is not None:
            rng = np.random.default_rng(run["seed"])
            drawn = rng.choice(len(shown), preset.n_reward_features, replace=False)
            shown = np.sort(drawn)
        names = np.array(environment.object_names(), dtype=object)
        best = int(np.argmax(data.target))
        actions = [
            int(offset + level)
            for offset, level in zip(environment.offsets, data.data[best], strict=True)
        ]
        return Study(
            environment=environment,
            reward=RewardTable(environment, log_reward),
            reward_features=yields[:, shown],
            feature_names=tuple(names[shown]),
            n_train=preset.n_train,
            n_test=preset.n_test,
            members=members,
            trajectory=trajectory_of_actions(environment, actions),
            levels=columns_of_levels(combinations[shown], data.levels),
            feature_unit="predicted yield in percent",
            tables=(
                _proxy_table(proxies, yields, preset),
                _reference_table(data, best),
            ),
            cpu_seconds={"proxies": float(proxies.cpu_seconds.sum())},
            named_parts=(
                factorial_parts(
                    environment,
                    log_reward,
                    data.levels,
                    phrases=phrases_of_factors(
                        data.levels,
                        one="the average yield of each {}",
                        two="the yields of {} × {} pairs",
                    )
                    | {_REST: "what single reactions have beyond their pairs"},
                    rest=_REST,
                ),
                *(
                    level_parts(environment, log_reward, data.levels, component)
                    for component in _COMPONENTS_BY_LEVEL
                ),
            ),
        )


def _proxy_table(proxies: FeatureProxies, yields: np.ndarray, preset: Preset) -> Table:
    spec = preset.proxy or ProxySpec()
    recipe = "full batch" if spec.batch_size is None else f"batch {spec.batch_size}"
    recipe += ", early stopping" if spec.patience is not None else ", fixed length"
    spread = float(yields.std(axis=0, ddof=1).mean())
    return Table.of_rows(
        f"Yield proxies ({len(yields)} networks, {recipe})",
        [
            mean_and_ends("R² on the rows never seen", proxies.r2_held_out),
            mean_and_ends("mean squared error on them, percent²", proxies.mse_held_out),
            mean_and_ends("mean squared error on all rows, percent²", proxies.mse_all),
            mean_and_ends("epochs retained", proxies.n_epochs),
            {"what": "standard deviation between networks, percent", "mean": spread},
        ],
    )


def _reference_table(data: Any, best: int) -> Table:
    rows = [
        (component, names[data.data[best, i]])
        for i, (component, names) in enumerate(data.levels.items())
    ]
    rows.append(("measured yield, percent", float(data.target[best])))
    return Table(
        "Reference trajectory: the reaction of highest measured yield",
        ("component", "level"),
        tuple(rows),
    )
