"""What a hook works through."""

import sqlite3
from types import SimpleNamespace

from memcli.hooks.calls import HookApp


def test_what_a_hook_finds_in_the_index_is_of_one_moment():
    """Also where the clock has stopped an earlier reading before it was ended."""
    database = sqlite3.connect(":memory:", isolation_level=None)
    app = SimpleNamespace(index=SimpleNamespace(db=database))

    assert HookApp.of_one_moment(app, lambda: database.in_transaction)
    assert not database.in_transaction

    database.execute("BEGIN")
    assert HookApp.of_one_moment(app, lambda: database.in_transaction)
