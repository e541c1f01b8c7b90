"""Twelve questions of newcomers: lines and seconds to the first right answer.

Each question has a program that calls this package and one that calls what people use
today, as its documentation shows it. Both get the same data, of which it is known what
drives the result, in a fresh process each; imports count where the data did not need
them.

Run: ``OMP_NUM_THREADS=1 python -m benchmarks.answer.newcomers [--write FILE]``, with
optuna, mlflow, statsmodels, plotly and pandas. Ten draws of the data a question.

What a tool names: its *drivers*; else importances that are two standard deviations
above 0 on rows left out (the guide of scikit-learn on permutation importance), or
shares of at least .05. An answer is right where it names all that act and nothing else.
"""

from __future__ import annotations

import argparse
import inspect
import json
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Mapping
from contextlib import chdir
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

DRAWS = 10
RUNS = 80
ACTS = ("rate", "solver", "units")
IDLE = ("workers", "prefetch")
EPOCHS, BEGINS = 20, 8


# Data.


def loss(rate: Any, units: Any, solver: Any) -> Any:
    """Return the loss of settings: most of it is that of the rate."""
    kind = np.asarray(solver) == "adam"
    return (np.log10(rate) + 2) ** 2 / 2 + 0.5 * kind + 0.3 * np.log2(units / 16)


def settings(rng: np.random.Generator, n: int = RUNS) -> dict[str, Any]:
    """Return settings of runs drawn at random, two of which do nothing."""
    return {
        "rate": 10 ** rng.uniform(-4, 0, n),
        "units": 2 ** rng.integers(3, 8, n),
        "solver": rng.choice(["adam", "sgd"], n),
        "workers": rng.integers(1, 9, n),
        "prefetch": rng.integers(1, 5, n),
    }


def runs(rng: np.random.Generator, seeds: int = 1) -> dict[str, Any]:
    """Return a table of runs with their losses, each setting with some seeds."""
    table = {name: np.repeat(v, seeds) for name, v in settings(rng).items()}
    value = loss(*(table[name] for name in ("rate", "units", "solver")))
    return {**table, "loss": value + 0.2 * rng.normal(size=len(value))}


def a_file(rng: np.random.Generator, seeds: int = 1) -> str:
    """Return the path of a CSV file of runs, in a folder of the process."""
    import pandas as pd

    pd.DataFrame(runs(rng, seeds)).to_csv("runs.csv", index=False)
    return "runs.csv"


