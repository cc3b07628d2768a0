"""All models of the contracts, by the path of their class: distance networks and other members alike."""

from contracts.fitted import FITTED, OTHERS
from contracts.fitted_ensembles import ENSEMBLES


def _joined(*registries):
    paths = sorted({path for registry in registries for path in registry})
    return {path: [case for registry in registries for case in registry.get(path, ())] for path in paths}


# What becomes neither a distance network nor a linear score.
MEMBERS = _joined(OTHERS, ENSEMBLES)
EVERY = _joined(FITTED, MEMBERS)
