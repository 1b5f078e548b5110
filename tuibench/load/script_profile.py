"""Writes a profile of a Lua script, from a trace of its events on a server.

The script runs on one connection, between two texts in Lua: the first records each number that the script
draws and each statement that it sends, the second runs the events. If a value of a statement is a drawn
number (or one plus a constant) in every event, the profile draws it in the same way. Consecutive statements
with the same text are a loop; a number after `sbtest` is that of a table. Any other value is a constant, a
value of an earlier statement, or a random one between the smallest and the largest that occurred; the notes
say so. A script whose events have too many shapes is refused.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from tuibench.base import numerals
from tuibench.base.errors import UsageError
from tuibench.load.script_commands import run_command
from tuibench.model.plan import OptionValue
from tuibench.model.server import Target
from tuibench.mysql.connection import connect
from tuibench.workload.generator import TransactionGenerator
from tuibench.workload.language import generator_text, toml_text
from tuibench.workload.program import Program, flat_statements
from tuibench.workload.templates import Listed, Template, Value, model_of, observe
from tuibench.workload.values import C_GROUPS, DecimalRange, Digits, Key, Uniform, Unique, distributed

COMMAND = "tuibench_trace"
MARK = "\1"
COUNTED = ("select", "insert", "update", "delete", "replace", "begin", "commit")
MOST_SHAPES = 12
"""Maximum number of shapes of events in a profile."""

MOST_BLOCK = 6
"""Maximum number of statements in the body of a loop."""

LOOK_BACK = 8
"""The values of a statement are compared with this many numbers drawn before it."""

BEFORE = r"""
local put, is_tracing, own = print, false, nil
local escapes = { ["\\"] = "\\\\", ["\n"] = "\\n", ["\r"] = "\\r", ["\t"] = "\\t" }
local function flat(value)
    return (tostring(value):gsub("[\\\n\r\t]", escapes))
end
local function tell(...)
    if is_tracing then put("\1" .. table.concat({ ... }, "\t")) end
end
local drawn = sysbench.rand
for name in ("default uniform gaussian special pareto zipfian unique string"):gmatch("%a+") do
    local draw = drawn[name]
    drawn[name] = function(low, high)
        local value = draw(low, high)
        tell("D", name, flat(low), flat(high), flat(value))
        return value
    end
end
sb_rand, sb_rand_uniform, sb_rand_gaussian = drawn.default, drawn.uniform, drawn.gaussian
sb_rand_special, sb_rand_uniq, sb_rand_str = drawn.special, drawn.unique, drawn.string
local function known() return setmetatable({}, { __mode = "k" }) end
local texts, bound, whole, values = known(), known(), known(), known()
local types, traced = sysbench.sql.type
local function trace(statements, parameters)
    local bind_create, bind_param, set = statements.bind_create, statements.bind_param, parameters.set
    function statements:bind_create(kind, ...)
        local made = bind_create(self, kind, ...)
        whole[made] = kind <= types.BIGINT
        return made
    end
    function statements:bind_param(...)
        bound[self] = { count = select("#", ...), ... }
        return bind_param(self, ...)
    end
    function parameters:set(value)
        values[self] = whole[self] and value and (math.modf(value == true and 1 or tonumber(value))) or value
        return set(self, value)
    end
    function parameters:set_rand_str(pattern) return self:set(drawn.string(pattern)) end
    function statements:execute()
        local given, of = {}, bound[self] or { count = 0 }
        for place = 1, of.count do
            local value = values[of[place]]
            given[place] = type(value):sub(1, 3) .. flat(value)
        end
        tell("E", flat(texts[self]), unpack(given))
        return traced(self)
    end
end
local send
local function watch(methods)
    local query, query_row, prepare = methods.query, methods.query_row, methods.prepare
    function send(text) return query(own, text) end
    function methods:query(text) tell("Q", flat(text)) return query(self, text) end
    function methods:query_row(text) tell("Q", flat(text)) return query_row(self, text) end
    for _, name in ipairs({ "bulk_insert_next", "reconnect", "disconnect" }) do
        local call = methods[name]
        methods[name] = function(...) tell("X", name) return call(...) end
    end
    function methods:prepare(text)
        local statement = prepare(self, text)
        texts[statement] = text
        local class = getmetatable(statement).__index
        if not traced then
            traced = class.execute
            trace(class, getmetatable(statement:bind_create(types.INT)).__index)
        end
        return statement
    end
