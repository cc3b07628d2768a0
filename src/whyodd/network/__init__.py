"""The waist of the hourglass: scores that decompose into their variables."""

from whyodd.network.distance_network import DistanceNetwork

__all__ = ["DistanceNetwork"]
