"""The native engine does the same as the asyncio engine."""

import struct
from collections.abc import Iterator, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from random import Random
from typing import Any

import msgspec
import pytest
from asyncmy import converters
from hypothesis import example, given
from hypothesis import strategies as st

from tests import differential
from tests.differential import begin_of, outcome
from tests.tables import for_each
from tests.unit.mysql.server_packets import definition as limits_definition
from tests.unit.mysql.server_packets import ok, result
from tests.unit.workload.test_tpcc import shop
from tuibench.base import installation
from tuibench.base.errors import SQLError, TuibenchError
from tuibench.load import native_engine as native_program
from tuibench.load.asyncio_engine import AsyncioEngine
from tuibench.load.native_engine import NativeEngine
from tuibench.model.plan import OnError
from tuibench.mysql.connection import ENCODING
from tuibench.mysql.packets import ExecuteCommand, ResponseParser, text_packet
from tuibench.mysql.rows import ResultReader, binary_row_reader, text_row_reader
from tuibench.workload import library, limits
from tuibench.workload.generator import TransactionGenerator
from tuibench.workload.program import Program, ProgramLayout, Turns
from tuibench.workload.sql import split_at_placeholders

# The native engine sends what the Python engine sends: packet by packet, over every built-in profile.


native = installation.native_module()
pytestmark = pytest.mark.skipif(native is None, reason="tuibench-native is not installed")

SMALL = {"tables": 4, "table_size": 1_000, "threads": 3}
TRANSACTIONS = 30
PROFILES = sorted(library.available_profiles())
Rows = Sequence[Sequence[Any]]
FURTHER: dict[str, Any] = {
    "savings_for_update": [(Decimal("18.00"),)],
    "checking_for_update": [(Decimal("7.50"),)],
    "find_subscriber": [(7,)],
    "find_facility": [(2,)],
    "find_facilities": [(1,), (3,)],
    "counter": [(41,)],
    "doctors": [(1, 12), (1, 13)],
    "doctors_for_update": [(1, 14), (1, 15)],
    "balance": [(93,)],
    "bookings": [(4, 10)],
    "draft": [(0,)],
}
"""Answers to the statements of SmallBank, TATP and the anomaly meter that capture."""


def program(name: str, **options: object) -> Program:
    known = set(library.load_profile(name).options)
    return library.load_program(
        name, {**{key: value for key, value in SMALL.items() if key in known}, **options}
    )


class Reference:
    """The Python engine's packets, with the numbers of prepared statements made up."""

    def __init__(self, program: Program, connection: int, *, prepared: bool) -> None:
        layout = ProgramLayout(program)
        self.flat = layout.statements
        self.generator = TransactionGenerator(program, 7, connection, layout)
        self.identities = [
            index + 1 if flat.prepared and prepared else 0 for index, flat in enumerate(self.flat)
        ]

    def packet(self, index: int, values: tuple[Any, ...]) -> bytes:
        sql, identity = self.flat[index].sql, self.identities[index]
        parts = split_at_placeholders(sql)
        if identity:
            return ExecuteCommand(identity, len(parts) - 1, ENCODING).packet(values)
        whole = parts[0] + "".join(
            quoted(value) + part for value, part in zip(values, parts[1:], strict=True)
        )
        return text_packet(whole, ENCODING)


def quoted(value: Any) -> str:
    if type(value) is int:
        return str(value)
    return (
        f"'{converters.escape_string(value)}'"
        if isinstance(value, str)
        else str(converters.escape_item(value, "utf8mb4"))
    )


def pair(made: Program, connection: int, *, prepared: bool) -> tuple[Reference, Any]:
    """A connection in both engines; the native one shares its code with connection 1 where it can."""
    ours = Reference(made, connection, prepared=prepared)
    compiled = native_program.compiled(made, ProgramLayout(made))
    common = (native_program.stream_key, ours.identities, False)
    first = native.Stream(compiled, "7", 1, *common)
    return ours, native.Stream(compiled, "7", connection, *common, like=first)


