"""The version, alone: every layer may tell it."""

__version__ = "0.2.0"
