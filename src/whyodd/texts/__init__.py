"""Models of messages: which words make one odd, and which are missing."""

from whyodd.texts.explanation import TextExplanation
from whyodd.texts.model import TextModel

__all__ = ["TextExplanation", "TextModel"]
