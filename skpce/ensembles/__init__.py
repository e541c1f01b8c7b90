"""Ensembles from where people have them: tables of runs, studies, searches, designs.

Plain functions that return an :class:`Ensemble`: inputs as numbers, their
distributions, outputs, and which members are replicates. Data frames need pandas.
"""

from ._blocks import member_blocks
from ._designs import sample_inputs, slice_design
from ._importance import DriverImportanceEvaluator
from ._searches import from_cv_results, from_study
from ._table import Ensemble, from_frame

__all__ = [
    "DriverImportanceEvaluator",
    "Ensemble",
    "from_cv_results",
    "from_frame",
    "from_study",
    "member_blocks",
    "sample_inputs",
    "slice_design",
]