end
local driver = sysbench.sql.driver
function sysbench.sql.driver(...)
    local made = driver(...)
    local class = getmetatable(made).__index
    if not class.connected then
        class.connected = class.connect
        function class:connect()
            own = self:connected()
            if not send then watch(getmetatable(own).__index) end
            return own
        end
    end
    return made
end
"""

AFTER = r"""
local function counts(when)
    local result = send("SHOW SESSION STATUS LIKE 'Com\\_%'")
    for _ = 1, result.nrows do
        local row = result:fetch_row()
        put("\1" .. table.concat({ "C", when, row[1], row[2] }, "\t"))
    end
end
sysbench.cmdline.commands = sysbench.cmdline.commands or {}
sysbench.cmdline.commands.tuibench_trace = { function()
    print = function() end
    if thread_init then thread_init(0) end
    if not own then event(0) end
    counts("before")
    for number = 1, EVENTS do
        is_tracing = true
        tell("V")
        local fine, result = pcall(event, 0)
        is_tracing = false
        if not fine then
            if type(result) ~= "table" then error(result, 0) end
            put("\1R\t" .. tostring(result.sql_errno))
            send("ROLLBACK")
        elseif result then
            break
        end
    end
    counts("after")
    if thread_done then thread_done(0) end
end }
"""


class Draw(NamedTuple):
    """A number or text that the script has drawn."""

    kind: str
    """The distribution."""
    low: str
    high: str
    value: str


class Sent(NamedTuple):
    """A statement that the script has sent."""

    template: Template
    values: tuple[tuple[tuple[Value, ...], ...], ...]
    lengths: tuple[int, ...]
    """The lengths of its lists."""
    table: int
    """The number of its table; 0 for none."""
    is_prepared: bool
    draws: int
    """The number of draws before it."""


class Event(NamedTuple):
    draws: list[Draw]
    statements: list[Sent]
    is_explicit: bool


class Trace(NamedTuple):
    """The events that a script ran on a server."""

    events: list[Event]
    """Those that succeeded."""
    failed: int
    """The number of those that failed."""
    counts: dict[str, float]
    """The server's counts of statements (Com_*) for one event."""


class Seen(NamedTuple):
    """A value of one execution of a statement."""

    event: Event
    sent: Sent
    value: Value


TABLE = re.compile(r"\bsbtest(\d+)\b")
FRAME = re.compile(r"(begin|start transaction|commit|rollback)\b", re.IGNORECASE)
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}


def read_trace(lines: Iterable[str]) -> Trace:
    """The trace from the lines that the script has printed. Raises UsageError for what a profile
    cannot do.
    """
    events: list[Event] = []
    failed = 0
    counts: dict[str, dict[str, int]] = {"before": {}, "after": {}}
    for line in lines:
        if not line.startswith(MARK):
            continue
        what, *words = line[1:].split("\t")
        if what == "V":
            events.append(Event([], [], False))
        elif what == "R":
            events.pop()
            failed += 1
        elif what == "D":
            events[-1].draws.append(Draw(*map(_plain, words)))
        elif what == "X":
            raise UsageError(f"the events of the script call {words[0]}(), which a profile cannot do")
        elif what == "C":
            counts[words[0]][words[1].lower().removeprefix("com_")] = int(words[2])
        else:
            _add_statement(events, _plain(words[0]), words[1:] if what == "E" else None)
    added = {
        name: (counts["after"][name] - counts["before"][name]) / max(1, len(events) + failed)
        for name in COUNTED
        if counts["after"].get(name, 0) != counts["before"].get(name, 0)
    }
    return Trace(events, failed, added)


def _plain(text: str) -> str:
    return re.sub(r"\\(.)", lambda found: _ESCAPES.get(found[1], found[1]), text)