def at_once(ours: Reference, which: int) -> list[tuple[int, bytes]]:
    return [(index, ours.packet(index, values)) for index, values in ours.generator.calls[which]()]


def answered(ours: Reference, theirs: Any, which: int, answer: Any) -> Iterator[tuple[Any, Any]]:
    """Both engines' calls of an interactive transaction, on the same answers."""
    talk, rows = ours.generator.start_interactive(which), None
    theirs.begin(which)
    while True:
        try:
            index, values = talk.send(rows)
        except StopIteration:
            yield None, theirs.next(which, rows)
            return
        yield (index, ours.packet(index, values)), theirs.next(which, rows)
        flat = ours.flat[index]
        rows = [list(row) for row in answer(flat.name, values)] if flat.captures else None


@for_each("prepared", [True, False])
@for_each(("name", "options"), [*((name, {}) for name in PROFILES), ("tpcc", {"batch": True})])
def test_the_same_seed_gives_the_same_packets(name: str, options: dict[str, Any], prepared: bool) -> None:
    made = program(name, **options)
    for connection in (0, 1, 7):
        ours, theirs = pair(made, connection, prepared=prepared)
        for _ in range(TRANSACTIONS):
            which = ours.generator.draw()
            assert theirs.draw() == which
            if not made.transactions[which].interactive:
                assert theirs.calls(which) == at_once(ours, which)
                continue
            for our_call, their_call in answered(ours, theirs, which, shop(**FURTHER)):
                assert our_call == their_call


PARTS = """name = "parts"
summary = "parts of statements"
data_set = "none"
[[transactions]]
name = "one"
autocommit = true
[[transactions.steps]]
statements = [{ name = "s", sql = "SELECT ?, {p}, ?", bind = ["connection", "0.5"], parts.p = { sql = "(?, ?)", repeat = 5, index = "i", let.x = { make = "uniform", high = 99 }, bind = ["i * 2", "x"] } }]
[[transactions.steps]]
let.n = { make = "uniform", low = 1, high = 4 }
let.few = { make = "list", distinct = true, count = "n", of = { make = "nurand", a = 3, low = 1, high = 5 } }
let.sums = { make = "list", distinct = true, ordered = true, count = "n", of = { make = "decimal", low = -1, high = 0, places = 1 } }
statements = [{ name = "t", sql = "SELECT {p}", parts.p = { sql = "(?, ?, ?)", repeat = "n", index = "i", bind = ["few[i - 1]", "sums[i - 1]", "i"] } }]
"""  # noqa: E501


def test_parts_of_statements_are_the_same() -> None:
    made = library.load_program("parts.toml", text=PARTS)
    for connection in (0, 3):
        ours, theirs = pair(made, connection, prepared=True)
        for _ in range(TRANSACTIONS):
            assert theirs.calls(0) == at_once(ours, 0)


@pytest.mark.parametrize("kind", ["uniform", "gaussian", "special", "pareto", "zipfian"])
def test_the_same_keys_are_drawn_from_every_distribution(kind: str) -> None:
    ours, theirs = pair(program("oltp_read_write", rand_type=kind), 2, prepared=True)
    for _ in range(TRANSACTIONS):
        assert theirs.calls(0) == at_once(ours, 0)


WIDE = """name = "wide"
summary = "numbers of more than 64 bits"
data_set = "none"
[[transactions]]
name = "one"
autocommit = true
[[transactions.steps]]
let.key = { make = "key", low = -9223372036854775808, high = 18446744073709551615 }
let.far = { make = "uniform", low = -40000000000000000000000000000000000000, high = 50000000000000000000000000000000000000 }
let.own = { make = "uniform", low = "connection", high = "connection * 99999999999999999999" }
let.money = { make = "decimal", low = -1234567890123456, high = 9876543210987654, places = 12 }
let.count = { make = "serial", first = 99999999999999999999 }
statements = [{ name = "s", sql = "SELECT ?, ?, ?, ?, ?", bind = ["key", "far", "own", "money", "count"] }]
"""  # noqa: E501


