"""Secrets in many layouts, and harmless lines beside them, by lists.

Half of `layouts.txt` and `harmless.txt` was looked at while the rules were made; the
lists named `once` were written after them. When first scored, the other half missed 15
of 196 and raised one alarm in 94; `once` missed 15 of 100 and raised 2 in 76; `prose`
(ten languages, a word between the name and the value) missed 6 of 60 and raised none in
60. What is asserted here is the state after those were mended, too."""

import base64
import textwrap
import time

import pytest

from memcli.text.secrets import find_secrets, redact_secrets
from tests.text.layouts import half, layouts, lines
from tests.text.test_secret_forms import BODY, PEM

pytestmark = pytest.mark.unit


def test_at_most_one_secret_in_twenty_is_left():
    lists = ("layouts.txt", "layouts_once.txt", "layouts_prose.txt")
    rows = [row for name in lists for row in layouts(name)]
    missed = [row.frame for row in rows if row.secret in redact_secrets(row.text)]
    assert len(missed) <= len(rows) / 20, missed


def test_of_layouts_by_another_hand_most_are_found():
    """`layouts_third.txt` was written by a hand that had read the code, not the tables of rules. At first
    27 of its half that was then looked at were missed, of 180, and 26 of 147 of the
    half that is scored alone; 22 of these after the first half had been mended."""
    rows = list(layouts("layouts_third.txt"))
    missed = [row for row in rows if row.secret in redact_secrets(row.text)]
    scored = [row.frame for row in missed if half(row.frame) == "scored"]
    assert len(missed) - len(scored) <= 9
    assert len(scored) <= 22


@pytest.mark.parametrize(
    "name",
    ["harmless.txt", "harmless_once.txt", "harmless_prose.txt", "harmless_third.txt"],
)
def test_no_harmless_line_is_touched(name: str):
    texts = [row.replace("\\n", "\n") for row in lines(name)]
    assert [text for text in texts if find_secrets(text)] == []


@pytest.mark.parametrize("width", [64, 76, 120])
@pytest.mark.parametrize("margin", ["", "    ", "> "])
def test_a_key_in_base64_goes_with_all_its_lines(width: int, margin: str):
    coded = base64.b64encode("\n".join(PEM).encode()).decode()
    text = textwrap.indent("\n".join(textwrap.wrap(coded, width)), margin)
    left = redact_secrets(f"tls.key:\n{text}\n\nAfter the key.")
    assert coded[200:220] not in left and coded[-30:-10] not in left
    assert left.endswith("After the key.")


@pytest.mark.parametrize("margin", ["    ", "\t", "> ", "# "])
def test_a_key_without_its_first_line_goes_also_where_it_is_indented(margin: str):
    text = textwrap.indent("\n".join(PEM[1:]), margin)
    left = redact_secrets(f"Before.\n\n{text}\nAfter.")
    assert not [line for line in BODY if line[:20] in left]
    assert left.startswith("Before.") and left.endswith("After.")


def test_the_body_of_a_key_alone_goes():
    body = "MIIEpAIBAAKCAQEA" + BODY[0][16:]
    left = redact_secrets("\n".join([body, *BODY[1:]]))
    assert not [line for line in BODY[1:] if line[:20] in left]


@pytest.mark.parametrize("unit", ["pwd:", "password=", "password is a ", "pass "])
def test_time_is_by_length(unit: str):
    """A run of names is judged once: 100 KB within the time that a page may take."""
    start = time.process_time()
    find_secrets(unit * (100_000 // len(unit)))
    assert time.process_time() - start < 4
