"""Replies are data: strict JSON, checked by the schema."""

import json

import pytest

from memcli.errors import ProviderError
from memcli.providers.llm.ledger import excerpt, parse_json

ITEM = {
    "type": "object",
    "properties": {
        "title": {"type": "string"},
        "kind": {"enum": ["fact", "policy"]},
        "weight": {"type": "number", "minimum": 0, "maximum": 1},
        "sure": {"type": "boolean"},
    },
    "required": ["title"],
    "additionalProperties": False,
}
SCHEMA = {"type": "array", "items": ITEM}


@pytest.mark.parametrize(
    ("value", "where"),
    [
        ({}, "reply is no array"),
        ([{"title": "a"}, {}], "reply[1] has no title"),
        ([{"title": 3}], "reply[0].title is no string"),
        ([{"title": "a", "kind": "rule"}], "reply[0].kind is none of fact, policy"),
        ([{"title": "a", "weight": 1.1}], "reply[0].weight is not from 0 to 1"),
        ([{"title": "a", "weight": True}], "reply[0].weight is no number"),
        ([{"title": "a", "sure": 1}], "reply[0].sure is no boolean"),
        ([{"title": "a", "id": "x"}], "unexpected key: 'id'"),
    ],
)
def test_what_is_not_as_asked_is_named(value, where):
    """The place and what is wrong with it."""
    with pytest.raises(ProviderError) as caught:
        parse_json(json.dumps(value), SCHEMA)
    assert where in caught.value.what


NO_JSON = [
    "",
    "hello",
    "[1,]",
    "NaN",
    '{"a": 1, "a": 2}',
    "[" * 99_999,
    "[" * 600 + "]" * 600,
    "[] []",
]


@pytest.mark.parametrize("text", NO_JSON)
def test_what_is_no_json_is_refused(text):
    """Also what Python would let pass: NaN, double keys, text after the value."""
    with pytest.raises(ProviderError, match="not JSON"):
        parse_json(text)


def test_strings_come_back_without_controls():
    """Escapes in JSON smuggle nothing in: neither terminal codes nor half
    characters."""
    assert parse_json(r'{"a\u0000": ["x\u001b[31my\u202ez", "\ud800"]}') == {
        "a": ["xyz", "\ufffd"]
    }


def test_an_excerpt_cuts_after_it_has_redacted():
    """A token at the edge is not shown in half."""
    token = "ghp_" + "a1B2c3D4" * 4 + "a1B2"
    assert (
        "ghp_a1" not in excerpt("x" * 60 + " " + token)
        and len(excerpt("y" * 999)) == 80
    )
