"""`python -m tests.differential --seconds 3600`: both engines run random programs on the same random bytes.

Each round has a program and a server that depend on its number only. The server answers with rows of every
type, text and binary, with errors, and with damaged bytes. Both engines must send the same statements, count
the same and end with the same error, and the process must stay small. `--first N --rounds 1` repeats round N.
`tests/unit/load/test_native_engine.py` runs some rounds.
"""

import argparse
import asyncio
import resource
import struct
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

import msgspec

from tests.scripted_server import (
    CAPABILITIES,
    DEPRECATE_EOF,
    PREPARE,
    QUERY,
    ScriptedServer,
)
from tests.unit.mysql.server_packets import MORE_RESULTS, definition, err, number, ok, packet, result
from tuibench.base import installation
from tuibench.base.clock import SystemClock
from tuibench.base.errors import TuibenchError
from tuibench.load.asyncio_engine import AsyncioEngine
from tuibench.load.engine import BaseEngine
from tuibench.load.messages import ExecutionOptions, StartLoad
from tuibench.load.native_engine import NativeEngine
from tuibench.model.plan import Arrival, Backlog, OnError
from tuibench.workload import library
from tuibench.workload.generator import TransactionGenerator
from tuibench.workload.program import Program
from tuibench.workload.sql import split_at_placeholders

MOST_MIB = 200
ROUND_SECONDS, LOOK_SECONDS = 20.0, 0.001
EXECUTE, MARK = 0x17, b"fuzz"

# --- Programs ---

WORDS = ("a", "b", "c", "n", "s", "found")
CONSTANTS = (
    "0", "1", "2", "7", "60", "100001", "0.5", "1.50", "99999999999999999999", "0.0000000001", "'x'", "''",
    "'Käse'", "true", "false", "null", "connection", "99999999999999999999999999999999999999",
)  # fmt: skip
BINARY = ("+", "-", "*", "/", "//", "%", "==", "!=", "<", "<=", ">", ">=", "and", "or")


def expression(random: Random, names: Sequence[str], depth: int = 3) -> str:
    """An expression of these variables; mostly of the captured ones, whose types nobody knows."""

    def inner() -> str:
        return expression(random, names, depth - 1)

    kind = random.random() if depth else 1.0
    if kind < 0.4:
        return f"({inner()} {random.choice(BINARY)} {inner()})"
    if kind < 0.46:
        return f"{random.choice(('min', 'max'))}({inner()}, {inner()})"
    if kind < 0.5:
        return f"({inner()} if {inner()} else {inner()})"
    if kind < 0.55:
        return f"[{inner()}, {inner()}]"
    if kind < 0.6:
        return f"{random.choice(names)}[{random.choice(('0', '1', '2', inner()))}]"
    if kind < 0.64:
        return random.choice(("-{}", "(not {})", "len({})")).format(random.choice(names))
    return random.choice(names) if random.random() < 0.75 else random.choice(CONSTANTS)


def profile(random: Random) -> str:
    """The text of a profile; not every one is accepted."""
    explicit = random.random() < 0.3
    lines = [
        'name = "fuzz"\nsummary = "random steps"\ndata_set = "none"\n[[transactions]]\nname = "one"',
        f"autocommit = {str(not explicit).lower()}",
    ]
    names: list[str] = []
    if random.random() < 0.9:
        names = ["a", "b", "c", "n", "s", "found"]
        capture = random.choice((["a"], ["a", "b"], ["a", "b", "c"]))
        sent = [f'{{ name = "first", sql = "SELECT fuzz 1", capture = {capture}{_form(random)} }}']
        if random.random() < 0.6:
            sent.append(f'{{ name = "all", sql = "SELECT fuzz 2", rows = "found"{_form(random)} }}')
        lines.append(_step({"n": "0", "s": "\"'x'\"", "found": '"[1, 2]"', "b": "1", "c": '"null"'}, sent))
    for place in range(random.randrange(1, 5)):
        lines.append(_random_step(random, place, names))
    return "\n".join(lines)


def _form(random: Random) -> str:
    return ", prepared = false" if random.random() < 0.4 else ""


