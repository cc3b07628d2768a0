"""Labelled series, by the defaults; figures are in ``benchmarks/series.py``."""

import numpy as np
import pytest

from whyodd.findings.series import find_in_series
from whyodd.io.tables import read_table

pytestmark = pytest.mark.data


def test_the_oddest_step_of_blood_pressure_is_the_labelled_one(data_dir):
    for path in sorted((data_dir / "ucr_anomaly").glob("*.txt.gz")):
        end, first, last = (int(part) for part in path.name.split(".")[0].split("_")[-3:])
        values = np.loadtxt(path)
        found = find_in_series(values[end:], values[:end])
        assert first - 100 <= end + found.order[0] <= last + 100


@pytest.mark.parametrize(
    ("name", "note"),
    [
        ("ec2_request_latency_system_failure", "repeat a time"),
        ("rogue_agent_key_hold", "time jumps 30 times"),
    ],
)
def test_files_run_as_they_are(data_dir, name, note):
    frame = read_table(data_dir / "nab" / f"{name}.csv.gz")
    found = find_in_series(frame)
    assert len(found) == len(frame)
    assert any(note in each for each in found.notes)
    assert found.n_events > 0
    np.testing.assert_allclose(
        np.nansum(found.scores.relevance, axis=1), np.nan_to_num(found.outlierness), rtol=1e-9
    )