def _add_statement(events: list[Event], sql: str, values: Sequence[str] | None) -> None:
    event = events[-1]
    if FRAME.match(sql.strip()):
        word = sql.split()[0].upper()
        is_begin = word in ("BEGIN", "START")
        if word == "ROLLBACK" or (is_begin and (event.statements or event.is_explicit)):
            raise UsageError("an event of the script has several transactions, or a ROLLBACK")
        events[-1] = event._replace(is_explicit=event.is_explicit or is_begin)
        return
    text = sql if values is None else _with_values(sql, values)
    numbers = {int(number) for number in TABLE.findall(text)}
    table = numbers.pop() if len(numbers) == 1 else 0
    observed = observe(TABLE.sub("{table}", text) if table else text)
    event.statements.append(
        Sent(
            template=observed.template,
            values=observed.values,
            lengths=observed.lengths,
            table=table,
            is_prepared=values is not None,
            draws=len(event.draws),
        )
    )


def _with_values(sql: str, values: Sequence[str]) -> str:
    """The text of an execution. Each value has the first letters of its type."""
    pieces = sql.split("?")
    if len(pieces) != len(values) + 1:
        raise UsageError(f"the values of this statement cannot be told from its text: {sql}")
    literals = [
        value[3:] if value.startswith("num") else "NULL" if value == "nilnil" else quoted(_plain(value[3:]))
        for value in values
    ]
    return "".join(piece + literal for piece, literal in zip(pieces, [*literals, ""], strict=True))


def quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "''") + "'"


def loops(statements: Sequence[Sent]) -> list[list[list[Sent]]]:
    """The statements of an event as loops: each a list of repetitions of the same statements, usually one."""
    found: list[list[list[Sent]]] = []
    place = 0
    while place < len(statements):
        sizes = range(1, min(MOST_BLOCK, len(statements) - place) + 1)
        times = {size: _times(statements, place, size) for size in sizes}
        size = max(sizes, key=lambda each: (each * times[each] if times[each] > 1 else 1, -each))
        ends = range(place, place + size * times[size], size)
        found.append([list(statements[start : start + size]) for start in ends])
        place += size * times[size]
    return found


def _shape(statements: Sequence[Sent]) -> tuple[tuple[Template, bool], ...]:
    return tuple((each.template, each.is_prepared) for each in statements)


def _times(statements: Sequence[Sent], place: int, size: int) -> int:
    body, times = _shape(statements[place : place + size]), 1
    while _shape(statements[place + size * times : place + size * (times + 1)]) == body:
        times += 1
    return times


def _joined(same: Sequence[tuple[Event, list[list[list[Sent]]]]]) -> list[list[list[list[Sent]]]]:
    """The loops of events of one shape. Statements that run once are one step if they use the same table."""
    joined = [[read[0]] for _, read in same]
    for place in range(1, len(same[0][1])):
        pairs = [(each[-1], read[place]) for each, (_, read) in zip(joined, same, strict=True)]
        if all(
            len(before) == len(loop) == 1 and before[0][-1].table == loop[0][0].table
            for before, loop in pairs
        ):
            for each, (before, loop) in zip(joined, pairs, strict=True):
                each[-1] = [[*before[0], *loop[0]]]
        else:
            for each, (_, loop) in zip(joined, pairs, strict=True):
                each.append(loop)
    return joined