def _distinct(random: Random) -> str:
    return ", distinct = true" if random.random() < 0.4 else ""


def _part(random: Random, known: Sequence[str]) -> str:
    """A part of a statement, sometimes with variables of its own."""
    let = ', let.z = { make = "uniform", high = 9 }' if random.random() < 0.5 else ""
    inner = [*known, "j", *(["z"] if let else [])]
    bind = [expression(random, inner, random.randrange(2)) for _ in range(2)]
    size = random.randrange(1, 4)
    return f', parts.part = {{ sql = "(?, ?)", repeat = {size}, index = "j"{let}, bind = {bind} }}'


def _step(lets: dict[str, str], statements: Sequence[str], **keys: str) -> str:
    lines = ["[[transactions.steps]]", *(f"{key} = {value}" for key, value in keys.items())]
    lines += [f"let.{name} = {value}" for name, value in lets.items()]
    return "\n".join((*lines, f"statements = [{', '.join(statements)}]"))


def _random_step(random: Random, place: int, names: Sequence[str]) -> str:
    keys: dict[str, str] = {}
    drawn = {
        "k": '{ make = "uniform", low = -5, high = 9 }',
        "d": '{ make = "digits", groups = 2 }',
        "m": '{ make = "decimal", low = 0, high = 50 }',
        "l": '{ make = "list", of = { make = "uniform", high = 9 }, '
        f"count = {random.randrange(4)}{_distinct(random)} }}",
    }
    lets = {name: drawn[name] for name in random.sample(sorted(drawn), random.randrange(3))}
    if names and random.random() < 0.1:
        lets["q"] = (
            f'{{ make = "list", of = {{ make = "uniform", high = 9 }}, count = "{random.choice(names)}" }}'
        )
    known = [*names, *lets] or ["connection"]

    def quoted(depth: int) -> str:
        return '"' + expression(random, known, depth) + '"'

    chance = random.random()
    if names and chance < 0.15:
        keys["repeat"] = "60"
        grown = random.choice(names)
        lets[grown] = (
            '"'
            + random.choice(("{0} + {0}", "{0} * {0}", "[{0}, {0}]", "{0} / 7", "{0} * 3 + 1")).format(grown)
            + '"'
        )
    elif names and chance < 0.25:
        keys |= {"each": f'"{random.choice(names)}"', "into": str(random.choice((["x"], ["x", "y"])))}
        known = [*known, "x"]
    elif chance < 0.35:
        keys["repeat"] = random.choice(("2", quoted(1)))
        keys["index"] = '"i"'
        known = [*known, "i"]
    if random.random() < 0.15:
        keys["when"] = quoted(2)
    if random.random() < 0.05:
        keys["rollback"] = random.choice(("true", "0.5"))
        return _step({}, [], **{key: value for key, value in keys.items() if key in ("when", "rollback")})
    for name in random.sample(WORDS, random.randrange(3)) if names else ():
        lets[name] = quoted(3)
    bind = [expression(random, known, random.randrange(3)) for _ in range(random.randrange(4))]
    part = _part(random, known) if random.random() < 0.15 else ""
    marks = ", ".join([*["?"] * len(bind), *["{part}"] * bool(part)])
    verb = random.choice(("SELECT", "UPDATE", "DO"))
    captures = (
        f', capture = ["{random.choice("abc")}"]'
        if verb == "SELECT" and names and random.random() < 0.3
        else ""
    )
    return _step(
        lets,
        [
            f'{{ name = "s{place}", sql = "{verb} fuzz {place} {marks}", bind = {bind}'
            f"{captures}{_form(random)}{part} }}"
        ],
        **keys,
    )


def random_program(random: Random) -> Program:
    """A program that the profile language accepts, and connection 0, too: `1 // connection` has no value."""
    while True:
        try:
            made = library.load_program("fuzz.toml", text=profile(random))
            TransactionGenerator(made, 0, 0)
            return made
        except TuibenchError:
            continue


# --- Responses ---