@pytest.mark.parametrize("kind", ["uniform", "gaussian", "special", "pareto", "zipfian"])
def test_numbers_of_more_than_64_bits_are_the_same(kind: str) -> None:
    made = library.load_program("wide.toml", {"rand_type": kind}, text=WIDE)
    ours, theirs = pair(made, 3, prepared=False)
    for _ in range(TRANSACTIONS):
        assert theirs.calls(0) == at_once(ours, 0)


@pytest.mark.parametrize("batch", [False, True])
def test_tpcc_with_many_warehouses_and_remote_orders_is_the_same(batch: bool) -> None:
    made = program("tpcc", warehouses=3, any_warehouse=True, batch=batch)
    ours, theirs = pair(made, 4, prepared=True)
    answers = Random(3)
    for _ in range(400):
        which = ours.generator.draw()
        assert theirs.draw() == which
        missing = answers.random() < 0.1
        answer = shop(**({"customers_by_name": [], "deliver_oldest": []} if missing else {}))
        for our_call, their_call in answered(ours, theirs, which, answer):
            assert our_call == their_call


def test_new_weights_change_both_alike() -> None:
    made = program("tpcc")
    ours, theirs = pair(made, 0, prepared=True)
    weights = [1.0, 2.0, 0.0, 3.0, 4.0]
    ours.generator.set_weights(weights)
    theirs.set_weights(weights)
    drawn = [ours.generator.draw() for _ in range(100)]
    assert [theirs.draw() for _ in range(100)] == drawn


def test_pauses_are_the_same() -> None:
    made = program("tpcc", think_time=True)
    ours, theirs = pair(made, 5, prepared=True)
    pauses = ours.generator.pauses
    for last, following in [(0, 1), (1, 2), (4, 0)] * 10:
        assert theirs.pause(last, following) == pauses.after(last) + pauses.before(following)


# The native engine reads answers as the Python engine does: however they are cut, and damaged ones too.


OK = b"\x00\x03\x00\x02\x00\x00\x00"
MORE = b"\x00\x01\x00\x0a\x00\x00\x00"
END = b"\xfe\x00\x00\x02\x00\x00\x00"
EOF = b"\xfe\x00\x00\x02\x00"
LONG, DOUBLE, TEXT, EXACT, DAY, MOMENT, SPAN = 3, 5, 253, 246, 10, 12, 11
UTF8, BINARY = 45, 63


def definition(kind: int, charset: int = BINARY, decimals: int = 0) -> bytes:
    """A column's definition: six names, then its numbers."""
    numbers = charset.to_bytes(2, "little") + bytes(4) + bytes((kind, 0, 0, decimals, 0, 0))
    return b"\x03def" + b"\x01x" * 5 + b"\x0c" + numbers


def train(*payloads: bytes, first: int = 1) -> bytes:
    return b"".join(
        len(payload).to_bytes(3, "little") + bytes((number & 0xFF,)) + payload
        for number, payload in enumerate(payloads, first)
    )


ANSWERS = [
    train(OK),
    train(MORE, OK),
    train(b"\x01", definition(LONG), b"\x011", b"\x0222", END),
    train(b"\x01\x00", b"\x011", END),
    train(b"\x02\x01", definition(LONG), definition(TEXT, UTF8), b"\x011\x01a", END),
    train(b"\x01", definition(LONG), END),
    train(b"\xff\xbd\x04#40001Deadlock found"),
    train(b"\x01", definition(LONG), b"\x011", b"\xff\x25\x05#70100Query execution was interrupted"),
]


def python_verdict(data: bytes, *, without_eof: bool, cut: int) -> object:
    answer = ResponseParser(without_eof=without_eof)
    try:
        for start in range(0, len(data), cut):
            affected = answer.feed(data[start : start + cut])
            if affected is not None:
                return affected
    except SQLError as error:
        return error.code
    return None