def a_study(rng: np.random.Generator) -> Any:
    """Return a study of Optuna with a random sampler."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    sampler = optuna.samplers.RandomSampler(int(rng.integers(1000)))
    study = optuna.create_study(sampler=sampler)

    def objective(trial: Any) -> float:
        trial.suggest_int("workers", 1, 8)
        trial.suggest_int("prefetch", 1, 4)
        value = loss(
            trial.suggest_float("rate", 1e-4, 1, log=True),
            trial.suggest_int("units", 8, 128, log=True),
            trial.suggest_categorical("solver", ["adam", "sgd"]),
        )
        return float(value + 0.2 * rng.normal())

    study.optimize(objective, n_trials=RUNS)
    return study


def a_search(rng: np.random.Generator) -> Any:
    """Return ``cv_results_`` of a random search with five folds."""
    table = runs(rng)
    noise = 0.1 * rng.normal(size=(5, RUNS))
    names = [*ACTS, *IDLE]
    found: dict[str, Any] = {f"param_{name}": table[name] for name in names}
    found["params"] = [{k: table[k][i] for k in names} for i in range(RUNS)]
    for fold in range(5):
        found[f"split{fold}_test_score"] = -table["loss"] + noise[fold]
    found["mean_test_score"] = -table["loss"] + noise.mean(axis=0)
    return found


def an_experiment(rng: np.random.Generator) -> None:
    """Log runs to a store of MLflow in the folder of the process."""
    import mlflow

    mlflow.set_tracking_uri("sqlite:///mlflow.db")
    table = runs(rng)
    for i in range(RUNS):
        with mlflow.start_run():
            mlflow.log_params({k: table[k][i] for k in (*ACTS, *IDLE)})
            mlflow.log_metric("loss", float(table["loss"][i]))


def an_evaluation(rng: np.random.Generator) -> Any:
    """Return scores of 40 items under 4 prompts, three times: prompts are too few."""
    import pandas as pd

    item, prompt, seed = (a.ravel() for a in np.mgrid[:40, :4, :3])
    clear = rng.permutation([-1.2, -0.4, 0.4, 1.2])
    score = rng.normal(size=40)[item] + clear[prompt] + rng.normal(size=len(item))
    return pd.DataFrame({"item": item, "prompt": prompt, "seed": seed, "score": score})


def probabilities(rng: np.random.Generator) -> Any:
    """Return inputs of 80 models, and their probabilities of three classes."""
    X = rng.normal(size=(RUNS, 5))
    logits = np.c_[X[:, 0], X[:, 1] + X[:, 2], np.zeros(RUNS)]
    logits = logits + 0.2 * rng.normal(size=logits.shape)
    odds = np.exp(logits)
    return X, odds / odds.sum(axis=1, keepdims=True)


def curves(rng: np.random.Generator) -> Any:
    """Return inputs, and losses after each epoch: the second acts from the ninth on."""
    X = rng.uniform(size=(RUNS, 4))
    epoch = np.arange(EPOCHS)
    early, late = np.exp(-epoch / 5), 0.15 * np.maximum(epoch - BEGINS + 1, 0)
    y = X[:, [0]] * early + X[:, [1]] * late + 0.1 * rng.normal(size=(RUNS, 1))
    return X, y + 0.05 * rng.normal(size=y.shape)


def policies(rng: np.random.Generator) -> Any:
    """Return parts of 80 rewards, and the trained policies' probabilities to start."""
    from gflownet_envs import (
        SequentialSelectionEnvironment,
        TrainingSpec,
        train_ensemble,
    )

    bases = ["K3PO4", "MTBD", "none"]
    env = SequentialSelectionEnvironment(
        {"solvent": ["water", "toluene", "DMF"], "base": bases}
    )
    X = rng.normal(size=(RUNS, 5))
    solvent, base = np.repeat(np.eye(3), 3, axis=0), np.tile(np.eye(3), (3, 1))
    log_reward = X[:, :2] @ solvent[:, :2].T + X[:, 2:3] @ base[:, :1].T * 2
    spec = TrainingSpec(n_iterations=400)
    trained = train_ensemble(env, log_reward, spec, seed=int(rng.integers(1000)))
    first = trained.log_policy(env.initial_state()).exp().detach().numpy()
    return X, first[:, :3] / first[:, :3].sum(axis=1, keepdims=True)


# Programs: what a user types.


def study_ours(study: Any) -> Any:
    import skpce

    return skpce.explain(study)


def study_today(study: Any) -> Any:
    import optuna

    return optuna.importance.get_param_importances(study)


def search_ours(results: Any) -> Any:
    import skpce

    return skpce.explain(results, log=["rate"])


def search_today(results: Any) -> Any:
    import pandas as pd
    from sklearn.ensemble import RandomForestRegressor
    from sklearn.inspection import permutation_importance
    from sklearn.model_selection import train_test_split

    X = pd.get_dummies(pd.DataFrame(results["params"]), drop_first=True)
    X, X_test, y, y_test = train_test_split(X, results["mean_test_score"])
    model = RandomForestRegressor().fit(X, y)
    found = permutation_importance(model, X_test, y_test, n_repeats=30)
    return X.columns, found


def csv_ours(path: Any) -> Any:
    import skpce

    return skpce.explain(path, outputs="loss", log=["rate"])


def csv_today(path: Any) -> Any:
    import pandas as pd
    from sklearn.ensemble import RandomForestRegressor
    from sklearn.inspection import permutation_importance
    from sklearn.model_selection import train_test_split

    table = pd.read_csv(path)
    X = pd.get_dummies(table.drop(columns="loss"), drop_first=True)
    X, X_test, y, y_test = train_test_split(X, table["loss"])
    model = RandomForestRegressor().fit(X, y)
    found = permutation_importance(model, X_test, y_test, n_repeats=30)
    return X.columns, found


def mlflow_ours(_: Any) -> Any:
    import mlflow

    import skpce

    return skpce.explain(mlflow.search_runs(), outputs="metrics.loss")


def mlflow_today(_: Any) -> Any:
    import mlflow
    import pandas as pd
    from sklearn.ensemble import RandomForestRegressor
    from sklearn.inspection import permutation_importance
    from sklearn.model_selection import train_test_split

    table = mlflow.search_runs()
    X = table.filter(like="params.")
    X = X.apply(lambda column: pd.to_numeric(column, errors="coerce").fillna(column))
    X = pd.get_dummies(X, drop_first=True)
    X, X_test, y, y_test = train_test_split(X, table["metrics.loss"])
    model = RandomForestRegressor().fit(X, y)
    found = permutation_importance(model, X_test, y_test, n_repeats=30)
    return X.columns, found


