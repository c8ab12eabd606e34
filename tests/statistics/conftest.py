"""What tests of statistics share."""

import gc
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True, scope="module")
def little_to_collect() -> Iterator[None]:
    """statsmodels collects garbage at every correction by Holm: what is here before is not looked through."""
    gc.freeze()
    yield
    gc.unfreeze()
