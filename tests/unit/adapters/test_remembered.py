"""A model is neuralized once, and again as soon as it is another one."""

import copy
import gc
import pickle
import threading
import weakref

import numpy as np
import pytest
from pyod.models.ocsvm import OCSVM
from scipy import sparse
from sklearn.cluster import KMeans, MiniBatchKMeans
from sklearn.neighbors import KernelDensity, NearestNeighbors
from sklearn.svm import OneClassSVM

import whyodd
from whyodd.adapters.remembered import State, _entries, remembered

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
OTHER = RNG.normal(size=(60, 3)) + 1.0


def assert_new(model, before):
    """What is made of the model now is not what was made of it before, but what is made of a fresh copy."""
    now = whyodd.neuralize(model)
    assert now is not before
    fresh = whyodd.neuralize(pickle.loads(pickle.dumps(model)))
    np.testing.assert_array_equal(now.outlierness(OTHER), fresh.outlierness(OTHER))
    assert whyodd.neuralize(model) is now


@pytest.mark.parametrize(
    "model",
    [OneClassSVM(), KMeans(3, random_state=0), KernelDensity(), NearestNeighbors(), OCSVM()],
    ids=lambda model: type(model).__name__,
)
def test_is_made_once(model):
    model.fit(X)
    network = whyodd.neuralize(model)
    assert whyodd.neuralize(model) is network
    assert whyodd.explain(model, X[:2]).network is network


def test_own_models_have_their_network_themselves():
    model = whyodd.OneClassSVM().fit(X)
    assert whyodd.neuralize(model) is model.network_
    assert id(model) not in _entries


class TestStale:
    def test_fitted_again(self):
        model = OneClassSVM().fit(X)
        before = whyodd.neuralize(model)
        assert_new(model.fit(OTHER), before)

    def test_fitted_again_to_the_same_rows_is_the_same(self):
        model = OneClassSVM().fit(X)
        before = whyodd.neuralize(model)
        assert whyodd.neuralize(model.fit(X)) is before

    def test_fitted_further_in_place(self):
        model = MiniBatchKMeans(3, random_state=0, n_init=1).partial_fit(X)
        before = whyodd.neuralize(model)
        assert_new(model.partial_fit(OTHER), before)

    def test_with_other_parameters(self):
        model = OneClassSVM(gamma=0.1).fit(X)
        before = whyodd.neuralize(model)
        assert_new(model.set_params(gamma=1.0).fit(X), before)

    def test_an_attribute_replaced(self):
        model = KMeans(3, random_state=0, n_init=1).fit(X)
        before = whyodd.neuralize(model)
        model.cluster_centers_ = model.cluster_centers_ + 1.0
        assert_new(model, before)

    def test_an_array_changed_in_place(self):
        model = KMeans(3, random_state=0, n_init=1).fit(X)
        before = whyodd.neuralize(model)
        model.cluster_centers_[0, 0] += 1e-12
        assert_new(model, before)

    def test_the_rows_of_an_array_in_another_order(self):
        model = OneClassSVM().fit(X)
        before = whyodd.neuralize(model)
        model.support_vectors_[:] = model.support_vectors_[::-1].copy()
        assert_new(model, before)

    def test_a_sparse_matrix_changed_in_place(self):
        model = OneClassSVM(gamma=0.5).fit(sparse.csr_matrix(X))
        before = whyodd.neuralize(model)
        model.support_vectors_.data[0] += 1.0
        assert_new(model, before)

    def test_a_model_inside_the_model_fitted_again(self):
        model = OCSVM().fit(X)
        before = whyodd.neuralize(model)
        model.detector_.fit(OTHER)
        assert_new(model, before)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
def test_a_copy_is_a_model_of_its_own(copied):
    model = KMeans(3, random_state=0, n_init=1).fit(X)
    before, other = whyodd.neuralize(model), copied(model)
    assert whyodd.neuralize(other) is not before
    other.fit(OTHER)
    assert whyodd.neuralize(model) is before


def test_goes_with_its_model():
    model = OneClassSVM().fit(X)
    network, key = weakref.ref(whyodd.neuralize(model)), id(model)
    assert key in _entries
    del model
    gc.collect()
    assert key not in _entries
    assert network() is None


def test_what_a_model_held_before_is_not_held_on_to():
    model = KMeans(3, random_state=0, n_init=1).fit(X)
    whyodd.neuralize(model)
    before = weakref.ref(model.cluster_centers_)
    model.fit(OTHER)
    assert before() is None


def test_a_number_that_is_used_again_is_not_taken_for_the_old_object():
    class Model:
        def __init__(self):
            self.part = threading.Event()

    model = Model()
    state = State.of(model)
    assert state.is_that_of(State.of(model))
    model.part = None
    assert not state.is_that_of(state)  # the part is gone, whatever has its number now


def test_a_model_that_refers_to_itself():
    model = OneClassSVM().fit(X)
    model.parent_ = model
    model.friends_ = [model, {"me": model}]
    assert whyodd.neuralize(model) is whyodd.neuralize(model)
    gone = weakref.ref(model)
    del model
    gc.collect()
    assert gone() is None


def test_what_cannot_be_watched_is_made_each_time():
    class Slotted:
        __slots__ = ("__dict__",)

    model = Slotted()
    assert remembered(model, lambda _: object()) is not remembered(model, lambda _: object())


def test_threads_get_what_fits():
    models = [KMeans(3, random_state=i, n_init=1).fit(X + i) for i in range(4)]
    wanted = [model.transform(OTHER).min(axis=1) for model in models]
    failures = []

    def work(i):
        for _ in range(20):
            found = whyodd.neuralize(models[i]).outlierness(OTHER)
            failures.extend([] if np.allclose(found, wanted[i]) else [i])

    threads = [threading.Thread(target=work, args=(i % 4,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
