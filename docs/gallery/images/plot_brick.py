"""
What breaks the pattern of a wall?
==================================

There is one photograph, and nothing to compare it with. A pattern can be its own teacher: small patches of
the picture are compared with all the other patches of the same picture. What is rare among them stands out.
"""

# %%
# A brick wall
# ------------
#
# The wall comes with scikit-image. ``PatchModel`` cuts it into patches of 7 × 7 pixels. To explain a picture
# by itself, fit and explain the same picture: each patch is then judged without itself.

import matplotlib.pyplot as plt
import numpy as np
import skimage.data
from skimage.transform import resize

import whyodd

wall = np.round(255 * resize(skimage.data.brick(), (128, 128), anti_aliasing=True)).astype(np.uint8)
model = whyodd.PatchModel(whyodd.OneClassSVM(nu=0.1), patch=(7, 7), max_patches=3000, random_state=0)
e = model.fit(wall).explain(wall)
print(f"{e.why()}.")
figure = whyodd.plots.heatmaps(e)

# %%
# The long joints have the strongest edges, yet they stay calm: there are so many of them. What is a little
# odd are places where joints meet in a way that is rare on this wall.

# %%
# A mended wall
# -------------
#
# Now we do some mischief: a part of the wall is turned by a quarter turn. Every value is as before; only the
# pattern is broken.

mended = wall.copy()
mended[40:72, 60:92] = np.rot90(wall[40:72, 60:92])
changed = model.fit(mended).explain(mended)
inside = np.zeros(wall.shape, dtype=bool)
inside[40:72, 60:92] = True
heat, before = changed.heatmap(0), e.heatmap(0)
print(f"The turned part is {inside.mean():.0%} of the wall.")
shares = [one[inside].sum() / one.sum() for one in (heat, before)]
print(f"It has {shares[0]:.0%} of the relevance, before {shares[1]:.0%}.")
ax = whyodd.plots.heatmap(changed)

# %%
# **What to do next:** try it on woven cloth, a printed pattern or a field seen from above. On a plain
# background without a pattern, only edges stand out, and an edge filter will do.

plt.show()
