"""How large the house is: modules, lines, the median file and the median function of each room.

Run: python benchmarks/house.py [CHECKOUT ...]

Several checkouts, such as one of an older commit, are shown side by side.
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path
from statistics import median

from sidebyside import print_table


def sizes(path: Path) -> tuple[int, list[int]]:
    """Lines of a module, and of each of its functions without its docstring."""
    text = path.read_text(encoding="utf-8")
    functions = [
        node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    return text.count("\n"), [_body_lines(function) for function in functions]


def _body_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    return (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0


def measure(checkout: Path) -> dict[str, tuple[list[int], list[int]]]:
    """Lines of the modules and of the functions of each room, and of all of them."""
    package = checkout / "src" / "whyodd"
    rooms: dict[str, tuple[list[int], list[int]]] = {"all": ([], [])}
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package).parts
        lines, functions = sizes(path)
        for room in ("all", parts[0] if len(parts) > 1 else "(at the door)"):
            found = rooms.setdefault(room, ([], []))
            found[0].append(lines)
            found[1].extend(functions)
    return rooms


def cells(files: list[int], functions: list[int]) -> list[str]:
    """Numbers of a room."""
    return [
        str(len(files)),
        f"{sum(files):,}",
        f"{median(files):.0f}" if files else "",
        f"{median(functions):.0f}" if functions else "",
    ]


def main() -> None:
    checkouts = [Path(argument) for argument in sys.argv[1:]] or [Path(__file__).parents[1]]
    measured = [measure(checkout) for checkout in checkouts]
    rooms = dict.fromkeys(room for one in measured for room in one)
    heading = ["modules", "lines", "median file", "median function"]
    rows = [[room, *(cell for one in measured for cell in cells(*one.get(room, ([], []))))] for room in rooms]
    print_table("Size of src/whyodd", ["room", *heading * len(checkouts)], rows)


if __name__ == "__main__":
    main()
