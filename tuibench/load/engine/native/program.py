"""Compiles a program for the native engine, and checks that the engine supports it.

The engine is a separate distribution, `tuibench-native`.
"""

import hashlib
import importlib
from functools import cache
from typing import Any

import msgspec

from tuibench.workload.generate.layout import ProgramLayout
from tuibench.workload.program.program import Program, all_steps
from tuibench.workload.program.sql_text import split_at_placeholders

MODULE = "tuibench_native"


@cache
def module() -> Any:
    """The engine's module, None if it is not installed."""
    try:
        return importlib.import_module(MODULE)
    except ImportError:
        return None


def stream_key(text: str) -> bytes:
    """The number that `random.Random(text)` is seeded with, big-endian."""
    data = text.encode()
    return data + hashlib.sha512(data).digest()


def described(program: Program, layout: ProgramLayout) -> dict[str, Any]:
    """The program in built-in types, with everything that is computed once for all connections."""
    steps = [step for each in program.transactions for step in all_steps(each.steps)]
    return {
        "program": msgspec.to_builtins(program),
        "firsts": [layout.first(statement) for step in steps for statement in step.statements],
        "simple": layout.are_static,
        "interactive": [transaction.interactive for transaction in program.transactions],
        "statements": [
            (
                flat.name,
                flat.cls.value,
                flat.captures,
                [piece.encode() for piece in split_at_placeholders(flat.sql)],
            )
            for flat in layout.statements
        ],
    }


def compiled(program: Program, layout: ProgramLayout) -> Any:
    """The engine's own form of a program. Raises ValueError or OverflowError for what it does not support."""
    return module().Program(described(program, layout))


def unsupported_reason(program: Program) -> str:
    """Why the native engine cannot run a program, empty if it can."""
    if module() is None:
        return f"{MODULE.replace('_', '-')} is not installed"
    try:
        layout = ProgramLayout(program)
        native = compiled(program, layout)
        module().Stream(native, "0", 0, stream_key, [0] * len(layout.statements), False)
    except (ValueError, OverflowError, RuntimeError) as error:
        return f"this profile needs the asyncio engine: {error}"
    return ""
