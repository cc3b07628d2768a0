"""Compiled code is what these tests are about: none of it is left to NumPy."""

import pytest


@pytest.fixture(scope="module", autouse=True)
def _all_compiled(compiled_only):
    pass
