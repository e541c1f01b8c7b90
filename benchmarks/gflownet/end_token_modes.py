"""Does the probability of ending a calculation have two modes over the members?

The paper says so of later steps of its trajectory. Here: exact policies of 80 reward
models in random unfinished sequences of one to four tokens, and for each sequence the
dip test of `skpce.inspection.modes_test` on the members' log-odds of EOS: how many are
significant at the level 0.05 each, and how many after Holm's method over all sequences.
How often the test finds two modes where there are some: `benchmarks.verdict.two_modes`.

Run: ``python -m benchmarks.gflownet.end_token_modes``
"""

from __future__ import annotations

import argparse

import numpy as np
import torch
from scipy.special import logit

from gflownet_envs import (
    ProcessRewardSpec,
    arithmetic_environment,
    arithmetic_problems,
    solve_exact,
    train_process_reward,
)
from skpce.drivers._exchange import holm
from skpce.inspection._modes import dip_p_values, dip_statistic

LEVEL = 0.05


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--members", type=int, default=80)
    parser.add_argument("--states", type=int, default=150, help="of each length")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--temperature", type=float, default=0.5)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    environment = arithmetic_environment()
    problems, labels = arithmetic_problems(environment, seed=arguments.seed)
    reward = train_process_reward(
        environment,
        problems,
        labels,
        ProcessRewardSpec(temperature=arguments.temperature),
        members=range(arguments.members),
        seed=arguments.seed,
    )
    solution = solve_exact(environment, reward)
    end = environment.action_names.index("EOS")
    rng = np.random.default_rng(arguments.seed)
    p_end, p_values = [], []
    for length in range(1, environment.max_length):
        layer = solution.graph.layer(length)
        n_states = min(arguments.states, layer.stop - layer.start)
        chosen = layer.start + rng.choice(
            layer.stop - layer.start, n_states, replace=False
        )
        states = solution.graph.states[torch.from_numpy(chosen)]
        p_end.append(solution.log_policy(states)[..., end].exp().numpy())
        dips = np.array([dip_statistic(values) for values in logit(p_end[-1]).T])
        p_values.append(dip_p_values(dips, arguments.members))
    adjusted = np.split(
        holm(np.concatenate(p_values)), np.cumsum([len(p) for p in p_values])[:-1]
    )
    print("| tokens | sequences | p <= 0.05 | after Holm | spread of P(EOS) |")
    print("| --- | --- | --- | --- | --- |")
    for length, columns in enumerate(zip(p_end, p_values, adjusted, strict=True), 1):
        values, *tests = columns
        found = " | ".join(str(np.sum(p <= LEVEL)) for p in tests)
        spread = values.std(axis=0).mean()
        print(f"| {length} | {len(tests[0])} | {found} | {spread:.3f} |")


if __name__ == "__main__":
    main()
