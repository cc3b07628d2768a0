"""Texts and dicts: terms and keys as variables."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_extraction import DictVectorizer
from sklearn.feature_extraction.text import (
    CountVectorizer,
    HashingVectorizer,
    TfidfTransformer,
    TfidfVectorizer,
)
from sklearn.feature_selection import SelectKBest, chi2
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    Normalizer,
    OrdinalEncoder,
    StandardScaler,
)

import whyodd
from reference.traced import column_squares, linear_squares
from whyodd.adapters.tracing import UntraceableStepError, raw_values, trace

TEXTS = ["the cat sat", "the dog sat sat down", "a cat and a dog", "down the road", "road to the dog"]
REVIEWS = pd.DataFrame(
    {"stars": [1.0, 5.0, 4.0, 2.0, 3.0], "comment": TEXTS, "title": ["cat", "dog", "cat dog", "road", "dog"]}
)


def words(texts):
    return sorted({word for text in texts for word in text.split() if len(word) > 1})


def counts(texts):
    return np.array([[text.split().count(word) for word in words(texts)] for text in texts], dtype=float)


class TestNames:
    def test_terms_alone(self):
        found = trace([("count", CountVectorizer().fit(TEXTS))], ("text",))
        assert found.names == tuple(words(TEXTS))
        assert found.column.tolist() == [0] * len(found.names)

    def test_terms_in_the_place_of_their_column(self):
        columns = ColumnTransformer(
            [("t", CountVectorizer(), "title"), ("c", CountVectorizer(max_features=2), "comment")],
            remainder="passthrough",
        ).fit(REVIEWS)
        found = trace([("columns", columns)], REVIEWS.columns)
        assert found.names == (
            "stars",
            "comment: dog",
            "comment: the",
            "title: cat",
            "title: dog",
            "title: road",
        )
        assert found.column.tolist() == [0, 1, 1, 2, 2, 2]
        owners = [found.names[i] for i in found.origin]
        assert owners == ["title: cat", "title: dog", "title: road", "comment: dog", "comment: the", "stars"]

    def test_terms_that_are_not_selected_are_no_variables(self):
        steps = make_pipeline(CountVectorizer(), SelectKBest(chi2, k=3)).fit(TEXTS, [0, 1, 0, 1, 1])
        kept = [word for word, keep in zip(words(TEXTS), steps[1].get_support(), strict=True) if keep]
        assert trace(steps.steps, ("text",)).names == tuple(kept)

    def test_column_that_is_used_as_a_whole_too(self):
        columns = ColumnTransformer(
            [("t", CountVectorizer(), "title"), ("o", OrdinalEncoder(), ["title"])], sparse_threshold=0
        ).fit(REVIEWS)
        found = trace([("columns", columns)], REVIEWS.columns)
        assert found.names == ("stars", "comment", "title", "title: cat", "title: dog", "title: road")
        codes, values = found.decode(columns.transform(REVIEWS)).categories[2]
        assert [values[code] for code in codes] == REVIEWS["title"].tolist()

    def test_term_counted_by_two_vectorizers_is_one_variable(self, relevance):
        union = FeatureUnion([("a", CountVectorizer()), ("b", CountVectorizer(binary=True))]).fit(TEXTS)
        found = trace([("union", union)], ("text",))
        assert found.names == tuple(words(TEXTS))
        Z = union.transform(TEXTS).toarray()
        expected = [column_squares(z, Z[0], words(TEXTS) * 2, words(TEXTS)) for z in Z]
        np.testing.assert_allclose(relevance(found, Z, Z[0]), expected)
        np.testing.assert_array_equal(read(found, Z), counts(TEXTS))


def read(found, Z):
    decoded = found.decode(Z)
    return np.column_stack([decoded.numbers[variable] for variable in range(len(found.names))])


class TestWayBack:
    @pytest.mark.parametrize(
        "vectorizer",
        [CountVectorizer(), TfidfVectorizer(norm=None), TfidfVectorizer(norm=None, sublinear_tf=True)],
    )
    @pytest.mark.parametrize("kind", [sparse.csr_array, lambda Z: Z.toarray()])
    def test_counts(self, vectorizer, kind):
        Z = kind(vectorizer.fit_transform(TEXTS))
        np.testing.assert_allclose(read(trace([("v", vectorizer)], ("text",)), Z), counts(TEXTS), atol=1e-12)

    @pytest.mark.parametrize(
        "steps", [[TfidfVectorizer()], [CountVectorizer(), TfidfTransformer(), MaxAbsScaler()]]
    )
    def test_tf_idf_gives_frequencies_up_to_the_norm_of_the_row(self, steps):
        steps = make_pipeline(*steps).fit(TEXTS)
        got = read(trace(steps.steps, ("text",)), steps.transform(TEXTS))
        expected = counts(TEXTS)
        ratio = got.max(axis=1, keepdims=True) / expected.max(axis=1, keepdims=True)
        np.testing.assert_allclose(got, expected * ratio, atol=1e-12)

    def test_text_in_lower_case_before(self):
        def lower(texts):
            return [text.lower() for text in texts]

        steps = make_pipeline(FunctionTransformer(lower, feature_names_out="one-to-one"), CountVectorizer())
        steps.fit([text.upper() for text in TEXTS])
        np.testing.assert_array_equal(
            read(trace(steps.steps, ("text",)), steps.transform(TEXTS)), counts(TEXTS)
        )

    def test_values_to_show(self):
        columns = ColumnTransformer([("t", CountVectorizer(), "title"), ("s", StandardScaler(), ["stars"])])
        Z = columns.fit_transform(REVIEWS)
        found = trace([("columns", columns)], REVIEWS.columns)
        shown = found.values(raw_values(REVIEWS)[1], Z)
        assert shown[2].tolist() == [4.0, "a cat and a dog", 1.0, 1.0, 0.0]
        alone = trace([("count", CountVectorizer().fit(TEXTS))], ("text",))
        Z = CountVectorizer().fit_transform(TEXTS)
        values = alone.values(raw_values(TEXTS)[1], Z)
        assert values.dtype == np.float64
        np.testing.assert_array_equal(values, counts(TEXTS))


class TestLinearMaps:
    def test_latent_semantic_analysis_with_normalizer(self, relevance):
        steps = make_pipeline(TfidfVectorizer(), TruncatedSVD(2, random_state=0), Normalizer()).fit(TEXTS)
        Z = steps.transform(TEXTS)
        found = trace(steps.steps, ("text",))
        names = words(TEXTS)
        expected = [linear_squares(steps[1].components_, z, Z[0], names, names) for z in Z]
        np.testing.assert_allclose(relevance(found, Z, Z[0]), expected, rtol=1e-8, atol=1e-12)

    def test_normalizer_after_centering_is_refused(self):
        steps = make_pipeline(CountVectorizer(), PCA(2), Normalizer()).fit(TEXTS)
        with pytest.raises(UntraceableStepError, match=r"'normalizer' \(Normalizer\).*mixes and centers"):
            trace(steps.steps, ("text",))

    def test_normalizer_after_a_scaler_that_centers_is_refused(self):
        steps = make_pipeline(CountVectorizer(), TruncatedSVD(2), StandardScaler(), Normalizer()).fit(TEXTS)
        with pytest.raises(UntraceableStepError, match="mixes and centers"):
            trace(steps.steps, ("text",))

    def test_explain(self):
        steps = make_pipeline(TfidfVectorizer(), TruncatedSVD(3, random_state=0), whyodd.OneClassSVM())
        e = whyodd.explain(steps.fit(TEXTS), ["the cat cat sat", "down the road"], exclude_self=False)
        assert e.feature_names == tuple(words(TEXTS))
        np.testing.assert_allclose(e.relevance.sum(axis=1) + e.unexplained, e.outlierness, rtol=1e-9)


class TestDicts:
    ROWS = ({"city": "Bonn", "age": 3.0}, {"city": "Ulm", "age": 4.0}, {"age": 2.0, "city": "Kiel"})

    def test_keys_are_variables(self):
        vectorizer = DictVectorizer().fit(self.ROWS)
        found = trace([("dicts", vectorizer)], ("text",))
        assert found.names == ("age", "city")
        Z = vectorizer.transform([*self.ROWS, {"age": 1.0}])
        decoded = found.decode(Z)
        assert decoded.numbers[0].tolist() == [3.0, 4.0, 2.0, 1.0]
        codes, values = decoded.categories[1]
        assert [values[code] if code >= 0 else None for code in codes] == ["Bonn", "Ulm", "Kiel", None]
        shown = found.values(raw_values(list(self.ROWS))[1], Z[:3])
        assert shown.tolist() == [[3.0, "Bonn"], [4.0, "Ulm"], [2.0, "Kiel"]]


def test_vectorizer_of_several_columns_is_refused():
    with pytest.raises(UntraceableStepError, match="reads one text column, but gets 2 columns"):
        trace([("count", CountVectorizer().fit(TEXTS))], ("a", "b"))


def test_hashes_are_numbered():
    found = trace([("hash", HashingVectorizer(n_features=4))], ("text",))
    assert found.names == ("hash 0", "hash 1", "hash 2", "hash 3")


def test_large_vocabulary_stays_sparse_on_the_way():
    n_terms = 30_000
    Z = sparse.random_array((50, n_terms), density=1e-3, format="csr", rng=np.random.default_rng(0))
    scaler = MaxAbsScaler().fit(Z)
    found = trace([("scale", scaler)], [f"t{i}" for i in range(n_terms)])
    decoded = found.decode(scaler.transform(Z))
    np.testing.assert_allclose(decoded.numbers[7], Z[:, [7]].toarray()[:, 0])
