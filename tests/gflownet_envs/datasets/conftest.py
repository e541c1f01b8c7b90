"""Servers of this machine are asked without a proxy."""

import pytest


@pytest.fixture(autouse=True)
def without_proxy(monkeypatch):
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.setenv(name, "127.0.0.1")
