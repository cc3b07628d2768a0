"""What is said before a model is believed: nothing odd, or too much of it."""

import numpy as np
import pandas as pd
import pytest

import whyodd


def numbers(n, seed=0):
    return pd.DataFrame(np.random.default_rng(seed).normal(size=(n, 3)), columns=["a", "b", "c"])


def chance(found):
    return [note for note in found.notes if "chance" in note]


def test_a_table_with_nothing_odd_says_so():
    found = whyodd.find(numbers(2000))
    (note,) = chance(found)
    assert note.startswith(
        f"{found.n_odd} of 2,000 rows are above the threshold, about as many as chance alone"
    )
    assert "(20)" in note
    assert note.endswith("these are the oddest of frame, but nothing needs to be wrong with it.")


def test_a_gross_value_is_no_chance():
    frame = numbers(2000)
    frame.loc[3, "b"] = 50.0
    assert not chance(whyodd.find(frame))


def test_drift_is_told_with_its_columns():
    moved = numbers(500, seed=1).assign(b=lambda frame: frame["b"] + 4.0)
    (note,) = chance(whyodd.find(moved, train=numbers(1000)))
    assert note.startswith("Far more rows are odd than the model allows: ")
    assert "Columns whose values shifted: b (up; " in note
    assert "a (" not in note


@pytest.mark.parametrize("seed", range(3))
def test_new_rows_of_the_same_kind_are_no_drift(seed):
    found = whyodd.find(numbers(500, seed=seed + 1), train=numbers(1000))
    assert not any("Far more" in note for note in found.notes)


@pytest.mark.parametrize("names", [["a", "b", "c"], [0, 1, 2]], ids=["texts", "numbers"])
def test_copies_are_told_whatever_columns_are_called(names):
    frame = pd.concat([numbers(300), numbers(6)], ignore_index=True).set_axis(names, axis=1)
    assert "12 rows have an exact copy in frame." in whyodd.find(frame).notes


def test_values_of_a_single_column_are_no_copies():
    assert not any("copy" in note for note in whyodd.find(numbers(300)[["a"]].round(1)).notes)
