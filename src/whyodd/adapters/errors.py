"""The error for models that cannot be explained."""

from __future__ import annotations


class UnsupportedModelError(TypeError):
    """The model, or one of its settings, cannot be explained; the message says which can, and what to do."""
