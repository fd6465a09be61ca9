"""A browser for the tests of the page; without one they are skipped."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browse.driver import MISSING, Browser


@pytest.fixture(scope="session")
def browser(tmp_path_factory) -> Iterator[Browser]:
    """One Chromium for all."""
    if MISSING:
        pytest.skip(f"no {' and no '.join(MISSING)} on this machine")
    made = Browser(Path(tmp_path_factory.mktemp("chromium")))
    yield made
    made.close()
