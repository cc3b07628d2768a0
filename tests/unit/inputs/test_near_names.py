"""What people may have meant."""

import pytest

from whyodd.inputs.near_names import did_you_mean, near_name, renamed

NAMES = ["order_id", "weight_kg", "Street Name", "a", "b"]


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("Order_ID", "order_id"),
        ("orderid", "order_id"),
        (" weight_kg ", "weight_kg"),
        ("wieght_kg", "weight_kg"),
        ("street_name", "Street Name"),
        ("height", None),
        ("c", None),
        ("", None),
    ],
)
def test_names_that_are_almost_the_same(name, near):
    assert near_name(name, NAMES) == near
    assert did_you_mean(name, NAMES) == ("" if near is None else f" Did you mean {near!r}?")


def test_what_is_known_already_is_not_renamed():
    assert renamed(["temp2"], ["temp1"], ["temp1", "temp2"]) == ""
    assert renamed(["a", "b"], ["c"], ["a", "b"]) == ""
