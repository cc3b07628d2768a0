"""The error for models that are no distance networks."""

from __future__ import annotations


class UnsupportedModelError(TypeError):
    """The model cannot be written as a distance network; the message says what can, and what to do."""