def evaluation_ours(table: Any) -> Any:
    import skpce

    found = skpce.variance_components(table, "score", random=["item", "prompt"])
    return found.standard_error({"item": 80, "prompt": 4}) > found.standard_error(
        {"item": 40, "prompt": 8}
    )


def evaluation_today(table: Any) -> Any:
    import statsmodels.formula.api as smf

    table["all"] = 1
    parts = {"item": "0 + C(item)", "prompt": "0 + C(prompt)"}
    model = smf.mixedlm("score ~ 1", table, groups="all", vc_formula=parts)
    item, prompt = model.fit().vcomp
    return item / 80 + prompt / 4 > item / 40 + prompt / 8


def probabilities_ours(data: Any) -> Any:
    import skpce

    X, p = data
    return skpce.explain(X, p, steps={"class": 3})


def probabilities_today(data: Any) -> Any:
    import numpy as np
    from sklearn.ensemble import RandomForestRegressor
    from sklearn.inspection import permutation_importance
    from sklearn.model_selection import train_test_split

    X, p = data
    X, X_test, y, y_test = train_test_split(X, np.log(p))
    model = RandomForestRegressor().fit(X, y)
    found = permutation_importance(model, X_test, y_test, n_repeats=30)
    return [f"x{i}" for i in range(X.shape[1])], found


def curves_ours(data: Any) -> Any:
    import skpce

    X, y = data
    return skpce.explain(X, y).over(range(1, 21), name="epoch").begins


def curves_today(data: Any) -> Any:
    from sklearn.ensemble import RandomForestRegressor
    from sklearn.inspection import permutation_importance
    from sklearn.model_selection import train_test_split

    X, y = data
    X, X_test, y, y_test = train_test_split(X, y)
    begins = [float("nan")] * X.shape[1]
    for epoch in reversed(range(y.shape[1])):
        model = RandomForestRegressor().fit(X, y[:, epoch])
        found = permutation_importance(model, X_test, y_test[:, epoch], n_repeats=30)
        for i in range(X.shape[1]):
            if found.importances_mean[i] > 2 * found.importances_std[i]:
                begins[i] = epoch + 1
    return begins


def report_ours(path: Any) -> Any:
    import skpce

    answer = skpce.explain(path, outputs="loss", log=["rate"])
    answer.report("report.html")
    return answer


def report_today(study: Any) -> Any:
    import optuna

    figure = optuna.visualization.plot_param_importances(study)
    figure.write_html("report.html")
    return dict(zip(figure.data[0].y, figure.data[0].x, strict=True))


def notebook_ours(path: Any) -> Any:
    import skpce

    answer = skpce.explain(path, outputs="loss", log=["rate"])
    answer._repr_html_()  # what a cell shows
    return answer


def command_ours(path: Any) -> Any:
    command = f"{sys.executable} -m skpce {path} --output loss --log rate"
    return subprocess.run(command.split(), capture_output=True, text=True, check=True)


# What came out.


def named(found: Any) -> set[str]:
    """Return the inputs that an answer, shares or importances name."""
    if isinstance(found, Mapping):
        return {name for name, share in found.items() if share >= 0.05}
    if isinstance(found, subprocess.CompletedProcess):
        rows = [line.split() for line in found.stdout.splitlines()]
        return {row[0] for row in rows if row[1:2] == ["drives"]}
    if isinstance(found, tuple):
        columns, values = found
        above = values.importances_mean > 2 * values.importances_std
        names = np.asarray(columns)[above]
        return {str(name).removeprefix("params.").split("_")[0] for name in names}
    state, inputs = found.drivers.state[0], found.drivers.input_names
    return {
        str(name).removeprefix("params.").removeprefix("param_")
        for name, said in zip(inputs, state, strict=True)
        if said == "drives"
    }


def names(*truth: str) -> Callable[[Any], bool]:
    """Return what checks that these are named, and nothing else."""
    return lambda found: named(found) == set(truth)


def from_the_ninth(begins: Any) -> bool:
    """Whether the first input acts from the start, the second some epochs after 8."""
    first, second, *idle = np.asarray(begins, dtype=float)
    return bool(first == 1 and BEGINS < second <= BEGINS + 4 and np.isnan(idle).all())


