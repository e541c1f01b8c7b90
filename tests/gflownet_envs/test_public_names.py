"""Names of the package are loaded on first use."""

import subprocess
import sys

import pytest

import gflownet_envs

MINE = [
    name
    for name in gflownet_envs.__all__
    if name not in ("PolicyDataset", "fetch_buchwald_hartwig")
]


def test_the_package_alone_does_not_import_torch():
    code = (
        "import sys, gflownet_envs, gflownet_envs.random_streams; "
        "sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("name", MINE)
def test_every_public_name_exists_and_is_documented(name):
    assert name in dir(gflownet_envs)
    value = getattr(gflownet_envs, name)
    assert value.__doc__ or name == "OBJECTIVES"


def test_all_names_are_mapped():
    assert set(gflownet_envs.__all__) == set(gflownet_envs._MODULE_OF_NAME)


def test_unknown_names():
    with pytest.raises(AttributeError, match="has no attribute 'Grid'"):
        gflownet_envs.Grid  # noqa: B018
