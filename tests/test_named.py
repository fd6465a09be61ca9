"""Named tuples made cheaply behave as those of `typing`."""

import pickle
import typing

import pytest

from memcli import named


def _made(base):
    class Pair(base):  # type: ignore[misc]
        """Two and one."""

        first: int
        second: "str" = ""
        third: tuple[int, ...] = ()

        @property
        def both(self):
            return f"{self.first}{self.second}"

    return Pair


@pytest.mark.unit
@pytest.mark.parametrize("base", [typing.NamedTuple, named.NamedTuple])
def test_it_is_a_tuple_with_names(base):
    pair = _made(base)
    for number in (0, 99):
        one = pair(number, "x")
        other = pair(first=number, third=(1,))
        assert one == (number, "x", ()) and other == (number, "", (1,)) and one != other
        assert (one.both, other[2], one._replace(first=7).first) == (
            f"{number}x",
            (1,),
            7,
        )
        assert one._asdict() == {"first": number, "second": "x", "third": ()}
        assert pair._make([number, "x", ()]) == one and pair(*one) == one
        assert repr(pair(0)) == "Pair(first=0, second='', third=())"
        for args, given in (
            ((), {}),
            ((1, "", (), 4), {}),
            ((1,), {"first": 1}),
            ((1,), {"x": 1}),
        ):
            with pytest.raises(TypeError):
                pair(*args, **given)
    with pytest.raises(TypeError):
        pair._make([1])
    with pytest.raises((TypeError, ValueError)):
        pair(1)._replace(x=1)
    assert (pair._fields, pair.__doc__) == (
        ("first", "second", "third"),
        "Two and one.",
    )
    match pair(1, "y"):
        case pair(first, second):
            assert (first, second) == (1, "y")


@pytest.mark.parametrize("base", [typing.NamedTuple, named.NamedTuple])
def test_a_field_may_be_named_as_what_a_constructor_uses(base):
    class Change(base):  # type: ignore[misc]
        cls: str
        new: str

    assert Change(cls="a", new="b") == ("a", "b")


def test_it_travels():
    """To another process, as `pickle` has it."""
    from memcli.memory.values import Place

    place = Place("job", "memory", "j")
    assert (
        pickle.loads(pickle.dumps(place)) == place and type(place).__name__ == "Place"
    )
