"""What recurs in many explanations, and whether most of the detection rests on it."""

import itertools
import json
from importlib import import_module

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import whyodd
from audit import audited_table, audited_texture
from whyodd.evaluation.audit import average_linkage
from whyodd.evaluation.relevance_profiles import GRID, pooled, usual_level


def rows_explained(rows, **columns):
    """Rows by their squared distance from 0."""
    return whyodd.explain(whyodd.DistanceNetwork(np.zeros((1, rows.shape[1]))), rows, **columns)


def noise(n, d, seed=0):
    return 0.3 * np.random.default_rng(seed).normal(size=(n, d))


def mixed(n=60, d=8):
    """Rows that are odd in one column, each column in as many rows."""
    rows = noise(n, d)
    rows[np.arange(n), np.arange(n) % d] += 5.0
    return rows


def images_explained(images):
    """Pictures by their patches, compared with calm ones."""
    calm = [np.random.default_rng(9).normal(100.0, 5.0, size=(40, 40)) for _ in range(2)]
    model = whyodd.PatchModel(whyodd.KernelDensity(sigma=20.0), patch=(3, 3), max_patches=300, random_state=0)
    return model.fit(calm).explain(images)


def pictures(n, kind, sizes=((40, 40),), seed=0):
    """Calm pictures with a scratch anywhere, a stamp at the upper left, or a frame."""
    rng, made = np.random.default_rng(seed), []
    for _, (height, width) in zip(range(n), itertools.cycle(sizes), strict=False):
        image = rng.normal(100.0, 5.0, size=(height, width))
        if kind == "scratch":
            top, left = rng.integers(height - 4), rng.integers(width - 4)
            image[top : top + 4, left : left + 4] = 200.0
        elif kind == "stamp":
            image[2:6, 3:7] = 200.0
        elif kind == "frame":
            image[[0, -1]] = image[:, [0, -1]] = 200.0
        made.append(image)
    return made


def test_a_column_that_decides_is_named_and_noted():
    rows = mixed()
    rows[:45, 3] += 12.0
    found = whyodd.audit(
        rows_explained(pd.DataFrame(rows, columns=[f"c{i}" for i in range(7)] + ["id_code"]))
    )
    assert found.patterns[0].name == "c3 alone"
    assert found.patterns[0].columns == ("c3",)
    assert len(found.patterns[0]) == 47  # and two of the others
    assert found.patterns[0].held > 0.7
    assert found.note.startswith("47 of 60 odd rows, with ")
    assert "are odd by c3 alone: check that this column should matter" in found.note


def test_two_columns_that_decide_are_named_together():
    rows = mixed()
    rows[:50, 3] += 12.0
    rows[:50, 5] += 11.0
    found = whyodd.audit(rows_explained(rows))
    assert found.patterns[0].name == "x3 together with x5"
    assert "these columns should matter, or leave them out" in found.note


def test_mixed_reasons_raise_no_note():
    found = whyodd.audit(rows_explained(mixed()))
    assert found.note is None
    # As many as are told, and one that gathers the others.
    assert {pattern.name for pattern in found.patterns} == {f"x{c} alone" for c in range(7)} | {
        "different columns"
    }
    assert sum(map(len, found.patterns)) == 60
    assert sum(pattern.share for pattern in found.patterns) == pytest.approx(1.0)


def test_one_row_beyond_all_measure_is_no_pattern_of_the_detection():
    rows = mixed()
    rows[0] = 0.0
    rows[0, 2] = 1e4
    found = whyodd.audit(rows_explained(rows))
    assert found.patterns[0].share > 0.99
    assert found.note is None


@pytest.mark.parametrize("n", [1, 2])
def test_few_rows_have_patterns_but_no_note(n):
    rows = noise(n, 10)
    rows[:, 4] += 9.0
    found = whyodd.audit(rows_explained(rows))
    assert [(pattern.name, len(pattern)) for pattern in found.patterns] == [("x4 alone", n)]
    assert found.note is None


def test_one_column_is_no_choice():
    assert whyodd.audit(rows_explained(noise(50, 1) + 5.0)).note is None


def test_false_alarms_of_the_note_without_structure():
    """Two columns, so that each row is odd by one or the other: by chance one often has more than half."""
    notes = 0
    for seed in range(100):
        rows = noise(21, 2, seed)
        rows[np.arange(21), np.random.default_rng(seed).integers(2, size=21)] += 9.0
        notes += whyodd.audit(rows_explained(rows)).note is not None
    assert notes <= 5  # a hundredth is expected; more than five have a chance of 0.05 %


