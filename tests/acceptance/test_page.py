"""docs/acceptance.md says what the tests of the Atlas say."""

import pytest

from tests.acceptance import page, test_atlas
from tests.acceptance.atlas import TESTS, function_of

pytestmark = pytest.mark.unit


def test_every_id_has_a_test_or_a_reason():
    """None is left out in silence, and no test has an id that is not there."""
    functions = {
        name for name in vars(test_atlas) if "__" in name and name[:5] == "test_"
    }
    applying = {function_of(name) for name, asked in TESTS.items() if not asked.apart}
    assert functions == applying


def test_the_page_is_that_of_a_run_in_which_all_hold():
    """A test that fails is red itself; the page is what the others make."""
    held = {function_of(name): [True] for name in TESTS}
    assert page.PAGE.read_text("utf-8") == page.page(held), page.COMMAND
