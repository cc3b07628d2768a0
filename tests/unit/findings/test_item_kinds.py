"""Who looks for what is odd: told from what people pass, or by name."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import whyodd
from made_up.images import grain, scratched
from whyodd.findings.findings import Findings
from whyodd.findings.item_kinds import kind_of
from whyodd.findings.series import SeriesFindings
from whyodd.images import ImageExplanation
from whyodd.texts.explanation import TextExplanation

IMAGES = [*(grain(seed, (48, 48)) for seed in range(6)), scratched(20, (48, 48))]
TEXTS = [f"the {a} is {b}" for a in ("pump", "valve", "motor") for b in ("open", "shut", "warm", "cold")]
FRAME = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 2)), columns=["a", "b"])


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (IMAGES, "images"),
        (tuple(IMAGES), "images"),
        (np.stack(IMAGES), "images"),
        (np.zeros((2, 9, 9, 3)), "images"),
        (TEXTS, "texts"),
        (np.array(TEXTS), "texts"),
        (pd.Series(TEXTS), "texts"),
        (pl.Series(TEXTS), "texts"),
        (FRAME, "table"),
        (pl.from_pandas(FRAME), "table"),
        (FRAME.to_numpy(), "table"),
        ([[1.0, 2.0], [3.0, 4.0]], "table"),
        ([], "table"),
    ],
)
def test_what_data_look_like(data, kind):
    assert kind_of(data, None, None) == kind


def test_images():
    found = whyodd.find(IMAGES, model=whyodd.ImageDetector("contrast", centers=200))
    assert isinstance(found.explanation, ImageExplanation)
    assert int(found.order[0]) == 6
    again = whyodd.find(IMAGES[-1:], model=found.model, top=1)
    assert len(again) == 1


def test_texts():
    found = whyodd.find([*TEXTS, "YOU ARE ALL MORONS"], TEXTS, top=3)
    assert isinstance(found.explanation, TextExplanation)
    assert int(found.order[0]) == len(TEXTS)


def test_a_series_must_be_named():
    assert isinstance(whyodd.find(FRAME, kind="series"), SeriesFindings)
    found = whyodd.find(FRAME)
    assert type(found) is Findings
    assert isinstance(found.explanation, whyodd.Explanation)


def test_a_model_says_what_it_judges():
    model = whyodd.SeriesDetector(trusted=True).fit(FRAME)
    assert isinstance(whyodd.find(FRAME, model=model), SeriesFindings)
    with pytest.raises(ValueError, match="kind='images', but a SeriesDetector judges series"):
        whyodd.find(FRAME, model=model, kind="images")


def test_wrong_kind():
    with pytest.raises(
        ValueError, match="kind='image': expected one of 'table', 'images', 'series', 'texts'"
    ):
        whyodd.find(IMAGES, kind="image")


@pytest.mark.parametrize(
    "option",
    [
        {"fdr": 0.1},
        {"groups": {"g": ["a"]}},
        {"types": {"a": "number"}},
        {"id_column": "a"},
        {"method": "gradient"},
    ],
)
@pytest.mark.parametrize(("data", "kind"), [(IMAGES, "images"), (TEXTS, "texts"), (FRAME, "series")])
def test_options_of_tables(option, data, kind):
    with pytest.raises(ValueError, match=f"{next(iter(option))}: only for tables, got {kind}"):
        whyodd.find(data, kind=kind, **option)
