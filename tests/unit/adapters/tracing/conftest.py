"""What the tests of tracing share: relevance as explain() takes it from a trace."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import whyodd


@pytest.fixture(scope="session")
def relevance():
    """Function: parts of ‖z - u‖² in the variables of a trace, twice the relevance for a single center u."""

    def computed(trace, Z, center):
        Z, center = (
            sparse.csr_array(A).toarray() if sparse.issparse(A) else np.asarray(A) for A in (Z, center)
        )
        network = whyodd.DistanceNetwork(np.atleast_2d(center))
        parts = network.decompose(Z, through=trace.linear).relevance
        found = np.zeros((len(Z), len(trace.names)))
        np.add.at(found, (slice(None), trace.origin), 2.0 * parts)
        return found

    return computed


@pytest.fixture(scope="session")
def people():
    """A mixed table with gaps."""
    rng = np.random.default_rng(0)
    n = 120
    frame = pd.DataFrame(
        {
            "id": np.arange(n) + 1000,
            "age": rng.normal(40.0, 12.0, n),
            "income": rng.lognormal(7.0, 1.0, n),
            "city": rng.choice(["Bonn", "Kiel", "Ulm"], n),
            "member": rng.choice([True, False], n),
            "rooms": rng.integers(1, 6, n),
        }
    )
    frame.loc[5:9, "age"] = np.nan
    return frame
