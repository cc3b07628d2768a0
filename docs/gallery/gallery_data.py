"""Where the gallery's larger data sets are, and which examples can run without them.

Most examples use data that come with installed packages. The others ask :func:`file` for a data set. It
looks in the folder that the environment variable ``WHYODD_DATA`` names, and otherwise in ``../shared/data``
beside the repository, as the tests and benchmarks do. An example without its data says where to get them,
and ends.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

# Folder of a data set -> where its public original is.
ORIGINALS = {
    "adbench": "https://github.com/Minqi824/ADBench (adbench/datasets/Classical)",
    "magnetic_tile": "https://github.com/abin24/Magnetic-tile-defect-datasets.",
    "nab": "https://github.com/numenta/NAB (data/realKnownCause, gzipped)",
    "nsl_kdd": "https://www.unb.ca/cic/datasets/nsl.html (as .csv.gz with a header)",
    "smd": "https://github.com/NetManAIOps/OmniAnomaly (ServerMachineDataset, as .npz)",
    "ucr_anomaly": "https://www.cs.ucr.edu/~eamonn/time_series_data_2018 (as .txt.gz)",
    "wikipedia_toxicity": "https://figshare.com/articles/dataset/4054689 (as .tsv.gz)",
}
_HERE = Path(__file__).resolve().parent
_ASKED = re.compile(r"gallery_data\.file\(\s*\"([^\"/]+)")


def folder() -> Path:
    """Folder that holds the data sets; it need not exist."""
    return Path(os.environ.get("WHYODD_DATA", _HERE.parents[2] / "shared" / "data")).expanduser()


def file(name: str) -> Path:
    """Path of a file or folder of a data set, such as ``"nab/nyc_taxi.csv.gz"``.

    Without it, the example prints one sentence on where to get it, and ends without an error.
    """
    path = folder() / name
    if not path.exists():
        data_set = name.partition("/")[0]
        print(
            f"This example needs {name}, which is not in {folder()}. Get it from {ORIGINALS[data_set]}, "
            "or set WHYODD_DATA to the folder that has it."
        )
        raise SystemExit(0)
    return path


def data_sets(example: Path) -> list[str]:
    """Data sets that an example asks for, beyond those that come with packages."""
    return sorted(set(_ASKED.findall(example.read_text(encoding="utf-8"))))


def examples() -> list[Path]:
    """All examples of the gallery."""
    return sorted(_HERE.glob("*/plot_*.py"))


def can_run(example: Path) -> bool:
    """Whether all data sets of an example are there."""
    return all((folder() / name).is_dir() for name in data_sets(example))


def filename_pattern() -> str:
    """For sphinx-gallery: matches the examples that can run here; the others are shown without results."""
    names = [re.escape(f"{one.parent.name}{os.sep}{one.name}") for one in examples() if can_run(one)]
    return f"({'|'.join(names)})$" if names else r"(?!)"