class ProfileWriter:
    """Writes the profile of a trace with these options; `notes` say what the trace does not show."""

    def __init__(self, trace: Trace, options: Mapping[str, OptionValue]) -> None:
        self.notes: dict[str, None] = {}
        self._trace = trace
        self._options = options
        self._rand_type = rand_type = str(options["rand_type"])
        self._lists: list[str] = []
        self._names: dict[tuple[str, bool], str] = {}
        statements = [each for event in trace.events for each in event.statements]
        keys = [each for event in trace.events for each in event.draws if each.kind in ("default", rand_type)]
        self._tables = max((each.table for each in statements), default=0)
        self._table_size = max((int(each.high) for each in keys if each.high.isdigit()), default=0)

    def text(self, name: str, summary: str, comments: Sequence[str]) -> str:
        """The text of the profile. Raises UsageError if the events have too many shapes, or none."""
        shapes: dict[object, list[tuple[Event, list[list[list[Sent]]]]]] = {}
        for event in self._trace.events:
            read = loops(event.statements)
            shapes.setdefault((event.is_explicit, tuple(_shape(each[0]) for each in read)), []).append(
                (event, read)
            )
        if not any(event.statements for event in self._trace.events):
            raise UsageError("the events of the script send no statements")
        if len(shapes) > MOST_SHAPES:
            raise UsageError(
                f"{len(self._trace.events)} events of the script have {len(shapes)} shapes, too many for a "
                f"profile ({MOST_SHAPES})",
                "tuibench runs the script itself",
            )
        bodies = [
            line
            for number, same in enumerate(sorted(shapes.values(), key=len, reverse=True), 1)
            for line in self._transaction(number, same, len(shapes))
        ]
        head = [f"name = {toml_text(name)}", f"summary = {toml_text(summary)}"]
        head += [f'data_set = "{"sbtest" if self._tables else "none"}"', "", "[defaults]"]
        head += [f"rand_type = {toml_text(self._rand_type)}"]
        if self._tables:
            head += [f"tables = {self._tables}", f"table_size = {max(1, self._table_size)}"]
        if self._lists:
            head += ["", "[lists]", *self._lists]
        comments = [f"# {line}" for line in (*comments, *self.notes)]
        return "\n".join([*comments, "", *head, *bodies]) + "\n"

    def _transaction(
        self, number: int, same: Sequence[tuple[Event, list[list[list[Sent]]]]], shapes: int
    ) -> Iterator[str]:
        yield from ("", "[[transactions]]", f'name = "event{f"_{number}" * (shapes > 1)}"')
        yield from [f"weight = {len(same)}"] * (shapes > 1)
        yield from ["autocommit = true"] * (not same[0][0].is_explicit)
        earlier: list[tuple[str, list[Value]]] = []
        same = [(event, read) for event, read in zip((each[0] for each in same), _joined(same), strict=True)]
        for place in range(len(same[0][1])):
            prefix = f"v{number}_{place + 1}_" if shapes > 1 else f"v{place + 1}_"
            yield from self._step([(event, read[place]) for event, read in same], prefix, earlier)

    def _step(
        self,
        seen: Sequence[tuple[Event, list[list[Sent]]]],
        prefix: str,
        before: list[tuple[str, list[Value]]],
    ) -> Iterator[str]:
        """A step for one loop; `before` are the variables of earlier steps that run once."""
        counts = {len(repetitions) for _, repetitions in seen}
        repetitions = [(event, each) for event, all_of in seen for each in all_of]
        tables_vary = any(len({sent.table for each in all_of for sent in each}) > 1 for _, all_of in seen)
        table = "transactions.steps"
        yield from ("", f"[[{table}]]")
        if len(counts) > 1:
            self._note(f"a loop of {min(counts)} to {max(counts)} repetitions has a uniform number of them")
            yield f'let.{prefix}n = {{ make = "uniform", low = {min(counts)}, high = {max(counts)} }}'
            table += ".steps"
            yield from (f"[[{table}]]", f'repeat = "{prefix}n"')
        elif counts != {1}:
            yield f"repeat = {min(counts)}"
        if tables_vary and len(repetitions[0][1]) >= 1 and counts != {1}:
            # A step draws its table once for all repetitions, so each repetition needs a step of its own.
            table += ".steps"
            yield f"[[{table}]]"
        lets: list[str] = []
        statements: list[str] = []
        earlier = list(before) if counts == {1} else []
        for place in range(len(repetitions[0][1])):
            sents = [(event, each[place]) for event, each in repetitions]
            statements += self._statement(sents, table, f"{prefix}{place + 1}_", lets, earlier)
        if counts == {1}:
            before[:] = earlier
        yield from lets
        yield from statements

    def _statement(
        self,
        seen: Sequence[tuple[Event, Sent]],
        table: str,
        prefix: str,
        lets: list[str],
        earlier: list[tuple[str, list[Value]]],
    ) -> list[str]:
        first = seen[0][1]
        sql, bind, parts = "", list[str](), list[str]()
        slots = zip(first.template.fragments, first.template.slots, strict=False)
        for number, (fragment, slot) in enumerate(slots):
            sql += fragment
            name = f"{prefix}{number + 1}"
            if slot.row:
                sql += f"{{{name}}}"
                parts += self._part(name, slot.row, slot.width, number, seen)
                continue
            values = [Seen(event, sent, sent.values[number][0][0]) for event, sent in seen]
            written, is_text = self._value(name, values, lets, earlier)
            sql += written if is_text else "?"
            bind += [written] * (not is_text)
        sql += first.template.fragments[-1]
        key = (sql, first.is_prepared)
        if key not in self._names:
            verb = re.sub(r"\W", "", sql.split()[0].lower())
            self._names[key] = f"{verb}_{sum(name.startswith(verb) for name in self._names.values()) + 1}"
        made = [f"[[{table}.statements]]", f"name = {toml_text(self._names[key])}"]
        made += [f"sql = {toml_text(sql)}"]
        made += [f"bind = [{', '.join(map(toml_text, bind))}]"] * bool(bind)
        made += ["prepared = false"] * (not first.is_prepared)
        return made + parts

    def _value(
        self,
        name: str,
        seen: Sequence[Seen],
        lets: list[str],
        earlier: list[tuple[str, list[Value]]],
    ) -> tuple[str, bool]:
        """The text of a value, and whether it is a constant of the SQL. Otherwise it is bound, and its
        variable is added to `lets`.
        """
        values = [each.value for each in seen]
        if len(set(values)) == 1:
            text = quoted(values[0]) if isinstance(values[0], str) else str(values[0])
            if not set("?{}") & set(text):
                return text, True
        for known, before in reversed(earlier):
            if before == values:
                return known, False
            plus = _difference(before, values)
            if plus is not None:
                return f"{known} {'+' if plus > 0 else '-'} {abs(plus)}", False
        earlier.append((name, values))
        written = self._drawn(seen)
        if not written:
            written, listed = self._unseen(name, values)
            if listed:
                lets.append(f"let.{name}_at = {written}")
                written = toml_text(f"{listed}[{name}_at]")
        lets.append(f"let.{name} = {written}")
        return name, False

    def _drawn(self, seen: Sequence[Seen]) -> str:
        """The generator of values that were drawn shortly before their statement, or in their event; empty if
        unknown.
        """
        for back in range(1, LOOK_BACK + 1):
            draws = [each.event.draws[each.sent.draws - back] for each in seen if each.sent.draws >= back]
            kinds = {draw[:3] for draw in draws}
            if len(draws) < len(seen) or len(kinds) != 1:
                continue
            values = [each.value for each in seen]
            if [draw.value for draw in draws] == [str(value) for value in values]:
                plus: int | None = 0
            elif all(draw.value.lstrip("-").isdigit() for draw in draws):
                plus = _difference([int(draw.value) for draw in draws], values)
            else:
                plus = None
            if plus is not None and (written := self._generator(draws[0], plus)):
                return written
        for kind in dict.fromkeys(draw[:3] for draw in seen[0].event.draws):
            if all(Draw(*kind, str(each.value)) in each.event.draws for each in seen) and (
                written := self._generator(Draw(*kind, ""), 0)
            ):
                return written
        return ""

    def _generator(self, draw: Draw, plus: int) -> str:
        """The generator of such draws plus a constant; empty if a profile has none."""
        if draw.kind == "unique":
            return generator_text(Unique()) if not plus else ""
        if draw.kind == "string":
            groups = draw.low.split("-")
            is_digits = set(groups) == {"#" * 11} and len(groups) <= C_GROUPS
            return generator_text(Digits(groups=len(groups))) if is_digits else ""
        if not (draw.low.lstrip("-").isdigit() and draw.high.lstrip("-").isdigit()):
            return ""
        low, high = int(draw.low) + plus, int(draw.high) + plus
        if draw.kind not in ("default", self._rand_type):
            return generator_text(distributed({**self._options, "rand_type": draw.kind}, low, high))
        is_whole = self._tables and high == self._table_size
        return generator_text(Key(low=low, high="table_size" if is_whole else high))

    def _unseen(self, name: str, values: Sequence[Value]) -> tuple[str, str]:
        """A generator of values like these, and the name of the list if it generates indexes of one."""
        self._note(
            f"how the value {name} is computed was not seen: it is one of the same range, or of those seen"
        )
        model = model_of(values)
        match model:
            case Uniform() | DecimalRange():
                return generator_text(model), ""
            case Listed(listed):
                texts = [toml_text(each) if isinstance(each, str) else str(each) for each in listed]
                self._lists.append(f"{name}_seen = [{', '.join(texts)}]")
                return generator_text(Uniform(low=0, high=len(listed) - 1)), f"{name}_seen"
            case _:
                return str(values[0]), ""

    def _part(
        self, name: str, row: str, width: int, number: int, seen: Sequence[tuple[Event, Sent]]
    ) -> Iterator[str]:
        """The lines of a list of values, or of rows, in the text of a statement."""
        lengths = sorted(sent.lengths[number] for _, sent in seen)
        if lengths[0] != lengths[-1]:
            self._note(f"a list of {lengths[0]} to {lengths[-1]} values has {lengths[len(lengths) // 2]}")
        yield f"parts.{name}.sql = {toml_text(row)}"
        yield f"parts.{name}.repeat = {lengths[len(lengths) // 2]}"
        names = []
        for column in range(width):
            values = [Seen(event, sent, each[column]) for event, sent in seen for each in sent.values[number]]
            written, listed = self._drawn(values), ""
            if not written:
                written, listed = self._unseen(f"{name}_{column + 1}", [each.value for each in values])
            yield f"parts.{name}.let.c{column + 1} = {written}"
            names.append(f"{listed}[c{column + 1}]" if listed else f"c{column + 1}")
        yield f"parts.{name}.bind = [{', '.join(map(toml_text, names))}]"

    def _note(self, text: str) -> None:
        self.notes[f"Not equal: {text}."] = None


