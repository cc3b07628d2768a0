"""The error for models that are no distance networks."""

from __future__ import annotations


class UnsupportedModelError(TypeError):
    """The model, or this setting of it, is not explained; the message says what is, and what to do."""
