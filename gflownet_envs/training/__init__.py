"""Training: all members of an ensemble in one loop, in blocks that can be resumed."""

from gflownet_envs.training.convergence import DivergedWarning, NotConvergedWarning
from gflownet_envs.training.ensemble import (
    TrainedEnsemble,
    TrainingDiagnostics,
    train_ensemble,
)
from gflownet_envs.training.spec import PAPER_TRAINING, TrainingSpec

__all__ = [
    "PAPER_TRAINING",
    "DivergedWarning",
    "NotConvergedWarning",
    "TrainedEnsemble",
    "TrainingDiagnostics",
    "TrainingSpec",
    "train_ensemble",
]
