"""Ways to explain outlierness: ``EXPLAINERS`` by name, each in a file of its own under ``methods``."""

from whyodd.explainers.registry import EXPLAINERS

__all__ = ["EXPLAINERS"]
