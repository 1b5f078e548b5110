"""Expressions have the same values in both engines; what has no value is refused by both."""

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.tables import for_each
from tuibench.errors import TuibenchError
from tuibench.load.engine.native import program as native_program
from tuibench.mysql.protocol.packets import ExecuteCommand
from tuibench.workload import library
from tuibench.workload.generate.generator import Generator
from tuibench.workload.generate.layout import ProgramLayout

native = native_program.module()
pytestmark = pytest.mark.skipif(native is None, reason="tuibench-native is not installed")

PROFILE = """
name = "arithmetic"
summary = "one expression of two captured values"
data_set = "none"
[[transactions]]
name = "one"
autocommit = true
[[transactions.steps]]
statements = [{{ name = "ask", sql = "SELECT a, b FROM t", capture = ["a", "b"] }}]
[[transactions.steps]]
let.c = "{expression}"
statements = [{{ name = "tell", sql = "SELECT ?", bind = ["c"] }}]
"""

UNDEFINED = "no value"

EXPRESSIONS = [
    "a + b", "a - b", "a * b", "a / b", "a // b", "a % b", "-a", "a == b", "a != b", "a < b", "a >= b",
    "min(a, b)", "max(a, b)", "not a", "a and b", "a or b", "a if b else 0", "a + b * 3 - a / 7", "[a, b][1]",
    "len(a)", "a[b]",
]  # fmt: skip

exacts = st.one_of(
    st.decimals(allow_nan=False, allow_infinity=False, places=2, min_value=-(10**6), max_value=10**6),
    st.decimals(allow_nan=False, allow_infinity=False, places=6, min_value=-(10**40), max_value=10**40),
    st.sampled_from([Decimal("0.00"), Decimal("-0.0"), Decimal(1), Decimal("9" * 28), Decimal("0.5")]),
    st.builds(
        lambda digits, places: Decimal(digits).scaleb(-places),
        st.integers(-(10**27), 10**27),
        st.integers(0, 30),
    ),
)
values = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**62), 2**62), st.integers(-10, 10), exacts, st.text(max_size=3)
)


class Pair:
    """One expression in both engines."""

    def __init__(self, expression: str) -> None:
        self._program = library.load_program("arithmetic.toml", text=PROFILE.format(expression=expression))
        self._compiled = native_program.compiled(self._program, ProgramLayout(self._program))

    def by_python(self, row: tuple[Any, ...]) -> bytes | str:
        talk = Generator(self._program, 1, 0).start_interactive(0)
        next(talk)
        try:
            _, bound = talk.send([row])
            return ExecuteCommand(2, 1, "utf8").packet(bound)
        except (TuibenchError, ValueError):
            return UNDEFINED

    def by_native(self, row: tuple[Any, ...]) -> bytes | str:
        stream = native.Stream(self._compiled, "1", 0, native_program.stream_key, [1, 2], False)
        stream.begin(0)
        stream.next(0, None)
        try:
            _, packet = stream.next(0, [list(row)])
        except ValueError:
            return UNDEFINED
        return bytes(packet)


@for_each("expression", EXPRESSIONS)
def test_both_engines_compute_the_same(expression: str) -> None:
    pair = Pair(expression)

    @given(values, values)
    @example(Decimal("1E+3"), 7)
    @example("12", Decimal("0.5"))
    def same(a: Any, b: Any) -> None:
        assert pair.by_native((a, b)) == pair.by_python((a, b))

    same()
