"""Writes small files with values as common programs write them, an odd one in each: see ``make.py``.

``python tests/files/make_values.py``. Each file has 120 rows of two plain numbers and one column written by a
program's convention; in row ``ODD`` that column holds what is odd. Nothing else there is.
"""

import datetime as dt
import random
from pathlib import Path

FOLDER = Path(__file__).parent / "values"
ROWS, ODD = 120, 77
START = dt.datetime(2026, 1, 5, 0, 0, tzinfo=dt.UTC)


def english(value):
    return f"{value:,.2f}"


def german(value):
    return english(value).translate(str.maketrans(",.", ".,"))


def moment(rng):
    """A day of 2026, at office hours."""
    return START + dt.timedelta(
        days=rng.randrange(200), hours=rng.randrange(8, 17), minutes=rng.randrange(60)
    )


def amount(rng):
    return rng.uniform(800.0, 2400.0)


def bracketed(value):
    return english(value) if value >= 0 else f"({english(-value)})"


# File -> the program and its convention, the name of the column, how a value is drawn and written, and the
# odd value as it is written there.
COLUMNS = {
    "analytics-percent.csv": (
        "Google Analytics: percent",
        "bounce",
        lambda r: f"{r.uniform(15, 30):.1f}%",
        "95.0%",
    ),
    "excel-german-percent.csv": (
        "Excel, German: percent with a blank",
        "Rabatt",
        lambda r: f"{r.uniform(15, 30):.1f} %".replace(".", ","),
        "95,0 %",
    ),
    "excel-dollars.csv": ("Excel, US: currency", "price", lambda r: f"${english(amount(r))}", "$98,765.00"),
    "datev-euro.csv": (
        "DATEV: euros, decimal commas",
        "Umsatz",
        lambda r: f"{german(amount(r))} €",
        "98.765,00 €",
    ),
    "quickbooks.csv": (
        "QuickBooks: brackets for what is below 0",
        "balance",
        lambda r: bracketed(r.uniform(-900, 900)),
        "(98,765.00)",
    ),
    "swiss-bank.csv": (
        "Swiss banks: apostrophes between thousands",
        "Betrag",
        lambda r: english(amount(r)).replace(",", "'"),
        "98'765.00",
    ),
    "french-excel.csv": (
        "Excel, French: narrow blanks between thousands",
        "montant",
        lambda r: german(amount(r)).replace(".", "\u202f"),
        "98\u202f765,00",
    ),
    "wise-usd.csv": (
        "Wise: the code of a currency first",
        "amount",
        lambda r: f"USD {english(amount(r))}",
        "USD 98,765.00",
    ),
    "scales.csv": (
        "A scale's log: a unit after each number",
        "load",
        lambda r: f"{r.uniform(9, 14):.1f} kg",
        "480.0 kg",
    ),
    "till-times.csv": ("A till: times of day", "sold", lambda r: f"{moment(r):%H:%M}", "03:12"),
    "calendar-times.csv": (
        "Outlook, US: twelve hours",
        "meeting",
        lambda r: f"{moment(r):%I:%M %p}".lstrip("0"),
        "3:12 AM",
    ),
    "toggl-durations.csv": (
        "Toggl: durations",
        "spent",
        lambda r: f"{r.randrange(1, 3)}:{r.randrange(60):02}:{r.randrange(60):02}",
        "47:00:00",
    ),
    "us-dates.csv": ("US programs: the month first", "due", lambda r: f"{moment(r):%m/%d/%Y}", "12/24/2039"),
    "german-dates.csv": (
        "German programs: the day first, dots",
        "fällig",
        lambda r: f"{moment(r):%d.%m.%Y}",
        "24.12.2039",
    ),
    "uk-dates.csv": (
        "UK programs: the day first, slashes",
        "sent",
        lambda r: f"{moment(r):%d/%m/%Y %H:%M}",
        "24/12/2039 10:00",
    ),
    "mail-dates.csv": (
        "Mail programs: names of months",
        "received",
        lambda r: f"{moment(r):%d %b %Y}".lstrip("0"),
        "24 Dec 2039",
    ),
    "github-zones.csv": (
        "ISO 8601 with a zone",
        "pushed",
        lambda r: f"{moment(r):%Y-%m-%dT%H:%M:%S}+02:00",
        "2026-03-04T03:12:00+02:00",
    ),
    "unix-seconds.csv": (
        "Unix logs: seconds since 1970",
        "created_at",
        lambda r: int(moment(r).timestamp()),
        1772593920,
    ),
    "javascript-times.csv": (
        "JavaScript: milliseconds since 1970",
        "timestamp",
        lambda r: int(moment(r).timestamp()) * 1000,
        1772593920000,
    ),
    "survey-ages.csv": ("Surveys: a word among numbers", "age", lambda r: r.randrange(18, 70), "unknown"),
    "sensor-errors.csv": (
        "Sensors: a word where a reading failed",
        "reading",
        lambda r: f"{r.uniform(2, 3):.3f}",
        "error",
    ),
}


def table(name):
    """The text of a file."""
    _, column, write, odd = COLUMNS[name]
    rng = random.Random(name)
    lines = [f"width;{column};length"]
    for row in range(ROWS):
        value = odd if row == ODD else write(rng)
        lines.append(f"{rng.uniform(40, 60):.2f};{value};{rng.uniform(9, 11):.2f}")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name in COLUMNS:
        (FOLDER / name).write_text(table(name), encoding="utf-8", newline="\n")
