"""Does the probability of ending a calculation have two modes over the members?

The paper says so of later steps of its trajectory. Here: exact policies of 80 reward
models in random unfinished sequences of one to four tokens, and for each sequence the
three tests of `CompositionalPCESurrogate.predicted_modes` on the members' logits of
EOS. Beside them normal numbers with the same means and variances: what the tests find
where there is one mode.

Run: ``python benchmarks/gflownet/end_token_modes.py``
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
from skpce._compositions.modes import find_modes


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
    print("| tokens | sequences | two modes | one-mode numbers | spread of P(EOS) |")
    print("| --- | --- | --- | --- | --- |")
    for length in range(1, environment.max_length):
        layer = solution.graph.layer(length)
        n_states = min(arguments.states, layer.stop - layer.start)
        chosen = layer.start + rng.choice(
            layer.stop - layer.start, n_states, replace=False
        )
        states = solution.graph.states[torch.from_numpy(chosen)]
        p_end = solution.log_policy(states)[..., end].exp().numpy()
        logits = logit(p_end)
        null = rng.normal(logits.mean(axis=0), logits.std(axis=0), size=logits.shape)
        found, by_chance = (
            sum(
                find_modes(
                    column, np.arange(len(column))[:, None], ["member"], 0.05, rng
                ).bimodal
                for column in table.T
            )
            for table in (logits, null)
        )
        print(
            f"| {length} | {n_states} | {found} | {by_chance} | "
            f"{p_end.std(axis=0).mean():.3f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
