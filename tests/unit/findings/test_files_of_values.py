"""Values as common programs write them: the odd one is the oddest row, and told as the file has it.

The files are written by ``tests/files/make_values.py``.
"""

from pathlib import Path

import pytest

from whyodd.cli.tables import find_in_file

FOLDER = Path(__file__).parents[2] / "files" / "values"
ODD = 77
# File -> what the first reason of its odd row begins with.
REASONS = {
    "analytics-percent.csv": "bounce is too high (95.0%, usually 1",
    "excel-german-percent.csv": "Rabatt is too high (95,0 %, usually 1",
    "excel-dollars.csv": "price is too high ($98,765.00, usually $",
    "datev-euro.csv": "Umsatz is too high (98.765,00 €, usually ",
    "quickbooks.csv": "balance is too low ((98,765.00), usually (",
    "swiss-bank.csv": "Betrag is too high (98'765.00, usually ",
    "french-excel.csv": "montant is too high (98 765,00, usually ",  # with a plain blank
    "wise-usd.csv": "amount is too high (USD 98,765.00, usually USD ",
    "scales.csv": "load is too high (480.0 kg, usually 9",
    "till-times.csv": "sold is at an unusual hour (03:12; no usual row lies",
    "calendar-times.csv": "meeting is at an unusual hour (3:12 AM; no usual row lies",
    "toggl-durations.csv": "spent is too high (47:00:00, usually 1:",
    "us-dates.csv": "due is unusually late (12/24/2039; later than all usual rows",
    "german-dates.csv": "fällig is unusually late (24.12.2039; later than all usual rows",
    "uk-dates.csv": "sent is unusually late (24/12/2039 10:00; later than all usual rows",
    "mail-dates.csv": "received is unusually late (24 Dec 2039; later than all usual rows",
    "github-zones.csv": "pushed is at an unusual hour (2026-03-04T03:12:00+02:00; no usual row lies",
    "unix-seconds.csv": "created_at is at an unusual hour (2026-03-04 03:12:00; no usual row lies",
    "javascript-times.csv": "timestamp is at an unusual hour (2026-03-04 03:12:00; no usual row lies",
    "survey-ages.csv": "age is 'unknown', which is not a number",
    "sensor-errors.csv": "reading is 'error', which is not a number",
}


@pytest.mark.parametrize("name", REASONS)
def test_the_odd_value_is_found_and_told_as_it_is_written(name):
    found = find_in_file(FOLDER / name)
    assert found.order[0] == ODD
    assert found.is_odd[ODD]
    assert found.why(0, k=1).startswith(REASONS[name])


def test_all_files_have_a_reason():
    assert {path.name for path in FOLDER.iterdir()} == set(REASONS)