UTF8, BYTES = 45, 63
KINDS = (
    0,
    1,
    2,
    3,
    4,
    5,
    6,
    7,
    8,
    9,
    10,
    11,
    12,
    13,
    14,
    15,
    16,
    245,
    246,
    247,
    248,
    249,
    250,
    252,
    253,
    254,
    255,
)
TEXTS = (
    b"", b"0", b"-1", b"+5", b"12", b"1.50", b"-0.00", b".5", b"5.", b"1e3", b"1E-7", b"1e400",
    b"1e2000000000", b"1e-2000000000", b"1e9999999999999", b"nan", b"inf", b"-Infinity", b"1_0", b" 7",
    b"7 ", b"\xd9\xa1", b"9" * 28, b"9" * 38, b"9" * 39, b"9" * 65, b"1" + b"0" * 99, b"1" + b"0" * 100,
    b"0." + b"0" * 98 + b"1", b"0." + b"0" * 99 + b"1", b"0." + b"0" * 100 + b"1", b"0" * 5000,
    b"18446744073709551615", b"-9223372036854775808", b"2024-02-29", b"2024-02-30", b"0000-00-00",
    b"20240229", b"2024-W09-4", b"2024-02-29 23:59:59", b"2024-02-29 23:59:59.5", b"2024-02-29T23:59:59",
    b"2024-02-29 23:59:59.123456", b"2024-02-29 23:59:59.1234567", b"2024-02-29 24:00:00",
    b"2024-02-29 23:59:59+01:00", b"9999-12-31 00:00:00", b"0000-00-00 00:00:00", b"00:00:00",
    b"-838:59:59", b"838:59:59.999999", b"839:00:00", b"1:2:3", b"01:60:61", b"-00:00:01.5", b"12:00",
    "Käse".encode(), b"\xff\xfe", b"\xed\xa0\x80", b"a'b\\c\n\0\x1a\"", b"x" * 250, b"x" * 300,
    b"\xf0\x9f\x98\x80",
)  # fmt: skip
FLOATS = (
    0.0,
    -0.0,
    1.5,
    0.1,
    1e22,
    1e35,
    1e34,
    -1e-30,
    1e-31,
    1e300,
    5e-324,
    float("inf"),
    float("nan"),
    123456.789,
)


@dataclass
class Final:
    """Bytes after which the server says nothing more on this connection."""

    data: bytes


def sized(value: bytes) -> bytes:
    return number(len(value)) + value


def random_text(random: Random, kind: int) -> bytes:
    if random.random() < 0.5:
        return random.choice(TEXTS)
    digits = str(random.randrange(10 ** random.choice((1, 3, 19, 30)))).encode()
    return {
        246: digits + b"." + str(random.randrange(10**6)).encode(),
        0: b"-" + digits,
        10: b"%04d-%02d-%02d" % (random.randrange(3000), random.randrange(14), random.randrange(33)),
        12: b"2021-%02d-11 %02d:05:06" % (random.randrange(14), random.randrange(25)),
        11: b"%02d:%02d:%02d" % (random.randrange(100), random.randrange(61), random.randrange(61)),
        4: repr(random.choice(FLOATS)).encode(),
        5: repr(random.choice(FLOATS)).encode(),
    }.get(kind, digits)


WIDTHS = {1: 1, 2: 2, 3: 4, 8: 8, 9: 4, 13: 2}


def random_binary(random: Random, kind: int) -> bytes:
    if kind in WIDTHS:
        return random.randbytes(WIDTHS[kind]) if random.random() < 0.7 else b"\xff" * WIDTHS[kind]
    if kind in (4, 5):
        value = random.choice(FLOATS)
        return (
            struct.pack("<f", value if abs(value) < 1e38 or value != value else 1.5)
            if kind == 4
            else struct.pack("<d", value)
        )
    if kind in (7, 10, 12, 14):
        date = struct.pack(
            "<HBB", random.choice((0, 1999, 2024, 9999, 12000)), random.randrange(14), random.randrange(33)
        )
        clock = bytes((random.randrange(25), random.randrange(61), random.randrange(61)))
        micros = struct.pack("<I", random.choice((0, 5, 999_999, 1_000_000, 4_294_967_295)))
        body = random.choice((b"", date, date + clock, date + clock + micros, date + clock[:1]))
        return bytes((len(body),)) + body
    if kind == 11:
        clock = bytes((random.randrange(25), random.randrange(61), random.randrange(61)))
        body = (
            bytes((random.randrange(3),))
            + struct.pack("<I", random.choice((0, 1, 34, 35, 10**6, 2**32 - 1)))
            + clock
        )
        body = random.choice((b"", body, body + struct.pack("<I", random.randrange(2_000_000)), body[:-1]))
        return bytes((len(body),)) + body
    return sized(random_text(random, kind))


