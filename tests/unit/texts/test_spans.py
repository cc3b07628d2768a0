"""Words that people marked as toxic are told from others by their relevance."""

import numpy as np
import pytest

import whyodd
from spans import OURS, PAPER, areas, interval, marked_posts, neutral_comments

# The model of real comments takes a while.
pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def found(data_dir):
    comments = neutral_comments(data_dir)
    models = {OURS: whyodd.TextModel().fit(comments), PAPER: whyodd.TextModel(paper=True).fit(comments)}
    return areas(models, marked_posts(data_dir, "trial"))


@pytest.mark.data
def test_relevance_finds_the_marked_words(found):
    assert found[OURS].size > 600
    assert found[OURS].mean() >= 0.82


@pytest.mark.data
@pytest.mark.parametrize("method", ["nearest comment", "random"])
def test_clearly_ahead(found, method):
    assert interval(found[OURS] - found[method])[0] > 0.1


@pytest.mark.data
@pytest.mark.parametrize("method", ["idf", "sensitivity", PAPER])
def test_not_behind(found, method):
    assert np.mean(found[OURS] - found[method]) > -0.01
