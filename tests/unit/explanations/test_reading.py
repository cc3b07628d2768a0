"""The benchmark that reads reasons notices what is wrong with them."""

import numpy as np
import pytest

from reasons import COUNTS, Read
from whyodd.explanations.sentences import Reason
from whyodd.network.committee import DOES_NOT_GO_WITH, FOR_ROWS_LIKE_IT, IN_ITSELF

COLUMN = np.arange(101.0)
FAULTS = ("contradicts", "middle in itself", "badge", "like: inside", "pair: inside", "no value", "bare")


def read(value, kind, direction, judged, told, *, badge=None, low="5", high="95"):
    reason = Reason("v0", value, 50.0, direction, 1.0, 1.0, kind=kind, judged=judged, told=told)
    usual = {"low": low, "high": high}
    return Read(reason, {"judgement": badge or judged, "direction": direction, "usual": usual}, COLUMN)


def too_high(value, **more):
    return read(value, IN_ITSELF, 1, "too high", f"v0 is too high ({value:g}, usually 5 to 95)", **more)


def like(value, direction, judged, told):
    return read(value, FOR_ROWS_LIKE_IT, direction, judged, f"v0 is {judged} ({value:g}, {told})")


def pair(value, direction, told):
    return read(
        value, DOES_NOT_GO_WITH, direction, "at odds with others", f"v0 {value:g} does not go with v1 3{told}"
    )


@pytest.mark.parametrize(
    ("one", "faults"),
    [
        (too_high(99.0), set()),
        (too_high(20.0), {"contradicts", "badge"}),
        (too_high(60.0), {"middle in itself", "badge"}),
        (too_high(99.0, badge="too low"), {"badge"}),
        (too_high(99.0, high="94"), {"badge"}),
        (like(60.0, 1, "high for rows like it", "rows like it have 5 to 10"), set()),
        (like(60.0, 1, "high for rows like it", "rows like it have 70 to 80"), {"badge"}),
        (like(60.0, 0, "in an unusual combination", "rows like it have 50 to 70"), {"like: inside"}),
        (like(60.0, 1, "high for rows like it", "rows like it have 5 to 10.5"), {"no value"}),
        (like(60.0, 1, "high for rows like it", "rows like it have about 7"), set()),
        (pair(60.0, 0, ": such rows have 70 to 80"), set()),
        (pair(60.0, 1, ": such rows have 70 to 80"), {"badge"}),
        (pair(75.0, 0, ": such rows have 70 to 80"), {"pair: inside"}),
        (pair(75.0, 0, ": few rows have both"), set()),
        (read(99.0, IN_ITSELF, 1, "too high", "v0 is too high (99)"), {"bare"}),
        (read(1.0, IN_ITSELF, 0, "unusual", "v0 is 1 (3 % of usual rows have it)"), set()),
    ],
)
def test_faults_are_noticed(one, faults):
    assert {name for name in FAULTS if COUNTS[name](one)} == faults


def test_values_between_the_quartiles_are_counted_with_their_comparison():
    told = like(60.0, 1, "high for rows like it", "rows like it have 5 to 10")
    for one, is_middle, is_compared in [(told, True, True), (too_high(60.0), True, False)]:
        assert bool(COUNTS["middle"](one)) is is_middle
        assert bool(COUNTS["of these compared"](one)) is is_compared
    assert not COUNTS["middle"](too_high(99.0))
