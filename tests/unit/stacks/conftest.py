"""Nothing of one test's configuration reaches the next."""

from collections.abc import Iterator

import pytest
from pulumi.runtime import config as runtime_config


@pytest.fixture(autouse=True)
def _configuration_of_one_test() -> Iterator[None]:
    before = dict(runtime_config.CONFIG.get())
    yield
    runtime_config.set_all_config(before, [])
