"""Draw picture.png of docs/your-own-model.md: how odd each tumour is, and why the oddest one is.

Run it from anywhere, with whyodd and matplotlib installed: ``python docs/picture.py``. The data, the model
and the numbers are those of ``whyodd demo``; the same versions of the packages give the same bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import drawing
import numpy as np
from drawing import FAINT, INK
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.svm import OneClassSVM

import whyodd
from whyodd.explanations.sentences import distinct_numbers, number, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from whyodd import Explanation

SHOWN = 5
BENIGN, MALIGNANT, OTHERS, REST = drawing.BLUE, drawing.ORANGE, "#E89C66", drawing.GREY
TITLE: dict[str, Any] = {"loc": "left", "weight": "bold", "pad": 24}


@dataclass(frozen=True)
class Tumours:
    """Outlierness of benign tumours the model has not seen, and the explanation of the malignant ones."""

    benign: Any
    malignant: Explanation
    scaler: Any
    names: tuple[str, ...]


def explain_tumours() -> Tumours:
    """Learn 70 % of the benign tumours, explain all malignant ones."""
    tumours = load_breast_cancer()
    is_benign = tumours.target == list(tumours.target_names).index("benign")
    normal, held_out = train_test_split(tumours.data[is_benign], test_size=0.3, random_state=0)
    scaler = StandardScaler().fit(normal)
    model = OneClassSVM(kernel="rbf", nu=0.1, gamma="scale").fit(scaler.transform(normal))
    e = whyodd.explain(model, scaler.transform(tumours.data[~is_benign]))
    benign = e.network.outlierness(scaler.transform(held_out))
    return Tumours(benign, e, scaler, tuple(map(str, tumours.feature_names)))


def draw_scores(ax: Axes, tumours: Tumours) -> None:
    """Histograms of the outlierness of benign and malignant tumours, with an arrow at the oddest."""
    malignant = tumours.malignant.outlierness
    bins = np.geomspace(2.0, 200.0, 37)
    style = {"bins": bins, "histtype": "stepfilled", "alpha": 0.75}
    ax.hist(tumours.benign, color=BENIGN, **style)
    ax.hist(malignant, color=MALIGNANT, **style)
    ax.set_xscale("log")
    ax.set_xticks([2, 5, 10, 20, 50, 100, 200], labels=["2", "5", "10", "20", "50", "100", "200"])
    ax.minorticks_off()
    ax.set_xlabel("outlierness")
    ax.set_ylabel("number of tumours")
    ax.set_title("How odd is each tumour?", **TITLE)
    top = ax.get_ylim()[1]
    ax.text(3.1, 0.87 * top, "benign, not seen before", color=BENIGN, weight="bold")
    ax.text(8.2, 0.3 * top, "malignant", color=MALIGNANT, weight="bold")
    arrow = {"arrowstyle": "-|>", "color": INK, "linewidth": 1.2, "shrinkB": 2}
    at = float(malignant.max())
    ax.annotate("the oddest", (at, 1.2), (at, 0.22 * top), ha="center", color=INK, arrowprops=arrow)


def draw_reasons(ax: Axes, tumours: Tumours) -> None:
    """Bars of the oddest tumour's main reasons, the other variables together, and the unexplained part."""
    oddest = tumours.malignant.top(1)
    relevance, o = oddest.relevance[0], float(oddest.outlierness[0])
    order = np.argsort(-relevance)
    main, others = order[:SHOWN], order[SHOWN:]
    labels = [*(tumours.names[i] for i in main), f"the other {others.size} variables", "no single variable"]
    shares = [*relevance[main] / o, relevance[others].sum() / o, float(oddest.unexplained[0]) / o]

    ax.barh(labels, shares, color=[MALIGNANT] * SHOWN + [OTHERS, REST], height=0.66)
    ax.invert_yaxis()
    for y, share in enumerate(shares):
        beside = {"textcoords": "offset points", "va": "center", "weight": "bold"}
        ax.annotate(percent(share), (share, y), (5, 0), **beside)
    _write_values(ax, tumours, oddest, main)
    ax.set_xlim(0, 0.7)
    ax.set_xticks([0, 0.2, 0.4, 0.6], labels=["0 %", "20 %", "40 %", "60 %"])
    ax.tick_params(axis="y", length=0)
    ax.get_yticklabels()[-1].set_style("italic")
    ax.set_xlabel(f"share of its outlierness ({number(o)})")
    ax.set_title("Why is the oddest one odd?", **TITLE)


def _write_values(ax: Axes, tumours: Tumours, oddest: Explanation, variables: Any) -> None:
    """Two columns to the right of the bars: what the tumour has, and what a benign one like it would have."""
    values = tumours.scaler.inverse_transform(oddest.data)[0]
    expected = tumours.scaler.inverse_transform(oddest.expected)[0]
    lines = [("value", "expected")]
    lines += [distinct_numbers(float(values[i]), float(expected[i])) for i in variables]
    for y, cells in enumerate(lines, start=-1):
        for x, cell in zip((1.16, 1.4), cells, strict=True):
            color = FAINT if y < 0 else INK
            ax.text(x, y, cell, transform=ax.get_yaxis_transform(), ha="right", va="center", color=color)


def main() -> None:
    """Draw both panels and write the PNG."""
    plt = drawing.begin()
    tumours = explain_tumours()
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(10, 3.9), width_ratios=(1, 0.95), layout="constrained"
    )
    figure.get_layout_engine().set(wspace=0.06, rect=(0.005, 0, 0.985, 1))
    draw_scores(left, tumours)
    draw_reasons(right, tumours)
    drawing.save(figure, "picture.png", dpi=160)


if __name__ == "__main__":
    main()
