"""The inputs of rewards that are given by a formula: one row a member."""

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor


def member_inputs(
    name: str,
    values: Tensor | ArrayLike,  # shape: (E, d)
    n_inputs: int | None = None,
) -> Tensor:  # shape: (E, d), float64
    """Return inputs in float64; raise ValueError if they cannot be used.

    Examples
    --------
    >>> member_inputs("amplitudes", [[0.5, 1.0]], n_inputs=3)
    Traceback (most recent call last):
    ValueError: amplitudes must have shape (n_members, 3), got (1, 2)
    """
    inputs = torch.as_tensor(np.asarray(values, dtype=np.float64))
    has_columns = inputs.ndim == 2 and inputs.shape[1] == (n_inputs or inputs.shape[1])
    if not has_columns or 0 in inputs.shape:
        columns = "n_inputs" if n_inputs is None else n_inputs
        raise ValueError(
            f"{name} must have shape (n_members, {columns}), got {tuple(inputs.shape)}"
        )
    bad = ~torch.isfinite(inputs)
    if bad.any():
        member, column = bad.nonzero()[0].tolist()
        raise ValueError(
            f"{name} must be finite, got {inputs[member, column].item()} for member "
            f"{member}, column {column}"
        )
    return inputs