def native_verdict(data: bytes, *, without_eof: bool, cut: int) -> object:
    reader = native.Reader(without_eof, False, [])
    for start in range(0, len(data), cut):
        verdict = reader.feed(data[start : start + cut])
        if verdict is not None:
            return verdict[0] if isinstance(verdict, tuple) else verdict
    return None


@for_each("answer", ANSWERS)
@for_each("cut", [1, 2, 3, 7, 1000])
def test_answers_mean_the_same(answer: bytes, cut: int) -> None:
    told = native_verdict(answer, without_eof=True, cut=cut)
    assert told is not None
    assert told == python_verdict(answer, without_eof=True, cut=cut)


def test_answers_with_eofs_mean_the_same() -> None:
    answer = train(b"\x01", definition(LONG), EOF, b"\x011", b"\x012", EOF)
    assert native_verdict(answer, without_eof=False, cut=5) == 2
    assert python_verdict(answer, without_eof=False, cut=5) == 2


@given(
    st.sampled_from(ANSWERS),
    st.lists(st.tuples(st.integers(0, 80), st.integers(0, 255)), max_size=3),
    st.integers(1, 40),
)
def test_damaged_answers_mean_the_same(answer: bytes, changes: list[tuple[int, int]], cut: int) -> None:
    damaged = bytearray(answer)
    for place, byte in changes:
        damaged[place % len(damaged)] = byte
    data = bytes(damaged)
    ours = python_verdict(data, without_eof=True, cut=cut)
    assert native_verdict(data, without_eof=True, cut=cut) == ours