@dataclass(frozen=True)
class Question:
    """Data, the two programs, and what makes an answer right."""

    data: Callable[[np.random.Generator], Any]
    ours: Callable[[Any], Any]
    today: Callable[[Any], Any]
    tool: str
    right: Callable[[Any], bool]
    other_data: Callable[[np.random.Generator], Any] | None = None


FOREST = "a forest, permutation importance"
SETTINGS = names(*ACTS)
QUESTIONS = {
    "a study": Question(a_study, study_ours, study_today, "Optuna", SETTINGS),
    "a search": Question(a_search, search_ours, search_today, FOREST, SETTINGS),
    "a CSV file": Question(a_file, csv_ours, csv_today, FOREST, SETTINGS),
    "runs of MLflow": Question(
        an_experiment, mlflow_ours, mlflow_today, FOREST, SETTINGS
    ),
    "an evaluation: more items or prompts?": Question(
        an_evaluation, evaluation_ours, evaluation_today, "statsmodels", bool
    ),
    "probabilities": Question(
        probabilities,
        probabilities_ours,
        probabilities_today,
        FOREST,
        names("x0", "x1", "x2"),
    ),
    "curves: from which epoch on?": Question(
        curves, curves_ours, curves_today, FOREST, from_the_ninth
    ),
    "GFlowNets": Question(
        policies, probabilities_ours, probabilities_today, FOREST, names("x0", "x1")
    ),
    "a mistake: seeds as runs of their own": Question(
        lambda rng: a_file(rng, seeds=3), csv_ours, csv_today, FOREST, SETTINGS
    ),
    "a report": Question(
        a_file, report_ours, report_today, "Optuna, plotly", SETTINGS, a_study
    ),
    "a notebook": Question(a_file, notebook_ours, csv_today, FOREST, SETTINGS),
    "the command line": Question(
        a_file, command_ours, csv_today, f"none; {FOREST}", SETTINGS
    ),
}


def lines_of(program: Callable[[Any], Any]) -> int:
    """Return how many lines of a program a user types."""
    if program is command_ours:
        return 1
    body = inspect.getsource(program).splitlines()[1:]
    return sum(bool(line.strip()) for line in body)


def one(question: str, whose: str, draw: int) -> dict[str, Any]:
    """Answer a question once, in this process."""
    asked = QUESTIONS[question]
    program = asked.ours if whose == "ours" else asked.today
    make = asked.data if whose == "ours" else asked.other_data or asked.data
    with (
        tempfile.TemporaryDirectory() as folder,
        chdir(folder),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        np.random.seed(draw)  # noqa: NPY002  of forests and splits
        data = make(np.random.default_rng(draw))
        begin = time.perf_counter()
        found = program(data)
        seconds = time.perf_counter() - begin
        right = asked.right(found)
    return {"right": right, "seconds": seconds}


def table() -> str:
    """Return the table: both programs of every question."""
    of_both = "skpce: right lines seconds", "today: right lines seconds"
    rows = [
        f"{DRAWS} draws; {RUNS} runs of five inputs, of which two do nothing.",
        "Seconds: the median, in a fresh process, from data to answer.",
        "",
        f"{'question':39}{of_both[0]:>28}{of_both[1]:>28}  with",
    ]
    for question, asked in QUESTIONS.items():
        cells = ""
        for whose, program in (("ours", asked.ours), ("today", asked.today)):
            said = [_in_a_process(question, whose, draw) for draw in range(DRAWS)]
            right = sum(one["right"] for one in said)
            seconds = float(np.median([one["seconds"] for one in said]))
            cells += f"{right:14} of {DRAWS}{lines_of(program):5}{seconds:5.1f}"
        rows.append(f"{question:39}{cells}  {asked.tool}")
        print(rows[-1], flush=True)
    return "\n".join(rows) + "\n"


def _in_a_process(question: str, whose: str, draw: int) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.answer.newcomers", "--one"]
    done = subprocess.run(
        [*command, question, whose, str(draw)], capture_output=True, text=True
    )
    if done.returncode:
        raise SystemExit(f"{question}, {whose}, draw {draw}:\n{done.stderr}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    """Ask all questions, or one."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--one", nargs=3, metavar=("QUESTION", "WHOSE", "DRAW"))
    parser.add_argument("--write", type=Path, help="file of the table")
    options = parser.parse_args()
    if options.one:
        question, whose, draw = options.one
        print(json.dumps(one(question, whose, int(draw))))
        return
    text = table()
    if options.write:
        options.write.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
