"""Ways to explain outlierness, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whyodd.explainers.checks import generator, keywords
from whyodd.explainers.method import Method
from whyodd.explainers.methods.coin import coin
from whyodd.explainers.methods.dtd import DeepTaylor, deep_taylor
from whyodd.explainers.methods.integrated_gradients import integrated_gradients
from whyodd.explainers.methods.mean import mean
from whyodd.explainers.methods.micenkova import micenkova
from whyodd.explainers.methods.mvn import mvn
from whyodd.explainers.methods.nearest import nearest
from whyodd.explainers.methods.occlusion import occlusion
from whyodd.explainers.methods.random import random, random_item
from whyodd.explainers.methods.sensitivity import sensitivity, slope
from whyodd.explainers.methods.shap import shapley
from whyodd.explainers.methods.sobel import edges, edges_of_item
from whyodd.explainers.methods.splits import splits
from whyodd.explainers.methods.taylor import taylor

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np

# Capabilities that a method needs of a member of the waist, beside its outlierness.
_CENTERS, _DISTANCES, _EXPECTED = (frozenset({name}) for name in ("centers", "distances", "expected"))

EXPLAINERS: dict[str, Method] = {
    "coin": Method(coin, needs=_CENTERS),
    "dtd": DeepTaylor(deep_taylor, is_additive=True),
    "integrated_gradients": Method(integrated_gradients, is_additive=True, needs=_DISTANCES),
    "mean": Method(mean, needs=_CENTERS),
    "micenkova": Method(micenkova, needs=_CENTERS),
    "mvn": Method(mvn, needs=_CENTERS),
    "nearest": Method(nearest, needs=_CENTERS),
    "occlusion": Method(occlusion, needs=_EXPECTED),
    "random": Method(random, on_item=random_item),
    "sensitivity": Method(sensitivity, needs=_DISTANCES, root=slope),
    "shap": Method(shapley, is_additive=True, needs=_CENTERS, extra="shap", exactness="sampled"),
    "sobel": Method(edges, on_item=edges_of_item),
    "splits": Method(splits, is_additive=True, needs=frozenset({"splits"})),
    "taylor": Method(taylor, is_additive=True, needs=_DISTANCES),
}


def find_method(name: str) -> Method:
    """The method that goes by a name, or a sentence that lists them."""
    if not isinstance(name, str) or name not in EXPLAINERS:
        raise ValueError(f"method={name!r} is unknown. Choose one of: {', '.join(map(repr, EXPLAINERS))}.")
    return EXPLAINERS[name]


def method_for_items(
    model: object, name: str, options: Mapping[str, Any] | None, random_state: int | None
) -> tuple[Method, dict[str, Any], np.random.Generator]:
    """A method, its keywords and random numbers for a model of images, series or messages, checked."""
    method, settings, random = find_method(name), keywords(options), generator(random_state)
    method.check_options(name, settings)
    if settings.pop("normal", None) is not None:
        raise ValueError(f"normal does not work with a {type(model).__name__}. Leave it out.")
    return method, settings, random
