"""Values have the same limits in both engines, with the same error; a panic is an error of one line."""

import struct
from random import Random

import msgspec
import pytest

from tests import differential
from tests.differential import begin_of, outcome
from tests.unit.mysql.protocol.server_packets import definition, ok, result
from tuibench.load.engine.asyncio.engine import AsyncioEngine
from tuibench.load.engine.native import program as native_program
from tuibench.load.engine.native.engine import NativeEngine
from tuibench.model.plan import OnError
from tuibench.workload import library
from tuibench.workload.program import limits
from tuibench.workload.program.program import Program, Turns

pytestmark = pytest.mark.skipif(native_program.module() is None, reason="tuibench-native is not installed")

engines = pytest.mark.parametrize("kind", [AsyncioEngine, NativeEngine])

LONGLONG, DECIMAL, TEXT, BYTES, NO_TEXT = 8, 246, 253, 252, 63

PROFILE = """
name = "limits"
summary = "a captured value, and what is made of it"
data_set = "none"
[[transactions]]
name = "one"
autocommit = true
[[transactions.steps]]
let.n = 0
let.l = "[1, 2]"
let.w = "[l, 1][0]"
statements = [{ name = "first", sql = "SELECT fuzz", prepared = PREPARED, CAPTURE }]
[[transactions.steps]]
"""

TELL = 'statements = [{ name = "tell", sql = "DO fuzz ?", bind = ["n"] }]'


class OneResult(differential.FuzzServer):
    """Answers a SELECT with this column and these values, and all else with an OK."""

    def __init__(self, kind: int, values: list[bytes], charset: int = 45) -> None:
        super().__init__(0, without_eof=True)
        self._column = definition(kind, charset)
        self._values = values

    def statement_answer(self, random: Random, *, is_select: bool, is_binary: bool) -> bytes:
        if not is_select:
            return ok()
        wide = LONGLONG in self._column and is_binary
        rows = [
            b"\x00\x00" * is_binary + (value if wide else differential.sized(value)) for value in self._values
        ]
        return result(rows, columns=[self._column])


def program(step: str, *, capture: str = 'capture = ["v"]', prepared: bool = True) -> Program:
    text = PROFILE.replace("PREPARED", str(prepared).lower()).replace("CAPTURE", capture)
    return library.load_program("limits.toml", text=text + step)


def doubled(value: str) -> str:
    return f'repeat = 60\nlet.v = "{value}"'


EXCEEDED = [
    (doubled("v + v"), TEXT, b"x", limits.TOO_LONG),
    (doubled("v + v"), TEXT, "é".encode() * 1001, limits.TOO_LONG),
    (doubled("v + v"), BYTES, b"x", limits.TOO_MANY_BYTES),
    (doubled("l"), TEXT, b"x" * 1_000_001, limits.TOO_LONG),
    (doubled("l"), BYTES, b"x" * 1_000_001, limits.TOO_MANY_BYTES),
    ('repeat = 60\nlet.w = "w + w"', TEXT, b"x", limits.TOO_MANY_ITEMS),
    ('repeat = 60\nlet.l = "[l, l]"', TEXT, b"x", limits.TOO_DEEP),
    ('let.n = "v * v"', DECIMAL, b"1e2000000000", limits.TOO_LARGE_DECIMAL),
    ('let.n = "v * v"', DECIMAL, b"1e-2000000000", limits.TOO_LARGE_DECIMAL),
    ('let.n = "v * v"', DECIMAL, b"1" + b"0" * 60, limits.TOO_LARGE_DECIMAL),
    ('let.n = "v * v"', DECIMAL, b"0." + b"0" * 60 + b"7", limits.TOO_LARGE_DECIMAL),
    ('let.n = "v * v"', DECIMAL, b"0." + b"0" * 100 + b"7", limits.TOO_LARGE_DECIMAL),
    ('repeat = 60\nlet.v = "v * -7"', LONGLONG, b"7", limits.TOO_MANY_DIGITS),
    (
        'let.n = { make = "list", of = { make = "serial" }, count = "v" }',
        LONGLONG,
        b"100001",
        limits.TOO_MANY_ITEMS,
    ),
    ('repeat = "v"', LONGLONG, b"100001", limits.TOO_MANY_REPETITIONS),
    ('repeat = "v"', DECIMAL, b"9" * 90, limits.TOO_MANY_REPETITIONS),
    ('each = "v"\ninto = ["x"]', TEXT, b"x" * 100_001, limits.TOO_MANY_ITEMS),
    ('table = "v"', DECIMAL, b"9" * 39, limits.TOO_MANY_DIGITS),
]


@engines
@pytest.mark.parametrize(("step", "column", "value", "message"), EXCEEDED)
@pytest.mark.parametrize("prepared", [True, False])
async def test_a_value_that_exceeds_its_limit_ends_the_run(
    kind: differential.EngineKind, step: str, column: int, value: bytes, message: str, prepared: bool
) -> None:
    charset = NO_TEXT if column == BYTES else 45
    sent = struct.pack("<q", int(value)) if column == LONGLONG and prepared else value
    begin = begin_of(program(f"{step}\n{TELL}", prepared=prepared), 1, OnError.CONTINUE)
    made = await outcome(kind, begin, OneResult(column, [sent], charset))
    told, _, exit_code = made.failure
    assert (told, exit_code) == (f"limits: the transaction 'one' cannot be computed: {message}", 1)
    assert (made.counters["failed"], made.counters["in_flight"]) == (1, 0)


