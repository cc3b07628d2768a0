"""What the drawn pictures of the documentation share: colours, style, and files of equal bytes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl

HERE = Path(__file__).parent
# From Okabe and Ito's palette, which people who see red and green alike can distinguish.
BLUE, ORANGE, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#9A9A9A"
INK, FAINT = "#222222", "#666666"
_STYLE = {
    "font.family": "DejaVu Sans",  # comes with matplotlib: the same on every machine
    "font.size": 10,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": FAINT,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.color": INK,
    "ytick.color": INK,
}


def begin(**more: Any) -> Any:
    """Matplotlib's ``pyplot`` without windows, in the style of the pictures and with ``more`` settings."""
    mpl.use("Agg")
    mpl.rcParams.update(_STYLE | more)
    from matplotlib import pyplot as plt

    return plt


def save(figure: Any, name: str, dpi: int) -> None:
    """Write a PNG beside this file, without matplotlib's version, so that equal pictures are equal files."""
    figure.savefig(HERE / name, dpi=dpi, metadata={"Software": None})