def test_nothing_stands_out():
    found = whyodd.audit(rows_explained(np.zeros((5, 3))))
    assert found.patterns == ()
    assert found.note is None
    assert found.n_calm == found.n_items == 5
    json.dumps(found.to_dict(), allow_nan=False)


def test_what_speaks_against_oddness_has_no_share():
    e = rows_explained(np.array([[3.0, 0.1, 0.1]] * 8))
    signed = type(e)(**{**vars(e), "relevance": e.relevance * [1.0, -9.0, 1.0]})
    found = whyodd.audit(signed)
    assert found.patterns[0].name == "x0 alone"
    assert found.patterns[0].profile[1] == 0.0


@given(st.integers(0, 2**32 - 1))
def test_the_order_of_rows_does_not_matter(seed):
    rows = mixed(24, 5)
    rows[:16, 1] += 10.0
    order = np.random.default_rng(seed).permutation(24)
    one, other = whyodd.audit(rows_explained(rows)), whyodd.audit(rows_explained(rows[order]))
    assert one.note == other.note or one.note.split("examples")[0] == other.note.split("examples")[0]
    for a, b in zip(one.patterns, other.patterns, strict=True):
        assert (a.name, a.share, len(a)) == (b.name, b.share, len(b))
        np.testing.assert_array_equal(a.members, order[b.members])
        np.testing.assert_array_equal(a.profile, b.profile)


def test_many_rows_join_the_patterns_of_some(monkeypatch):
    rows = mixed(90)
    rows[:60, 3] += 12.0
    e = rows_explained(rows)
    whole = whyodd.audit(e)
    monkeypatch.setattr(import_module("whyodd.evaluation.audit"), "_COMPARED", 40)
    part = whyodd.audit(e)
    assert part.note == whole.note
    assert set(part.patterns[0].members) == set(whole.patterns[0].members)


def plain_linkage(alike):
    """Merge the two groups most alike on average until none have half in common."""
    groups = [[i] for i in range(len(alike))]
    while len(groups) > 1:
        pairs = list(itertools.combinations(range(len(groups)), 2))
        means = [np.mean([alike[i, j] for i in groups[a] for j in groups[b]]) for a, b in pairs]
        if max(means) < 0.5:
            break
        a, b = pairs[int(np.argmax(means))]
        groups[a] += groups.pop(b)
    return {frozenset(group) for group in groups}


@given(st.integers(2, 9), st.integers(0, 2**32 - 1))
def test_groups_are_those_of_a_plain_loop(n, seed):
    half = np.triu(np.random.default_rng(seed).random((n, n)), 1)
    alike = half + half.T + np.eye(n)
    labels = average_linkage(alike)
    found = {frozenset(np.flatnonzero(labels == label).tolist()) for label in labels}
    assert found == plain_linkage(alike)