@engines
@pytest.mark.parametrize(("rows", "message"), [(100_000, ""), (100_001, limits.TOO_MANY_VALUES)])
async def test_a_captured_result_has_a_limit_of_values(
    kind: differential.EngineKind, rows: int, message: str
) -> None:
    begin = begin_of(program(TELL, capture='rows = "v"'), 1, OnError.STOP)
    made = await outcome(kind, begin, OneResult(TEXT, [b"x"] * rows))
    assert made.failure[0].endswith(message)
    assert bool(made.failure[0]) is bool(message)


@engines
async def test_a_captured_response_has_a_limit_of_bytes(kind: differential.EngineKind) -> None:
    begin = begin_of(program(TELL, capture='rows = "v"'), 1, OnError.STOP)
    made = await outcome(kind, begin, OneResult(TEXT, [b"x" * 900_000] * 19))
    assert made.failure[0].endswith("violated the MySQL protocol: its response has more than 16 MiB")
    assert (made.failure[2], made.counters["errors"]) == (3, {2014: 1})


PART = """
statements = [{ name = "tell", sql = "DO fuzz {all}", parts.all = { sql = "?", repeat = 17, bind = ["v"] } }]
"""
MANY = 'statements = [{ name = "tell", sql = "DO fuzz MARKS", bind = [BIND] }]'


@engines
@pytest.mark.parametrize(
    "step", [PART, MANY.replace("MARKS", ", ".join("?" * 17)).replace("BIND", "'v'," * 17)]
)
async def test_a_statement_has_a_limit_of_characters(kind: differential.EngineKind, step: str) -> None:
    made = await outcome(kind, begin_of(program(step), 1, OnError.STOP), OneResult(TEXT, [b"x" * 1_000_000]))
    assert made.failure[0].endswith(limits.TOO_MUCH_BOUND)


STATIC = """
name = "drawn"
summary = "statements that are drawn before the first is sent"
data_set = "none"
[[transactions]]
name = "one"
autocommit = true
[[transactions.steps]]
repeat = 100
"""
LETS = "".join(f'let.v{n + 1} = "v{n} + v{n}"\n' for n in range(16))


@engines
@pytest.mark.parametrize("is_static", [True, False])
async def test_statements_that_are_drawn_at_once_have_a_limit_of_characters(
    kind: differential.EngineKind, is_static: bool
) -> None:
    text = STATIC if is_static else STATIC + 'index = "i"\n'
    text += f'let.v0 = {{ make = "digits", groups = 1 }}\n{LETS}'
    text += 'statements = [{ name = "tell", sql = "DO fuzz ?", bind = ["v16"] }]'
    made = library.load_program("drawn.toml", text=text)
    ended = await outcome(kind, begin_of(made, 1, OnError.STOP), OneResult(TEXT, []))
    assert ended.failure[0].endswith(limits.TOO_MUCH_DRAWN)
    assert ended.asked == []


@engines
async def test_a_text_in_another_encoding_fails_its_transaction_only(kind: differential.EngineKind) -> None:
    made = program(TELL)
    server = OneResult(TEXT, [b"\xff"])
    ended = await outcome(kind, begin_of(made, 3, OnError.CONTINUE), server)
    assert (ended.failure[0], ended.counters["failed"], ended.counters["errors"]) == ("", 3, {1300: 3})
    assert (server.logins, len(ended.asked)) == (1, 3)
    stopped = await outcome(kind, begin_of(made, 3, OnError.STOP), OneResult(TEXT, [b"\xff"]))
    assert stopped.failure[0].startswith("the server sent a text that is not in utf8mb4")
    assert (stopped.failure[2], stopped.counters["failed"]) == (1, 1)


async def test_a_panic_is_one_line_and_its_transaction_has_failed(capfd: pytest.CaptureFixture[str]) -> None:
    """A program that no profile makes: its turns name a transaction that it does not have."""
    made = msgspec.structs.replace(program(TELL), turns=Turns(cycle=(5,), count=3))
    ended = await outcome(NativeEngine, begin_of(made, 9, OnError.CONTINUE), OneResult(TEXT, []))
    told, hint, exit_code = ended.failure
    assert told.startswith("the native engine failed: index out of bounds")
    assert "\n" not in told
    assert ("bug" in hint, exit_code) == (True, 1)
    assert (ended.counters["scheduled"], ended.counters["failed"], ended.counters["in_flight"]) == (1, 1, 0)
    assert capfd.readouterr().err == ""


async def test_random_rounds_have_the_same_outcome_in_both_engines() -> None:
    assert await differential.differences(0, 60, 60, most_mib=1e9) == []
