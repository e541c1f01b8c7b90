"""Let the pages import the modules that stand beside them."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(autouse=True)
def _cautions_of_the_package():
    """Let a page that adds a caution add it for itself alone."""
    from skpce.drivers import _cautions

    checks, words = [*_cautions.CHECKS], dict(_cautions.WORDS)
    yield
    _cautions.CHECKS[:] = checks
    _cautions.WORDS.clear()
    _cautions.WORDS.update(words)