@given(st.integers(1, 50), st.integers(1, 50), st.integers(0, 2**32 - 1))
def test_pooling_keeps_all_relevance(height, width, seed):
    heat = np.random.default_rng(seed).random((height, width))
    cells = pooled(heat)
    assert cells.shape == (GRID, GRID)
    np.testing.assert_allclose(cells.sum(), heat.sum(), rtol=1e-12)
    # The left half stays the left half, whatever the size.
    np.testing.assert_allclose(
        cells[:, : GRID // 2].sum(),
        heat[:, : width // 2].sum() + (width % 2) * heat[:, width // 2].sum() / 2,
        rtol=1e-12,
    )


def test_usual_level_is_not_moved_by_a_few_places():
    density = np.random.default_rng(0).normal(10.0, 1.0, size=(4, GRID, GRID))
    stamped = density.copy()
    stamped[:, :2, :2] = 1e6
    assert usual_level(density) == pytest.approx(13.0, abs=0.3)
    assert usual_level(stamped) == pytest.approx(usual_level(density), abs=0.2)


SIZES = [((40, 40),), ((40, 40), (32, 52), (56, 36))]


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize(("kind", "name"), [("stamp", "the upper left corner"), ("frame", "the border")])
def test_a_stamp_and_a_frame_are_named_and_noted(kind, name, sizes):
    found = whyodd.audit(images_explained(pictures(9, kind, sizes)))
    assert found.patterns[0].name.startswith(name)
    assert len(found.patterns[0]) == 9
    assert found.patterns[0].profile.shape == (GRID, GRID)
    assert found.note.startswith("In 9 of 9 images most of the relevance above usual (")
    assert ("about row 3, column 5" in found.note) == (kind == "stamp" and len(sizes) == 1)


@pytest.mark.parametrize("sizes", SIZES)
def test_scratches_anywhere_raise_no_note(sizes):
    found = whyodd.audit(images_explained(pictures(16, "scratch", sizes)))
    assert found.note is None
    assert "different places" in [pattern.name for pattern in found.patterns]


@pytest.mark.parametrize("n", [1, 2])
def test_few_images_raise_no_note(n):
    found = whyodd.audit(images_explained(pictures(n, "stamp")))
    assert [len(pattern) for pattern in found.patterns] == [n]
    assert found.note is None


def test_the_order_of_images_does_not_matter():
    images = [*pictures(6, "stamp"), *pictures(5, "scratch")]
    one, other = (whyodd.audit(images_explained(each)) for each in (images, images[::-1]))
    assert [(p.name, p.share, p.held) for p in one.patterns] == [
        (p.name, p.share, p.held) for p in other.patterns
    ]
    for a, b in zip(one.patterns, other.patterns, strict=True):
        np.testing.assert_array_equal(a.members, 10 - b.members)


def test_findings_tell_it_everywhere(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(400, 6)), columns=[*"abcde", "id <code>"])
    frame.loc[:29, "id <code>"] += 12.0
    found = whyodd.find(frame[:130], train=frame[130:])
    note = found.audit().note
    assert "are odd by id <code> alone" in note
    told = found.to_dict(5)
    json.dumps(told, allow_nan=False)
    assert told["rests_on"]["note"] == note
    assert told["rests_on"]["patterns"][0]["name"] == "id <code> alone"
    panel = next(
        panel for panel in told["trust"]["panels"] if panel["title"] == "What the detection rests on"
    )
    assert (panel["verdict"], panel["sentence"]) == ("fair", note)
    found.report(tmp_path / "page.html", top=5)
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "id &lt;code&gt; alone" in page
    assert "id <code> alone" not in page
    assert "id &lt;code&gt; alone" in found.audit()._repr_html_()


def test_findings_of_images_tell_it(tmp_path):
    found = whyodd.Findings.of(images_explained(pictures(9, "frame")))
    told = found.to_dict(3)
    assert found.audit().note == told["rests_on"]["note"] is not None
    assert "What the detection rests on" in [panel["title"] for panel in told["trust"]["panels"]]
    found.report(tmp_path / "page.html", top=3)


def test_only_the_odd_rows_are_looked_at():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 5))
    X[:12, 2] += 9.0
    e = whyodd.explain(whyodd.KernelDensity().fit(X[12:]), X)
    assert 0 < e.is_odd.sum() < 100
    found = whyodd.audit(e)
    assert found.n_items == e.is_odd.sum()
    assert e.is_odd[np.concatenate([pattern.members for pattern in found.patterns])].all()


def test_views():
    found = whyodd.audit(rows_explained(mixed(30, 4)))
    frame = found.to_frame()
    assert list(frame.columns) == ["pattern", "share", "items", "held", "examples"]
    assert len(frame) == len(found.patterns)
    assert repr(found).startswith("<What the detection of 30 rows rests on\n ")
    assert found.patterns[0].examples[0] == f"row {found.patterns[0].members[0]}"


def test_what_cannot_be_audited():
    with pytest.raises(TypeError, match="Expected findings or an explanation to audit, got list"):
        whyodd.audit([1.0])
    model = whyodd.PatchModel(whyodd.KernelDensity(sigma=1.0), patch=(4,)).fit([noise(50, 1)])
    with pytest.raises(
        TypeError, match="Expected an explanation of table rows or images to audit, got one of series"
    ):
        whyodd.audit(model.explain([noise(50, 1)]))


@pytest.mark.data
def test_a_leaking_column_of_a_real_table(data_dir):  # noqa: ARG001
    assert "leak alone" in audited_table("29_Pima", "leak").note
    assert audited_table("29_Pima", "clean").note is None


@pytest.mark.data
@pytest.mark.parametrize(
    ("kind", "name"), [("clean", None), ("stamp", "the lower right corner"), ("frame", "at the border")]
)
def test_real_textures(data_dir, kind, name):
    note = audited_texture(data_dir / "dtd_textures" / "bubbly_0038.jpg", kind).note
    assert note is None if name is None else name in note
