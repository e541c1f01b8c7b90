"""Names of the package are loaded on first use."""

import pytest

import gflownet_envs


@pytest.mark.parametrize("name", gflownet_envs.__all__)
def test_every_public_name_exists_and_is_documented(name):
    assert name in dir(gflownet_envs)
    value = getattr(gflownet_envs, name)
    assert value.__doc__ or name == "OBJECTIVES"


def test_unknown_names():
    with pytest.raises(AttributeError, match="has no attribute 'Grid'"):
        gflownet_envs.Grid  # noqa: B018
