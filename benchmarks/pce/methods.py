"""All methods in the order of the tables."""

from __future__ import annotations

from . import floor
from .peers import (
    ours,
    with_chaospy,
    with_gpce_model,
    with_openturns,
    with_pyapprox,
    with_pygpc,
    with_pytuq,
    with_sklearn,
    with_tesuract,
    with_uqpy,
)
from .peers.base import Method

FLOOR = Method("floor", "floor", "numpy", lambda: floor.fit, bootstrap=floor.bootstrap)

METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        FLOOR,
        *ours.METHODS,
        *with_gpce_model.METHODS,
        *with_pyapprox.METHODS,
        *with_uqpy.METHODS,
        *with_openturns.METHODS,
        *with_pytuq.METHODS,
        *with_chaospy.METHODS,
        *with_pygpc.METHODS,
        *with_tesuract.METHODS,
        *with_sklearn.METHODS,
    )
}
#: Distributions whose versions are recorded.
PACKAGES = (
    "numpy",
    "scipy",
    "scikit-learn",
    "openturns",
    "chaospy",
    "UQpy",
    "pyapprox",
    "pytuq",
    "pygpc",
    "tesuract",
    "gPCE_model",
)
