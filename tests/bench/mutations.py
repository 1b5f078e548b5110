"""Which faults the unit tests do not see: `python -m tests.bench.mutations`.

Sixty random mutations in ten rooms of the package, the same for one `--seed`: a comparison, an operator or
a bound is another one, a condition is its opposite, a line is left out. Each is made in a copy of the tree,
where the unit tests of its room run that import its module, or all of that room if none does. A mutation that
no test notices is printed with its place; the exit code is then 1. Some survivors are no faults: a line that
only saves time, a bound that no value meets. `--rooms`, `--mutations` and `--list` make it shorter.
"""

import argparse
import ast
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import NamedTuple

from tests.paths import ROOT

ROOMS = (
    "base", "model", "metrics", "mysql", "load", "record", "session", "tuning", "features/ab",
    "features/probe",
)  # fmt: skip
COPIED = ("tuibench", "tests", "profiles", "docs", "native", "pyproject.toml", "README.md", "Makefile")
LONGEST_SECONDS = 1200
OTHER: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.And: ast.Or,
    ast.Or: ast.And, ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
}  # fmt: skip


class Mutation(NamedTuple):
    """One piece of a module, and what stands in its place."""

    path: Path
    """Relative to the root of the tree."""
    line: int
    start: int
    """Where the piece begins and ends, in bytes of the file."""
    end: int
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {one_line(self.before)}  →  {one_line(self.after)}"

    def apply(self, source: bytes) -> bytes:
        return source[: self.start] + self.after.encode() + source[self.end :]


def one_line(code: str) -> str:
    return " ".join(code.split())


def changed(node: ast.AST) -> ast.AST | None:
    """The node with another meaning; None for one that is left alone."""
    other = deepcopy(node)
    match other:
        case ast.Compare(ops=[first, *rest]) if type(first) in OTHER:
            other.ops = [OTHER[type(first)](), *rest]  # type: ignore[list-item]
        case ast.BoolOp(op=op) | ast.BinOp(op=op) if type(op) in OTHER:
            other.op = OTHER[type(op)]()  # type: ignore[assignment]
        case ast.UnaryOp(op=ast.Not()):
            return other.operand
        case ast.Constant(value=int(value)) if not isinstance(value, bool):
            other.value = value + 1
        case ast.IfExp() | ast.While():
            other.test = ast.UnaryOp(op=ast.Not(), operand=other.test)
        case ast.Expr(value=ast.Call() | ast.Await()) | ast.AugAssign():
            return ast.Pass()
        case _:
            return None
    return other


def executed(tree: ast.AST) -> Iterator[ast.AST]:
    """The nodes that compute something: no annotation, no text of an f-string."""
    for name, value in ast.iter_fields(tree):
        if name in ("annotation", "returns", "decorator_list"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not isinstance(child, ast.JoinedStr):
                yield child
                yield from executed(child)


def mutations_of(path: Path) -> list[Mutation]:
    """All that can be made of a module."""
    source = (ROOT / path).read_bytes()
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    found = []
    for node in executed(ast.parse(source)):
        if (other := changed(node)) is None:
            continue
        assert isinstance(node, ast.expr | ast.stmt)
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        start = starts[node.lineno - 1] + node.col_offset
        end = starts[node.end_lineno - 1] + node.end_col_offset
        after = ast.unparse(ast.fix_missing_locations(other))
        if isinstance(other, ast.expr):
            after = f"({after})"
        found.append(Mutation(path, node.lineno, start, end, source[start:end].decode(), after))
    return found


def drawn(rooms: list[str], number: int, seed: int) -> list[Mutation]:
    """As many mutations of each room as of any other, or one more."""
    rng = random.Random(seed)
    found: list[Mutation] = []
    for place, room in enumerate(rooms):
        paths = sorted((ROOT / "tuibench" / room).glob("*.py"))
        possible = [each for path in paths for each in mutations_of(path.relative_to(ROOT))]
        found += rng.sample(possible, (number + place) // len(rooms))
    return found


def tests_of(module: Path) -> list[str]:
    """The unit tests of a module's room that import it; without any, all of the room."""
    room = module.parent.relative_to("tuibench")
    folder = ROOT / "tests" / "unit" / room
    name = re.escape(".".join(module.with_suffix("").parts))
    package, _, own = name.rpartition(r"\.")
    imports = re.compile(rf"(?:from|import) {name}\b|from {package} import .*\b{own}\b")
    chosen = [
        path for path in sorted(folder.glob("test_*.py")) if imports.search(path.read_text(encoding="utf-8"))
    ]
    return [str(path.relative_to(ROOT)) for path in chosen or [folder]]


def is_noticed(mutation: Mutation, tree: Path) -> bool:
    """Runs the tests in the copy."""
    place = tree / mutation.path
    source = place.read_bytes()
    place.write_bytes(mutation.apply(source))
    command = [sys.executable, "-m", "pytest", "-qx", "-m", "not whole", "-p", "no:cacheprovider"]
    try:
        done = subprocess.run(
            [*command, *tests_of(mutation.path)],
            cwd=tree,
            env={**os.environ, "PYTHONPATH": str(tree)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=LONGEST_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return True
    finally:
        place.write_bytes(source)
    return done.returncode != 0


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--mutations", type=int, default=60)
    parser.add_argument("--rooms", nargs="+", default=ROOMS, metavar="ROOM")
    parser.add_argument("--list", action="store_true", help="print the mutations, and run nothing")
    chosen = parser.parse_args()
    mutations = drawn(list(chosen.rooms), chosen.mutations, chosen.seed)
    if chosen.list:
        print(*mutations, sep="\n")
        return 0
    survivors = 0
    with tempfile.TemporaryDirectory(prefix="mutations-") as folder:
        tree = Path(folder)
        for name in COPIED:
            if (ROOT / name).is_dir():
                shutil.copytree(
                    ROOT / name, tree / name, ignore=shutil.ignore_patterns("target", "__pycache__")
                )
            else:
                shutil.copy(ROOT / name, tree)
        for number, mutation in enumerate(mutations, 1):
            noticed = is_noticed(mutation, tree)
            survivors += not noticed
            print(f"{number:3} {'noticed ' if noticed else 'SURVIVES'} {mutation}", flush=True)
    print(f"{survivors} of {len(mutations)} survive")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