def random_row(random: Random, kinds: Sequence[int], *, is_binary: bool) -> bytes:
    if not is_binary:
        return b"".join(
            b"\xfb" if random.random() < 0.1 else sized(random_text(random, kind)) for kind in kinds
        )
    nulls = [random.random() < 0.1 for _ in kinds]
    bitmap = sum(1 << place + 2 for place, is_null in enumerate(nulls) if is_null)
    values = (random_binary(random, kind) for kind, is_null in zip(kinds, nulls, strict=True) if not is_null)
    return b"\x00" + bitmap.to_bytes((len(kinds) + 9) // 8, "little") + b"".join(values)


def random_result(random: Random, *, is_binary: bool, without_eof: bool) -> bytes:
    kinds = [random.choice(KINDS) for _ in range(random.choice((1, 1, 2, 3, 3, 4)))]
    columns = [
        definition(kind, random.choice((UTF8, BYTES)), random.choice((0, 0x20)), random.randrange(8))
        for kind in kinds
    ]
    rows = [random_row(random, kinds, is_binary=is_binary) for _ in range(random.choice((0, 1, 1, 2, 5, 12)))]
    size = random.random()
    if size < 0.002:
        kinds, columns = [253], [definition(253)]
        text = random.choice(("x", "é")).encode() * random.choice((999_999, 1_000_001, 3_000_000, 9_000_000))
        rows = [b"\x00\x00" * is_binary + sized(text)]
    elif size < 0.004:
        kinds, columns = [253], [definition(253)]
        rows = [b"\x00\x04" if is_binary else b"\xfb"] * random.choice((99_999, 100_000, 100_001, 150_000))
    cached = random.random() < 0.02
    return result(rows, columns=columns, cached=cached, without_eof=without_eof)


INTERESTING = (0, 1, 2, 4, 7, 8, 0x7F, 0x80, 0xFB, 0xFC, 0xFE, 0xFF)


def damaged(random: Random, data: bytes) -> bytes:
    """Other bytes, a piece less, a piece twice, or the end cut off."""
    bytes_ = bytearray(data)
    for _ in range(random.randrange(1, 4)):
        place = random.randrange(len(bytes_)) if bytes_ else 0
        size = random.randrange(1, 12)
        match random.randrange(6):
            case 0 if bytes_:
                bytes_[place] = random.randrange(256)
            case 1 if bytes_:
                bytes_[place] = random.choice(INTERESTING)
            case 2:
                del bytes_[place : place + size]
            case 3:
                bytes_[place:place] = bytes_[place : place + size]
            case 4 if bytes_:
                bytes_[place] ^= 1 << random.randrange(8)
            case _:
                del bytes_[max(place, 4) :]
    return bytes(bytes_)


LOST_CODES = (1053, 1152, 1927)
CODES = (1213, 1205, 1062, 1064, 1142, 1290, 1300, 1317, 2013, *LOST_CODES)


def random_answer(random: Random, *, is_select: bool, is_binary: bool, without_eof: bool) -> bytes | Final:
    chance = random.random()
    if chance < 0.03:
        code = random.choice(CODES)
        answer = err(code, random.choice(("no", "Käse", "", "x" * 300)))
        return Final(answer) if code in LOST_CODES else answer
    if chance < 0.05:
        return Final(b"")
    if is_select == (random.random() < 0.98):
        answer = random_result(random, is_binary=is_binary, without_eof=without_eof)
    else:
        answer = ok(random.choice((0, 1, 1, 3, 250, 70_000)))
        if random.random() < 0.03:
            answer = ok(1, status=MORE_RESULTS) + ok(2, sequence=2)
    return Final(damaged(random, answer)) if random.random() < 0.08 else answer


class FuzzServer(ScriptedServer):
    """Answers the marked statements at random: their order, and the round, decide."""

    def __init__(self, round_number: int, *, without_eof: bool, encrypts: bool = False) -> None:
        capabilities = CAPABILITIES if without_eof else CAPABILITIES & ~DEPRECATE_EOF
        super().__init__(self._answer, capabilities=capabilities, encrypts=encrypts)
        self.asked: list[tuple[int, bytes]] = []
        self._round = round_number
        self._without_eof = without_eof
        self._prepared: list[bool] = []
        self._silent: set[asyncio.StreamWriter] = set()

    def _answer(self, command: int, payload: bytes) -> Any:
        if command == PREPARE:
            return self._prepare(payload)
        if command not in (QUERY, EXECUTE) or not (
            command == EXECUTE or MARK in payload or payload in (b"START TRANSACTION", b"COMMIT", b"ROLLBACK")
        ):
            return ok()
        random = Random(f"{self._round}:{len(self.asked)}")
        self.asked.append((command, payload))
        if command == QUERY and MARK not in payload:
            return err(1205, "wait") if random.random() < 0.02 else ok()
        is_select = b"SELECT" in payload if command == QUERY else self._prepared[_identity(payload) - 1]
        return self.statement_answer(random, is_select=is_select, is_binary=command == EXECUTE)

    def statement_answer(self, random: Random, *, is_select: bool, is_binary: bool) -> bytes | Final:
        """The answer to a statement of the program."""
        return random_answer(random, is_select=is_select, is_binary=is_binary, without_eof=self._without_eof)

    def _prepare(self, sql: bytes) -> bytes:
        self._prepared.append(sql.startswith(b"SELECT"))
        placeholders = len(split_at_placeholders(sql.decode())) - 1
        head = b"\x00" + struct.pack("<IHHBH", len(self._prepared), 0, placeholders, 0, 0)
        payloads = [head, *[definition()] * placeholders]
        if placeholders and not self._without_eof:
            payloads.append(b"\xfe\x00\x00\x02\x00")
        return b"".join(packet(place, payload) for place, payload in enumerate(payloads, 1))

    async def _send(self, writer: asyncio.StreamWriter, answer: Any) -> None:
        if writer in self._silent:
            return
        if isinstance(answer, Final):
            self._silent.add(writer)
            writer.write(answer.data)
            if self.encrypts:
                writer.close()
            else:
                writer.write_eof()
            return
        await super()._send(writer, answer)


def _identity(payload: bytes) -> int:
    return int.from_bytes(payload[:4], "little")


# --- Rounds ---


class HastyClock(SystemClock):
    """Does not wait before another attempt, or login."""

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(0)


@dataclass
class Outcome:
    """What an engine did. Two are the same if both engines did it."""

    asked: list[tuple[int, bytes]]
    counters: dict[str, Any]
    failure: tuple[str, str, int]
    is_stuck: bool = False


EngineKind = Callable[..., BaseEngine[Any, Any]]


def begin_of(program: Program, limit: int, on_error: OnError, **options: Any) -> StartLoad:
    """A load on one connection; its target is `outcome`'s matter. `options` are those of its execution."""
    execution = ExecutionOptions(
        **{
            "ignored_errors": frozenset(),
            "max_retries": 0,
            "on_error": on_error,
            "backlog": Backlog.KEEP,
            "prepared": True,
            "session_sql": (),
            **options,
        }
    )
    return StartLoad(
        worker=0,
        workers=1,
        target=ScriptedServer().target,
        program=program,
        seed=1,
        execution=execution,
        arrival=Arrival.POISSON,
        limit=limit,
    )


async def outcome(kind: EngineKind, begin: StartLoad, server: "FuzzServer", users: int = 0) -> Outcome:
    """What an engine does on a server, until it has finished or failed; `users` share its connection."""
    async with server.listening():
        engine = kind(msgspec.structs.replace(begin, target=server.target), clock=HastyClock())
        if users:
            engine.set_users(users)
        engine.set_connections((0,))
        is_stuck = False
        try:
            async with asyncio.timeout(ROUND_SECONDS):
                await _ended(engine)
        except TimeoutError:
            is_stuck = True
        await engine.stop(0)
        report = engine.report()
    failure = (
        report.failure.message.replace(str(server.port), "PORT"),
        report.failure.hint,
        report.failure.exit_code,
    )
    return Outcome(server.asked, msgspec.to_builtins(report.counters), failure, is_stuck)


async def _ended(engine: BaseEngine[Any, Any]) -> None:
    """Returns when an engine has nothing left to do."""
    while True:
        if engine.finished.is_set() or engine.report().failure.message:
            return
        await asyncio.sleep(LOOK_SECONDS)


@dataclass
class Round:
    """A program, and how it runs."""

    number: int
    program: Program = field(init=False)

    def __post_init__(self) -> None:
        random = Random(f"round {self.number}")
        self.program = random_program(random)
        self.without_eof = random.random() < 0.7
        self.begin = begin_of(
            self.program,
            limit=random.choice((1, 2, 4)),
            on_error=random.choice((OnError.STOP, OnError.CONTINUE)),
            ignored_errors=frozenset(random.choice(((), (1213, 1205)))),
            max_retries=random.choice((0, 2)),
            prepared=random.random() < 0.8,
            reconnect=random.choice((0, 0, 1, 2)),
        )
        self.users = random.choice((0, 0, 1, 3))
        self.encrypts = random.random() < 0.3

    async def outcome(self, kind: EngineKind) -> Outcome:
        """What an engine makes of it."""
        server = FuzzServer(self.number, without_eof=self.without_eof, encrypts=self.encrypts)
        return await outcome(kind, self.begin, server, self.users)

    async def difference(self) -> str:
        """What the engines do not have in common, empty if they do the same."""
        ours, theirs = await self.outcome(AsyncioEngine), await self.outcome(NativeEngine)
        if self.encrypts:  # whether a goodbye is sent depends on when the end of the records is read
            theirs.counters["questions"] = ours.counters["questions"]
        if ours == theirs and not ours.is_stuck:
            return ""
        return f"round {self.number}:\nasyncio {shown(ours)}\nnative  {shown(theirs)}"


def shown(outcome: Outcome) -> str:
    asked = "".join(f"\n    {command:02x} {payload[:300]!r}" for command, payload in outcome.asked[-6:])
    stuck = "STUCK " if outcome.is_stuck else ""
    return f"{stuck}{outcome.failure} {outcome.counters}{len(outcome.asked)} asked{asked}"


def peak_mib() -> float:
    """The most memory that this process has had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


async def differences(
    first: int, rounds: int | None, seconds: float, most_mib: float = MOST_MIB
) -> list[str]:
    """What differs in these rounds, or as many as there is time for; ends where the process is too large."""
    begin, told, done = time.monotonic(), 0.0, 0
    found: list[str] = []
    while (rounds is None or done < rounds) and (elapsed := time.monotonic() - begin) < seconds:
        if elapsed > told:
            print(f"{elapsed:.0f} s: {done:,} rounds, {peak_mib():.0f} MiB", flush=True)
            told = elapsed + 60
        if difference := await Round(first + done).difference():
            print(difference, flush=True)
            found.append(difference)
        done += 1
        if peak_mib() > most_mib:
            return [*found, f"round {first + done - 1}: {peak_mib():.0f} MiB"]
    print(f"{time.monotonic() - begin:.0f} s: {done:,} rounds, {len(found)} differ, {peak_mib():.0f} MiB")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.differential", description=__doc__)
    parser.add_argument("--seconds", type=float, default=3600)
    parser.add_argument("--first", type=int, default=0, help="number of the first round [0]")
    parser.add_argument("--rounds", type=int, help="[as many as there is time for]")
    parser.add_argument(
        "--profile", action="store_true", help="print the first round's profile, and do nothing"
    )
    options = parser.parse_args()
    if installation.native_module() is None:
        raise SystemExit("tuibench-native is not installed")
    if options.profile:
        print(Round(options.first).program)
        return
    if found := asyncio.run(differences(options.first, options.rounds, options.seconds)):
        raise SystemExit(f"{len(found)} rounds differ: {found[-1]}")


if __name__ == "__main__":
    main()