def shown(value: Any) -> tuple[str, str]:
    """A value as the native reader shows it."""
    match value:
        case None:
            return "NoneType", ""
        case Decimal():
            return "decimal.Decimal", format(value, "f")
        case float():
            return "float", repr(value)
        case bytes():
            return "bytes", value.hex()
        case datetime():
            return "datetime.datetime", value.isoformat(" ")
        case date():
            return "datetime.date", value.isoformat()
        case timedelta():
            return "datetime.timedelta", str(value // timedelta(microseconds=1))
        case _:
            return type(value).__name__, str(value)


def same_rows(definitions: Sequence[bytes], rows: Sequence[bytes], *, is_binary: bool) -> None:
    answer = train(bytes((len(definitions),)), *definitions, *rows, END)
    reader = native.Reader(True, is_binary, [])
    form = binary_row_reader if is_binary else text_row_reader
    ours: object
    try:
        read = ResultReader(form, "utf-8", without_eof=True).read(answer)
        ours = [[shown(value) for value in row] for row in read]
    except SQLError:
        ours = "unreadable"
    try:
        assert reader.rows(answer) == ours
    except ValueError:
        assert ours == "unreadable"


TEXTS = [
    (definition(LONG), [b"0", b"-7", b"2147483647"]),
    (definition(DOUBLE), [b"1.5", b"1e22", b"0.1", b"-0.00001"]),
    (definition(EXACT, decimals=2), [b"12.50", b"-0.00", b"0.0000000000000000000000000000001"]),
    (definition(TEXT, UTF8), [b"", "Käse".encode(), b"\xff"]),
    (definition(TEXT), [b"\x00\xff"]),
    (definition(DAY), [b"2024-02-29", b"2024-02-31", b"0000-00-00"]),
    (definition(SPAN), [b"-838:59:59", b"01:02:03.5"]),
]


@pytest.mark.parametrize(("column", "values"), TEXTS)
def test_values_in_text_are_the_same(column: bytes, values: list[bytes]) -> None:
    for value in values:
        same_rows([column], [bytes((len(value),)) + value], is_binary=False)
    same_rows([column, column], [b"\xfb\xfb"], is_binary=False)


BINARIES = [
    (definition(LONG), [b"\xff\xff\xff\xff", b"\x01\x00\x00\x00"]),
    (definition(DOUBLE), [b"\x00\x00\x00\x00\x00\x00\xf8\x3f"]),
    (definition(EXACT), [b"\x0512.50"]),
    (definition(TEXT, UTF8), [b"\x03abc", b"\xfc\x03\x00abc"]),
    (definition(DAY), [b"\x04\xe8\x07\x02\x1d", b"\x00"]),
    (definition(SPAN), [b"\x08\x01\x01\x00\x00\x00\x02\x03\x04", b"\x00"]),
    (definition(MOMENT, decimals=3), [b"\x04\xe8\x07\x02\x1f", b"\x00"]),
]


@pytest.mark.parametrize(("column", "values"), BINARIES)
def test_binary_values_are_the_same(column: bytes, values: list[bytes]) -> None:
    for value in values:
        same_rows([column], [b"\x00\x00" + value], is_binary=True)
    same_rows([column], [b"\x00\x04"], is_binary=True)


@given(st.binary(max_size=40), st.booleans())
def test_what_is_no_row_is_refused_by_both(row: bytes, is_binary: bool) -> None:
    columns = [definition(LONG), definition(TEXT), definition(SPAN)]
    if row and row[0] not in (0xFE, 0xFF):
        same_rows(columns, [row], is_binary=is_binary)


# Expressions have the same values in both engines; what has no value is refused by both.


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
        talk = TransactionGenerator(self._program, 1, 0).start_interactive(0)
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


# Values have the same limits in both engines, with the same error; a panic is an error of one line.


engines = pytest.mark.parametrize("kind", [AsyncioEngine, NativeEngine])

LONGLONG, DECIMAL, LIMITS_TEXT, BYTES, NO_TEXT = 8, 246, 253, 252, 63

LIMITS_PROFILE = """
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
        self._column = limits_definition(kind, charset)
        self._values = values

    def statement_answer(self, random: Random, *, is_select: bool, is_binary: bool) -> bytes:
        if not is_select:
            return ok()
        wide = LONGLONG in self._column and is_binary
        rows = [
            b"\x00\x00" * is_binary + (value if wide else differential.sized(value)) for value in self._values
        ]
        return result(rows, columns=[self._column])


def limits_program(step: str, *, capture: str = 'capture = ["v"]', prepared: bool = True) -> Program:
    text = LIMITS_PROFILE.replace("PREPARED", str(prepared).lower()).replace("CAPTURE", capture)
    return library.load_program("limits.toml", text=text + step)


def doubled(value: str) -> str:
    return f'repeat = 60\nlet.v = "{value}"'


EXCEEDED = [
    (doubled("v + v"), LIMITS_TEXT, b"x", limits.TOO_LONG),
    (doubled("v + v"), LIMITS_TEXT, "é".encode() * 1001, limits.TOO_LONG),
    (doubled("v + v"), BYTES, b"x", limits.TOO_MANY_BYTES),
    (doubled("l"), LIMITS_TEXT, b"x" * 1_000_001, limits.TOO_LONG),
    (doubled("l"), BYTES, b"x" * 1_000_001, limits.TOO_MANY_BYTES),
    ('repeat = 60\nlet.w = "w + w"', LIMITS_TEXT, b"x", limits.TOO_MANY_ITEMS),
    ('repeat = 60\nlet.l = "[l, l]"', LIMITS_TEXT, b"x", limits.TOO_DEEP),
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
    (
        'let.n = { make = "list", of = { make = "serial" }, count = "v", distinct = true }',
        LONGLONG,
        b"1001",
        limits.TOO_MANY_DISTINCT,
    ),
    (
        'let.n = { make = "list", of = { make = "uniform", high = 101 }, count = "v", distinct = true }',
        LONGLONG,
        b"102",
        limits.TOO_FEW_DISTINCT,
    ),
    ('repeat = "v"', LONGLONG, b"100001", limits.TOO_MANY_REPETITIONS),
    ('repeat = "v"', DECIMAL, b"9" * 90, limits.TOO_MANY_REPETITIONS),
    ('each = "v"\ninto = ["x"]', LIMITS_TEXT, b"x" * 100_001, limits.TOO_MANY_ITEMS),
    ('table = "v"', DECIMAL, b"9" * 39, limits.TOO_MANY_DIGITS),
]


@engines
@for_each(("step", "column", "value", "message"), EXCEEDED)
@for_each("prepared", [True, False])
async def test_a_value_that_exceeds_its_limit_ends_the_run(
    kind: differential.EngineKind, step: str, column: int, value: bytes, message: str, prepared: bool
) -> None:
    charset = NO_TEXT if column == BYTES else 45
    sent = struct.pack("<q", int(value)) if column == LONGLONG and prepared else value
    begin = begin_of(limits_program(f"{step}\n{TELL}", prepared=prepared), 1, OnError.CONTINUE)
    made = await outcome(kind, begin, OneResult(column, [sent], charset))
    told, _, exit_code = made.failure
    assert (told, exit_code) == (f"limits: the transaction 'one' cannot be computed: {message}", 1)
    assert (made.counters["failed"], made.counters["in_flight"]) == (1, 0)


@engines
@pytest.mark.parametrize(("rows", "message"), [(100_000, ""), (100_001, limits.TOO_MANY_VALUES)])
async def test_a_captured_result_has_a_limit_of_values(
    kind: differential.EngineKind, rows: int, message: str
) -> None:
    begin = begin_of(limits_program(TELL, capture='rows = "v"'), 1, OnError.STOP)
    made = await outcome(kind, begin, OneResult(LIMITS_TEXT, [b"x"] * rows))
    assert made.failure[0].endswith(message)
    assert bool(made.failure[0]) is bool(message)


@engines
async def test_a_captured_response_has_a_limit_of_bytes(kind: differential.EngineKind) -> None:
    begin = begin_of(limits_program(TELL, capture='rows = "v"'), 1, OnError.STOP)
    made = await outcome(kind, begin, OneResult(LIMITS_TEXT, [b"x" * 900_000] * 19))
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
    made = await outcome(
        kind, begin_of(limits_program(step), 1, OnError.STOP), OneResult(LIMITS_TEXT, [b"x" * 1_000_000])
    )
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
    ended = await outcome(kind, begin_of(made, 1, OnError.STOP), OneResult(LIMITS_TEXT, []))
    assert ended.failure[0].endswith(limits.TOO_MUCH_DRAWN)
    assert ended.asked == []


@engines
async def test_a_text_in_another_encoding_fails_its_transaction_only(kind: differential.EngineKind) -> None:
    made = limits_program(TELL)
    server = OneResult(LIMITS_TEXT, [b"\xff"])
    ended = await outcome(kind, begin_of(made, 3, OnError.CONTINUE), server)
    assert (ended.failure[0], ended.counters["failed"], ended.counters["errors"]) == ("", 3, {1300: 3})
    assert (server.logins, len(ended.asked)) == (1, 3)
    stopped = await outcome(kind, begin_of(made, 3, OnError.STOP), OneResult(LIMITS_TEXT, [b"\xff"]))
    assert "the server sent a text that is not in utf8mb4" in stopped.failure[0]
    assert (stopped.failure[2], stopped.counters["failed"]) == (1, 1)


async def test_a_panic_is_one_line_and_its_transaction_has_failed(capfd: pytest.CaptureFixture[str]) -> None:
    """A program that no profile makes: its turns name a transaction that it does not have."""
    made = msgspec.structs.replace(limits_program(TELL), turns=Turns(cycle=(5,), count=3))
    ended = await outcome(NativeEngine, begin_of(made, 9, OnError.CONTINUE), OneResult(LIMITS_TEXT, []))
    told, hint, exit_code = ended.failure
    assert told.startswith("the native engine failed: index out of bounds")
    assert "\n" not in told
    assert ("bug" in hint, exit_code) == (True, 1)
    assert (ended.counters["scheduled"], ended.counters["failed"], ended.counters["in_flight"]) == (1, 1, 0)
    assert capfd.readouterr().err == ""


async def test_random_rounds_have_the_same_outcome_in_both_engines() -> None:
    assert await differential.differences(0, 60, 60, most_mib=1e9) == []
