"""The waist of the hourglass: scores that decompose into their variables."""

from whyodd.network.distance_network import DistanceNetwork
from whyodd.network.linear_score import LinearScore
from whyodd.network.waist import CAPABILITIES, Decomposition, Score, offers

__all__ = ["CAPABILITIES", "Decomposition", "DistanceNetwork", "LinearScore", "Score", "offers"]
