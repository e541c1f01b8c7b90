r"""
Multiplicity: which choice of the analyst decides a diagnosis?
==============================================================

The same patients, the same question, and every analysis defensible: how missing values
are filled in, how columns are scaled, whether they are binned, how strongly the model
is regularised, which patients were sampled. Models that are equally good on average
can disagree about a single patient. For whom does the diagnosis hang on a choice that
nobody would put into the paper, and on which?

The choices are categorical inputs of a polynomial chaos expansion, and each patient is
a decision of the ensemble.
"""

# %%
# 300 patients of the Wisconsin breast cancer data are used for training; in one of ten
# cells the value is removed, so that there is something to fill in. The other patients
# are to be diagnosed.

import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy.stats import uniform
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)

from skpce import CompositionalPCESurrogate
from skpce.ensembles import from_frame, sample_inputs
from skpce.inspection import verdict
from skpce.plotting import SobolDisplay

warnings.simplefilter("ignore", ConvergenceWarning)
warnings.filterwarnings("ignore", message="Bins whose width are too small")
data = load_breast_cancer()
rng = np.random.default_rng(0)
columns = [name.startswith("mean") for name in data.feature_names]
patients = data.data[:, columns].copy()
patients[rng.uniform(size=patients.shape) < 0.1] = np.nan
order = rng.permutation(len(patients))
train, test = order[:300], order[300:]

IMPUTERS = {
    "mean": SimpleImputer(),
    "median": SimpleImputer(strategy="median"),
    "neighbours": KNNImputer(n_neighbors=5),
}
SCALERS = {
    "standard": StandardScaler(),
    "robust": RobustScaler(),
    "quantiles": QuantileTransformer(n_quantiles=50, output_distribution="normal"),
}
ENCODERS = {
    "as they are": FunctionTransformer(),
    "in 5 bins": KBinsDiscretizer(5, quantile_method="averaged_inverted_cdf"),
}

# %%
# 168 analyses: each is one combination of choices, on its own bootstrap sample of the
# patients (the seed). 56 combinations are made three times with other seeds: these
# replicates show what the seed alone does.

distributions = {
    "imputation": list(IMPUTERS),
    "scaling": list(SCALERS),
    "encoder": list(ENCODERS),
    "log10 C": uniform(-2, 4),
}
choices = sample_inputs(distributions, 56, "lhs", random_state=0)
runs = pd.concat([choices.assign(seed=seed) for seed in range(3)], ignore_index=True)


def analyse(run, number):
    rows = np.random.default_rng(number).choice(train, len(train))
    model = make_pipeline(
        IMPUTERS[run["imputation"]],
        SCALERS[run["scaling"]],
        ENCODERS[run["encoder"]],
        LogisticRegression(C=10 ** run["log10 C"], max_iter=500),
    ).fit(patients[rows], data.target[rows])
    return model.predict_proba(patients[test])[:, 0]


malignant = np.array([analyse(run, number) for number, run in runs.iterrows()])
right = ((malignant > 0.5) == (data.target[test] == 0)).mean(axis=1)
print(f"accuracy of the analyses: {right.min():.2f} to {right.max():.2f}")
flipped = np.minimum((malignant > 0.5).mean(axis=0), (malignant < 0.5).mean(axis=0))
print(f"{(flipped > 0.1).sum()} of {len(test)} patients: one analysis in ten disagrees")

# %%
# Ten patients about whom the analyses disagree most. ``replicate="seed"`` says that
# runs with equal choices are replicates, so that the verdict knows what the seed does.

hardest = np.argsort(-malignant.std(axis=0))[:10]
names = [f"patient {test[i]}" for i in hardest]
runs[names] = malignant[:, hardest]
inputs = dict.fromkeys(distributions) | {"log10 C": distributions["log10 C"]}
ensemble = from_frame(runs, inputs, names, replicate="seed")
y = np.stack([ensemble.y, 1 - ensemble.y], axis=2).reshape(len(runs), -1)

model = CompositionalPCESurrogate(
    2,
    steps=dict.fromkeys(names, 2),
    distribution=list(ensemble.distribution),
    solver="ridge",
)
found = verdict(model, ensemble.X, y, replicate=ensemble.setting)
print(found)

# %%
# The indices of the patients for whom the verdict supports them. For the others the
# bar is hatched: there the sample of patients decides, or the inputs do not predict.

model.fit(ensemble.X, y)
total = pd.DataFrame(model.step_total_sobol_indices_, names, list(distributions))
print(total[list(found.attributable)].round(2))

display = SobolDisplay.from_estimator(model, verdict=found)
display.figure_.set_size_inches(8, 5)
plt.show()
