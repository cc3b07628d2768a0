"""Kernels by name: those of the registry, with what a name fixes."""

import numpy as np
import pytest

import whyodd
from whyodd.kernels import KERNELS, SPECIAL_KERNELS, Exponential, RationalQuadratic, Student
from whyodd.models.bandwidth.kernel_choice import choose_kernel


def chosen(name, q=None, a=3.0):
    return choose_kernel(name, q=q, a=a, sigma=lambda: 0.5)


@pytest.mark.parametrize(
    ("name", "kernel"),
    [
        ("cauchy", Student(q=2.0, a=3.0, sigma=0.5)),
        ("exponential", Exponential(q=2.0, sigma=0.5)),
        ("gaussian", Exponential(q=2.0, sigma=0.5)),
        ("laplacian", Exponential(q=1.0, sigma=0.5)),
        ("rational_quadratic", RationalQuadratic(beta=1.0, sigma=0.5)),
        ("student", Student(q=2.0, a=3.0, sigma=0.5)),
    ],
)
def test_names_mean_kernels(name, kernel):
    assert chosen(name) == kernel


def test_every_registered_name_is_one():
    assert all(chosen(name) for name in {**KERNELS, **SPECIAL_KERNELS})


def test_a_degree_that_is_free_is_taken():
    assert chosen("student", q=3.0) == Student(q=3.0, a=3.0, sigma=0.5)
    assert chosen("gaussian", q=2.0) == chosen("gaussian")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("gaussian", r"^kernel='gaussian' has q=2, got q=3.0. Use kernel='exponential' for it.$"),
        ("rational_quadratic", r"^kernel='rational_quadratic' has q=2, got q=3.0.$"),
    ],
)
def test_a_degree_that_is_fixed_is_an_error(name, message):
    with pytest.raises(ValueError, match=message):
        chosen(name, q=3.0)


@pytest.mark.full
def test_a_model_takes_the_rational_quadratic_by_its_name():
    X = np.random.default_rng(0).normal(size=(100, 2))
    model = whyodd.OneClassSVM("rational_quadratic", sigma="median").fit(X)
    assert isinstance(model.kernel_, RationalQuadratic)
    assert list(model.predict([[0.0, 0.0], [9.0, 0.0]])) == [1, -1]
