"""Every display with given figures, and what a picture must be to be read."""

from itertools import combinations

import numpy as np
import pytest

from skpce.inspection import Result
from skpce.metrics import policy_fragility
from skpce.plotting import (
    ConvergenceDisplay,
    CoverageDisplay,
    EmbeddingDisplay,
    InteractionDisplay,
    MainEffectsDisplay,
    PartEffectsDisplay,
    PolicyDistributionDisplay,
    SobolDisplay,
    StepVarianceDisplay,
)
from tests.skpce.verdicts import verdict_by_hand

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

STEPS = {"first": 3, "second": 2, "third": 4}
LONG = [
    "a name that is far too long to stand on one line of any plot at all, "
    "on two, or on as many as three",
    "_under_$cost$_{x}",
    "<script>alert('a_word_without_a_space')</script>",
    "p&q",
]

#: Names that differ in their middle.
ALIKE = [
    f"the temperature of the {i}th very long named reactor in °C" for i in range(6)
]


def make_verdict(attributable=(True, False, True), q2=(0.6, 0.1, 0.9), names=STEPS):
    return verdict_by_hand(tuple(names), attributable, q2, interval=(0.0, 1.0))


def displays(name="x0"):
    """Every display, with a name of a step, an input and an output."""
    inputs = [name, "x1"]
    fragility = policy_fragility([[0.9, 0.1], [0.5, 0.5]], steps={name: 2})
    line = np.linspace(-1, 1, 5)
    points = np.c_[line, line]
    effects = Result(
        {"output": (name,), "part": tuple(inputs)},
        {"first": np.array([[0.5, 0.2]]), "first_error": np.array([[0.1, 0.1]])},
    )
    curves = np.array([[[0.1], [0.5]], [[-3.0], [0.4]]])
    policies = {name: np.array([[0.2, 0.8], [0.4, 0.6]])}
    return {
        "variance": StepVarianceDisplay(fragility),
        "effects": MainEffectsDisplay([line], [line[:, np.newaxis]], inputs, [name]),
        "pairs": InteractionDisplay([[0.5, 0], [0.2, 0.1]], 0.1, 0.1, inputs),
        "embedding": EmbeddingDisplay(np.eye(2), points, points, inputs),
        "convergence": ConvergenceDisplay([10, 20], curves, [name]),
        "sobol": SobolDisplay(np.array([[0.7, 0.2]]), [0.4], [name], inputs),
        "coverage": CoverageDisplay([0.5, 0.9], {name: [0.4, 0.8]}, n_members=9),
        "policies": PolicyDistributionDisplay.from_samples(policies, inputs),
        "parts": PartEffectsDisplay(effects),
    }


def shown_texts(figure):
    """Return text and box of what is drawn, in pixels."""
    figure.canvas.draw()
    # Ticks outside the axes still have labels, and so have those of hidden axes.
    off = [axis for ax in figure.axes if not ax.axison for axis in (ax.xaxis, ax.yaxis)]
    hidden = {text for axis in off for text in axis.get_majorticklabels()}
    for axis in (axis for ax in figure.axes for axis in (ax.xaxis, ax.yaxis)):
        low, high = sorted(axis.get_view_interval())
        places, texts = axis.get_majorticklocs(), axis.get_majorticklabels()
        pairs = list(zip(places, texts, strict=False))
        if len(places) > len(texts):  # of a logarithmic axis
            pairs = [(tick.get_loc(), tick.label1) for tick in axis.get_major_ticks()]
        hidden |= {text for place, text in pairs if not low <= place <= high}
    drawn = set(figure.findobj(matplotlib.text.Text)) - hidden
    # Boxes of texts at an angle are larger than the texts.
    return [
        (text.get_text(), text.get_window_extent())
        for text in drawn
        if text.get_visible() and text.get_text().strip() and text.get_rotation() == 0
    ]


def assert_legible(figure):
    boxes = shown_texts(figure)
    for text, box in boxes:
        inside = figure.bbox.padded(1.0)
        assert inside.containsx(box.x0), text
        assert inside.containsx(box.x1), text
        assert inside.containsy(box.y0), text
        assert inside.containsy(box.y1), text
    for (one, first), (other, second) in combinations(boxes, 2):
        assert not first.padded(-1.0).overlaps(second.padded(-1.0)), (one, other)


# Seen as it is, without long and without middle cones: G. M. Machado, M. M. Oliveira,
# L. A. F. Fernandes, "A physiologically-based model for simulation of color vision
# deficiency" (2009), severity 1.
VIEWS = np.reshape(
    [
        *(1, 0, 0, 0, 1, 0, 0, 0, 1),
        *(0.152286, 1.052583, -0.204868, 0.114503, 0.786281, 0.099216),
        *(-0.003882, -0.048116, 1.051998, 0.367322, 0.860646, -0.227968),
        *(0.280085, 0.672501, 0.047413, -0.011820, 0.042940, 0.968881),
    ],
    (3, 3, 3),
)
# From linear sRGB to XYZ over that of white.
TO_XYZ = np.reshape(
    [0.4339, 0.3762, 0.1899, 0.2127, 0.7152, 0.0722, 0.0178, 0.1095, 0.8727], (3, 3)
)


def lab_of_views(name):
    """Return CIE Lab of a colour, a row for each view."""
    rgb = np.array(matplotlib.colors.to_rgb(name))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    xyz = np.clip(VIEWS @ linear, 0, 1) @ TO_XYZ.T
    x, y, z = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116).T
    return np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], axis=1)


def assert_distinct(names, least):
    """Assert that all views of all colours are farther apart than that."""
    seen = {name: lab_of_views(name) for name in names}
    assert len(seen) == len(names)
    for one, other in combinations(names, 2):
        distance = np.linalg.norm(seen[one] - seen[other], axis=1).min()
        assert distance > least, (one, other, distance)
