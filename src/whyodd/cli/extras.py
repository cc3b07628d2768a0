"""Packages that a command needs beyond the base install."""

from __future__ import annotations

from importlib import import_module

# Package -> the extra that brings it.
EXTRAS = {
    "PIL": "plots",
    "jinja2": "report",
    "matplotlib": "plots",
    "polars": "files",
    "pyarrow": "scale",
    "python_multipart": "serve",
    "regex": "text",
    "skops": "saving",
    "snowballstemmer": "text",
    "starlette": "serve",
    "uvicorn": "serve",
}


def check_installed(*packages: str) -> None:
    """Say before the work everything that is missing for it, in one message."""
    missing = [package for package in packages if not _is_installed(package)]
    if missing:
        extras = ",".join(sorted({EXTRAS[package] for package in missing}))
        raise ModuleNotFoundError(
            f"This command needs {' and '.join(missing)} to be installed. Run: pip install 'whyodd[{extras}]'"
        )


def _is_installed(package: str) -> bool:
    try:
        import_module(package)
    except ImportError:
        return False
    return True