def _difference(before: Sequence[Value], values: Sequence[Value]) -> int | None:
    """The constant that is added to whole numbers; None if it varies."""
    found = {
        b - a if isinstance(a, int) and isinstance(b, int) else None
        for a, b in zip(before, values, strict=True)
    }
    return found.pop() if len(found) == 1 else None


async def traced(target: Target, program: Program, events: int, seed: int) -> Trace:
    """Runs this many events of a script on a server. Raises UsageError for what a profile cannot do."""
    if program.script is None:
        raise UsageError(f"{program.profile} is no Lua script")
    path = program.script.path.replace("\\", "\\\\").replace('"', '\\"')
    text = f'local EVENTS = {events}\n{BEFORE}\ndofile("{path}")\n{AFTER}'
    written: list[str] = []
    own = msgspec.structs.replace(program.script, text=text)
    await run_command(
        target, msgspec.structs.replace(program, script=own), COMMAND, seed=seed, write=written.append
    )
    return read_trace("".join(written).split("\n"))


async def counts_of_profile(target: Target, program: Program, events: int, seed: int) -> dict[str, float]:
    """Runs this many transactions of a profile on one connection; returns the server's counts for one."""
    generator, flat = TransactionGenerator(program, seed, 0), flat_statements(program)
    connection = await connect(target)
    try:

        async def counts() -> dict[str, int]:
            rows = await connection.query("SHOW SESSION STATUS LIKE 'Com\\_%'")
            found = numerals.readable((str(name), value) for name, value in rows).found
            return {name.lower().removeprefix("com_"): value for name, value in found.items()}

        before = await counts()
        for _ in range(events):
            for index, values in generator.calls[generator.draw()]():
                pieces = flat[index].sql.split("?")
                literals = [*map(connection.quote, values), ""]
                await connection.query("".join(a + b for a, b in zip(pieces, literals, strict=True)))
        after = await counts()
    finally:
        await connection.close()
    return {name: (after[name] - before[name]) / events for name in COUNTED if after[name] != before[name]}
