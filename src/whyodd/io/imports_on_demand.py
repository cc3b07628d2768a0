"""Packages that run when a name of theirs is looked up, and then only the module that has it.

scikit-learn's base imports all of ``scipy.stats`` for one function, SciPy copies NumPy's names with those of
``numpy.f2py``, and whoever imports one class of scikit-learn imports all modules of its package and of many
others: most of the time that a command takes on a small table.
"""

from __future__ import annotations

import ast
import sys
from functools import cache
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.abc import Loader
    from types import ModuleType

# Run as a whole as soon as anything of them is asked for.
_OF_SCIPY = "ndimage optimize spatial.distance special stats"
WHOLE = frozenset(
    {"asyncio", "numpy.f2py", "numpy.polynomial", "numpy.testing", "pydoc"}
    | {f"scipy.{name}" for name in _OF_SCIPY.split()}
)
# Run module by module: such a package does nothing but to import names from its own modules.
_OF_SKLEARN = (
    "cluster compose covariance datasets decomposition ensemble impute linear_model manifold metrics mixture "
    "model_selection neighbors preprocessing svm tree"
)
IN_PARTS = frozenset(
    {"scipy.sparse.csgraph", "scipy.spatial"}
    | {f"sklearn.{name}" for name in _OF_SKLEARN.split()}
    | {f"whyodd.{name}" for name in ("images", "patches", "series", "texts")}
)


def import_on_demand() -> None:
    """Let later imports of these packages wait.

    For commands only: programs keep the imports they have. And not for those that answer in several threads:
    two that import parts of one package might wait for each other.
    """
    sys.meta_path.insert(0, _Finder())


class _Finder:
    """Finds modules as Python does, and has some packages wait."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Spec of a package that is to wait; None leaves others to whoever finds them."""
        package = name.rpartition(".")[0]
        if package in WHOLE:
            _run(sys.modules[package])
            done = sys.modules.get(name)
            return None if done is None else ModuleSpec(name, _Done(done))  # type: ignore[arg-type]
        if name not in WHOLE | IN_PARTS:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            loader: Any = _Waiting(spec.loader)
            spec.loader = loader
        return spec


class _Waiting:
    """Loader of a package that waits until a name is looked up."""

    def __init__(self, loader: Loader) -> None:
        self._loader = loader
        self._lock = RLock()
        self._is_run = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """The module that Python would make."""
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        """Wait."""

        def look_up(name: str) -> Any:
            # Others with underscores are asked for by the import system and by whoever inspects modules.
            if name.startswith("__") and name != "__all__":
                raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")
            found = _part(module, name) if module.__name__ in IN_PARTS else None
            if found is not None:
                module.__dict__[name] = found  # or a module of the same name would stand in its place
                return found
            _run(module)
            if name in module.__dict__:
                return module.__dict__[name]
            own = module.__dict__.get("__getattr__", look_up)
            if own is not look_up:
                return own(name)
            raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")

        def names() -> list[str]:
            _run(module)
            return sorted(module.__dict__) if module.__dict__.get("__dir__") is names else dir(module)

        # They stay until the package has run: other threads that ask meanwhile wait for it.
        module.__dict__.update(__getattr__=look_up, __dir__=names)

    def run(self, module: ModuleType) -> None:
        """Run the package, once; whoever comes later waits, but for the package itself."""
        with self._lock:
            if self._is_run:
                return
            self._is_run = True
            waiting = {name: module.__dict__[name] for name in ("__getattr__", "__dir__")}
            self._loader.exec_module(module)
            for name, function in waiting.items():
                if module.__dict__.get(name) is function:
                    del module.__dict__[name]


class _Done:
    """Loader of a module that its package has imported while it ran."""

    def __init__(self, module: ModuleType) -> None:
        self._module, self._spec = module, module.__spec__

    def create_module(self, spec: ModuleSpec) -> ModuleType:  # noqa: ARG002
        """The module that is there."""
        return self._module

    def exec_module(self, module: ModuleType) -> None:
        """Leave it as it was."""
        module.__spec__ = self._spec


def _run(package: ModuleType) -> None:
    loader: Any = package.__spec__ and package.__spec__.loader
    if isinstance(loader, _Waiting):
        loader.run(package)


def _part(module: ModuleType, name: str) -> Any:
    """What a package would import by this name from its modules, or the module of this name; or None."""
    home, there = _imported(module.__name__, module.__file__ or "").get(name, (None, name))
    if home is not None:
        return getattr(import_module(home, module.__name__), there)
    part = f"{module.__name__}.{name}"
    return None if PathFinder.find_spec(part, module.__path__) is None else import_module(part)


@cache
def _imported(package: str, file: str) -> dict[str, tuple[str, str]]:
    """Names that a package imports from its own modules, with the module and the name there."""
    found: dict[str, tuple[str, str]] = {}
    for line in ast.parse(Path(file).read_bytes()).body:
        if isinstance(line, ast.ImportFrom):
            home = "." * line.level + (line.module or "")
            if home.startswith((".", f"{package}.")) and line.module:
                found |= {alias.asname or alias.name: (home, alias.name) for alias in line.names}
    return found
