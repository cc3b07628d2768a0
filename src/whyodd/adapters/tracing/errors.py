"""Errors of tracing: which step of a pipeline cannot be followed, why, and what to do instead."""

from __future__ import annotations

from whyodd.adapters.errors import UnsupportedModelError


class UntraceableStepError(UnsupportedModelError):
    """A step of a pipeline cannot be traced back; the message names it, says why, and what to do."""


class Untraceable(Exception):  # noqa: N818 - never leaves this package: trace() makes a sentence of it
    """Why a step cannot be traced, and the names of the steps around it, from the outermost inwards."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.path: tuple[str, ...] = ()
        self.kind = ""

    def within(self, name: str, step: object) -> Untraceable:
        """The same, with the name of the step it was met in; the innermost step gives the class."""
        self.path = (name, *self.path)
        self.kind = self.kind or type(step).__name__
        return self
