"""What commands do not load: imports and compiled code that a small table needs not."""

import subprocess
import sys

import pytest
from sklearn.datasets import load_wine

from whyodd.io.imports_on_demand import IN_PARTS, WHOLE

HEAVY = ("numba", "llvmlite", "scipy.stats._stats_py", "scipy.optimize._optimize", "sklearn.neighbors._base")


def loaded(code, *arguments, cwd=None):
    """Names of the modules that are there after ``code`` in a new process."""
    code = f"import atexit, sys; atexit.register(lambda: print('LOADED', *sys.modules)); {code}"
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False, cwd=cwd
    )
    assert done.returncode == 0, done.stderr
    return set(done.stdout.rpartition("LOADED")[2].split())


RUN = "from whyodd.cli.app import main; main()"


def test_import_whyodd_loads_next_to_nothing():
    assert not loaded("import whyodd") & {*HEAVY, "numpy", "sklearn", "scipy", "polars"}


def test_help_loads_no_arithmetic():
    assert not loaded(RUN, "--help") & {*HEAVY, "numpy", "scipy", "sklearn", "polars", "pandas"}


def test_the_demo_loads_no_compiled_code(tmp_path):
    modules = loaded(RUN, "demo", cwd=tmp_path)
    # A support vector machine of scikit-learn brings scipy.optimize, but not what is in it.
    assert not modules & set(HEAVY)


def test_a_small_table_is_explained_without_compiled_code(tmp_path):
    wine = load_wine(as_frame=True).data
    wine.to_csv(tmp_path / "wine.csv", index=False)
    others = {
        "whyodd.images.detector",
        "whyodd.series.detector",
        "whyodd.texts.model",
        "whyodd.adapters.registry",
    }
    assert not loaded(RUN, "explain", "wine.csv", cwd=tmp_path) & {*HEAVY, *others, "jinja2", "matplotlib"}


ON_DEMAND = "from whyodd.io.imports_on_demand import import_on_demand; import_on_demand(); "


@pytest.mark.parametrize("package", sorted(WHOLE | IN_PARTS))
def test_packages_that_wait_have_the_names_they_have(package):
    code = f"import {package}; names = {{*dir({package})}} | {{*{package}.__all__}}"
    shown = f"{code}; print('NAMES', *(name for name in names if name[0] != '_'), end=' NAMES')"
    usual, waiting = (
        subprocess.run([sys.executable, "-c", how + shown], capture_output=True, text=True, check=True).stdout
        for how in ("", ON_DEMAND)
    )
    assert set(usual.split("NAMES")[1].split()) == set(waiting.split("NAMES")[1].split())


@pytest.mark.parametrize(
    "code",
    [
        "from scipy.stats import rankdata; assert list(rankdata([3, 1])) == [2, 1]",
        "import scipy.stats; assert scipy.stats.norm.cdf(0) == 0.5",
        "from scipy import stats; import scipy.stats.distributions as d; assert d.norm is stats.norm",
        "from scipy.stats.distributions import norm; import scipy.stats; assert norm is scipy.stats.norm",
        "from scipy.optimize import brentq, linprog; assert abs(brentq(lambda x: x - 1, 0, 3) - 1) < 1e-9",
        "import scipy.optimize._highspy._highs_wrapper; import scipy.interpolate; import scipy.spatial",
        "from sklearn.metrics import roc_auc_score; assert roc_auc_score([0, 1], [0, 1]) == 1",
        "import sklearn.neighbors, sklearn.cluster; assert sklearn.cluster.KMeans.__name__ == 'KMeans'",
        "from sklearn.svm import SVC; import sklearn.svm; assert sklearn.svm.SVC is SVC",
        "from sklearn.utils import all_estimators; assert len(all_estimators()) > 100",
        "from scipy.spatial import distance, KDTree; assert distance.cdist([[0]], [[3]])[0, 0] == 3",
        "import scipy.special as s; from scipy.special import ndtri; assert s.ndtri is ndtri",
        "import scipy.ndimage; assert scipy.ndimage.label([1, 0, 1])[1] == 2",
        "import numpy, scipy.sparse.csgraph as g; assert g.connected_components(numpy.eye(2))[0] == 2",
        "import asyncio; assert asyncio.run(asyncio.sleep(0, 5)) == 5",
        "from numpy.polynomial.legendre import leggauss; assert len(leggauss(3)[0]) == 3",
        "from whyodd.patches import sobel; import whyodd.patches as p; assert p.sobel is sobel",
        "from numpy.testing import assert_allclose; assert_allclose(1.0, 1.0)",
        "import sklearn.metrics as m; assert not hasattr(m, 'no_such_name')",
    ],
)
def test_packages_that_wait_are_what_they_are(code):
    loaded(ON_DEMAND + code)


def test_threads_wait_for_a_package_that_another_one_runs():
    loaded(
        ON_DEMAND
        + """
import scipy.stats, sklearn.metrics, scipy.optimize
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

together = Barrier(8)

def use(_):
    together.wait(timeout=60)
    assert scipy.stats.norm.cdf(0) == 0.5
    assert sklearn.metrics.roc_auc_score([0, 1], [0, 1]) == 1
    return scipy.optimize.brentq(lambda x: x - 1, 0, 3)

with ThreadPoolExecutor(8) as pool:
    assert len(list(pool.map(use, range(8)))) == 8
"""
    )
