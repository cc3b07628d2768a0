"""The map of the house, and the guide for those who build on it, name places that are there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MAP = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
GUIDE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
PLACES = sorted(set(re.findall(r"`([a-z_0-9/]+(?:\.py|/))`", MAP + GUIDE)))
ROOMS = re.findall(r"^\| (`[a-z`, ]+`) \|", MAP, flags=re.MULTILINE)


@pytest.mark.parametrize("place", PLACES)
def test_a_place_is_there(place):
    """Paths are those below the package, a room or the repository; files of a room may go by their name."""
    package = ROOT / "src" / "whyodd"
    found = [*package.glob(place), *package.glob(f"**/{place}"), *ROOT.glob(place)]
    assert found, f"{place} is nowhere"


def test_every_room_is_on_the_map():
    rooms = {path.parent.name for path in (ROOT / "src" / "whyodd").glob("*/__init__.py")}
    assert rooms <= set(re.findall("[a-z]+", " ".join(ROOMS)))
