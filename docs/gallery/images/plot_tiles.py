"""
A speck that the inspectors overlooked
======================================

Magnetic tiles are photographed before they go into motors. The photographs are sorted into good ones and
defective ones. whyodd learns from good tiles only. It then finds defects it has never seen, and also a good
tile that is not so good.
"""

# %%
# Learn from twelve good tiles
# ----------------------------
#
# ``features="contrast"`` compares places by their local contrast. With ``pip install 'whyodd[deep]'`` and the
# default setting a small pretrained network looks at them as well, which finds more, and takes longer.

import gallery_data
import matplotlib.pyplot as plt
import numpy as np
from PIL import Image

import whyodd

folder = gallery_data.file("magnetic_tile")


def photographs(kind, first, last):
    """Grey photographs of one kind of tile."""
    files = sorted(folder.glob(f"{kind}__*.jpg"))[first:last]
    return [np.asarray(Image.open(file).convert("L")) for file in files]


detector = whyodd.ImageDetector(features="contrast", centers=500).fit(photographs("free", 0, 12))

# %%
# Judge eight others
# ------------------

kinds = {"free": (20, 23), "blowhole": (0, 3), "break": (1, 3)}
tiles, names = [], []
for kind, (first, last) in kinds.items():
    some = photographs(kind, first, last)
    tiles += some
    names += [f"{'good' if kind == 'free' else kind} tile {i}" for i in range(first, first + len(some))]
found = whyodd.find(tiles, model=detector)
print(found.headline, "\n")
for i, position in enumerate(found.order):
    mark = "odd" if found.is_odd[position] else "   "
    print(f"{mark} {found.outlierness[position]:5.2f} {names[position]:16} {found.why(i, k=1)}")

# %%
# Where?
# ------
#
# Each row shows a tile, what makes it odd, and its edges for comparison. Edges are everywhere; odd places are
# not.

figure = whyodd.plots.heatmaps(found.top(4))

# %%
# A pixel of a large picture has a small share of the whole, so the oddest tile, image 7, stays nearly grey on
# the scale that all four share. On a scale of its own it shows what is odd: the bent lower edge, all along,
# and a piece of the upper one.

ax = whyodd.plots.heatmap(found.top(1))

# %%
# A blowhole is missed. One of the odd tiles, image 0, is a "good" one. Look closely at the warm place: there
# is a dark speck, and a dark scratch to the right of it. The tile was in the folder of good ones.
#
# **What to do next:** let someone sort that tile again. On the command line, ``whyodd image good/ today/
# --out heatmaps/`` does all this for folders of pictures.

plt.show()
