"""The version, in one place: every layer may import it, and the build reads it."""

__version__ = "0.2.0"
