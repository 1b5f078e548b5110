"""Query logs: the statements of general logs, and of slow query logs of MySQL, MariaDB, Percona Server and
TiDB.

With `long_query_time=0` a slow query log has all statements, including BEGIN and COMMIT, and the values of
prepared ones. It is read in one pass, in bounded memory: a statement has at most `MAX_STATEMENT` characters,
and the open transactions `MAX_OPEN_TEXT`.

A line such as `# Time:` begins an entry, unless it lies in a quoted text or a comment. If the quotes do not
end within `MAX_PENDING` characters, the statement is damaged: it is left out, and the lines since
then are read again as entries of their own.

A transaction is what a connection sends from BEGIN to COMMIT, or from one COMMIT to the next with
autocommit=0; every other statement is a transaction of its own.
"""

import json
import re
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from typing import NamedTuple, Protocol, TextIO

from tuibench.base.errors import UsageError
from tuibench.workload.sql import is_closed, tokens_of

MAX_STATEMENT = 1 << 20
MAX_PENDING = 1 << 16
MAX_OPEN = 10_000
"""Most connections whose open transaction is kept."""

MAX_OPEN_TEXT = 1 << 26
"""Most characters of all open transactions together; if they have more, the oldest ones are left out."""

MAX_TRANSACTION = 1000
"""Most statements of a transaction; longer transactions are left out."""

TOO_LONG = "longer than 1 MiB"
DAMAGED = "with quotes that do not end"
UNFINISHED = "of transactions without an end in the log"
ROLLED_BACK = "of transactions that ended in ROLLBACK"
LONG_TRANSACTION = f"of transactions of more than {MAX_TRANSACTION:,} statements"
INTERNAL = "of the server itself"


class LoggedStatement(NamedTuple):
    """One statement of the log."""

    connection: int
    """0 if the log does not have it."""
    at: int | None
    """Unix time in seconds; None if the log does not have it."""
    database: str
    sql: str
    """Empty if the entry is the end of the connection."""
    times: int = 1
    """Number of statements that it represents (`log_slow_rate_limit`)."""


def _docker_json(line: str) -> str:
    with suppress(ValueError, AttributeError, TypeError):
        return str(json.loads(line).get("log", line))
    return line


def _without(pattern: str) -> Callable[[str], str]:
    prefix = re.compile(pattern)
    return lambda line: prefix.sub("", line, count=1)


_TIME = r"\d{4}-\d\d-\d\d[T ][\d:.,]+ ?(?:Z|[+-]\d\d:?\d\d)?"
_PREFIXES = (
    _without(rf"(?:\[\S+\] )?{_TIME} (?:stdout|stderr) [FP] "),
    _without(rf"(?:\[\S+\] )?(?:{_TIME} )?[\w./-]+ +\| (?:{_TIME} )?"),
    _without(rf"{_TIME} "),
    _without(r"\[pod/\S+\] "),
    _without(r"[A-Z][a-z]{2} +\d+ [\d:]+ \S+ [^:\s]+: "),
    _without(rf"{_TIME} \S+ [^:\s]+: "),
    _docker_json,
)
"""Prefixes that containers and the journal add to each line: CRI, Compose, `docker logs -t`, kubectl, syslog,
and Docker's files.
"""

_SLOW_MARK = re.compile(r"# (?:Time:|User@Host:|Query_time:)")
_GENERAL_MARK = re.compile(
    r"(?:\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d)\t *|(?:\d{6} [ \d]\d:\d\d:\d\d\t|\t\t) *)(?P<id>\d+) "
    r"(?P<command>Query|Execute|Prepare|Connect|Quit|Init DB|Close stmt|Reset stmt|Field List|Statistics|"
    r"Ping|Change user|Binlog Dump[ \w]*|Set option|Long Data|Fetch|Error|Sleep|Shutdown|Refresh|"
    r"Register Slave|Daemon|Debug|Kill|Reset Connection|Bulk_execute|Unprepare)(?:\t(?P<rest>.*))?$",
    re.DOTALL,
)

_OTHER_FORMATS = (
    (
        r"# Overall: .* QPS|# Query \d+: |# Profile$|# \S+ user time,|# Attribute +total",
        "a report of pt-query-digest",
        "it has no statements of transactions: give the log that it read",
    ),
    (
        r"Count: \d+  Time=[\d.]+s|Reading mysql slow query log",
        "a summary of mysqldumpslow",
        "it has no values: give the log that it read",
    ),
    (r"# at \d+$|/\*!\d* ?SET @@SESSION\.PSEUDO_SLAVE_MODE|BINLOG '$", "the text of a binary log", ""),
    (r"-- (?:MySQL|MariaDB) dump|/\*M!999999", "a dump of tables", ""),
    (r"\S+ \d+ \[(?:Note|Warning|ERROR|System)\]", "an error log", ""),
    (r"<\?xml|<AUDIT", "an audit log", ""),
    (r'\s*[\[{]"', "a log in JSON", ""),
)
"""Files that are not query logs: how they are recognised, what they are, and what to do."""

MAKE_ONE = "to create one: SET GLOBAL slow_query_log = ON, GLOBAL long_query_time = 0"


def unknown_format(name: str, head: str) -> UsageError:
    """The error for a file without any statement of a query log."""
    for pattern, what, hint in _OTHER_FORMATS:
        if re.search(rf"^(?:{pattern})", head, re.MULTILINE):
            return UsageError(f"{name} is {what}, not a slow query log or a general log", hint or MAKE_ONE)
    return UsageError(f"{name} has no statements of a slow query log or a general log", MAKE_ONE)


class _Form(Protocol):
    """The format of a log: which lines begin an entry, and the statement of an entry."""

    def begins(self, line: str) -> bool: ...

    def body(self, line: str, *, is_first: bool) -> str | None:
        """The part of a line that belongs to the SQL; None for a line before the SQL."""

    def statement(self, sql: str) -> LoggedStatement | None:
        """The statement of the entry that has ended; None if the entry has none."""


_ENTRY_BEGINS = ("# Time:", "# User@Host:")
_ID = re.compile(r"\bId:\s*(\d+)")
_CONNECTION = re.compile(rf"{_ID.pattern}|^# (?:Thread_id|Conn_ID):\s*(\d+)")
_WITH_CONNECTION = frozenset({"User@Host:", "Thread_id:", "Conn_ID:"})
_WITH_SCHEMA = frozenset({"Thread_id:", "Schema:", "DB:"})
_SCHEMA = re.compile(r"# (?:DB: *|(?:Thread_id:\s*\d+\s+)?Schema: ?)([^\s:]*)(?=\s|$)")
_RATE_LIMIT = re.compile(r"\bLog_slow_rate_limit: *(\d+)")
_SET_TIMESTAMP = re.compile(
    r"SET\s(?:\s*\w+\s*=\s*\d+\s*,)*\s*timestamp\s*=\s*(\d+)(?:\.\d+)?\s*;?\s*$", re.IGNORECASE
)
_USE = re.compile(r"use\s+(?:`((?:[^`]|``)+)`|([^`;\s]+))\s*;?\s*$", re.IGNORECASE)
_SERVER_START = re.compile(r".*, Version: .* started with:|Tcp port: |Time\s+Id\s+Command")
_ENDED = re.compile(r"# administrator command: Quit")
_OLD_TIME = re.compile(r"(\d\d)(\d\d)(\d\d) +(\d+):(\d\d):(\d\d)")
_ARGUMENTS = re.compile(r"\s*\[arguments: (.*)\]$", re.DOTALL)


def _database_of(found: re.Match[str]) -> str:
    return (found[1] or found[2]).replace("``", "`")


def _unix_time(text: str) -> int | None:
    """Seconds since the epoch. A log's time without a zone is read as UTC, because the server's zone is
    unknown.
    """
    if found := _OLD_TIME.match(text):
        year, *rest = map(int, found.groups())
        numbers = (2000 + year, *rest)
    elif found := re.match(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)", text):
        numbers = tuple(map(int, found.groups()))
    else:
        return None
    with suppress(ValueError, OverflowError):
        year, month, day, hour, minute, second = numbers
        return int(datetime(year, month, day, hour, minute, second, tzinfo=UTC).timestamp())
    return None


class _SlowForm:
    """Slow query logs. `use` and `# Schema` are valid until the next one, as the server writes them."""

    def __init__(self, lost: Counter[str]) -> None:
        self._lost = lost
        self._connection = 0
        self._at: int | None = None
        self._database = ""
        self._times = 1
        self._has_timestamps = self._is_internal = self._has_ended = self._has_begun = False

    def begins(self, line: str) -> bool:
        if line.startswith("# "):
            return line.startswith(_ENTRY_BEGINS)
        is_likely = " started with:" in line or line.startswith(("Tcp port: ", "Time"))
        return is_likely and _SERVER_START.match(line) is not None

    def body(self, line: str, *, is_first: bool) -> str | None:
        if not is_first:
            return line
        if line.startswith("#"):
            self._header(line)
        elif self.begins(line):
            self._has_begun = False
        elif found := _SET_TIMESTAMP.match(line):
            self._at, self._has_timestamps = int(found[1]), True
        elif found := _USE.match(line):
            self._database = _database_of(found)
        elif self._has_begun and line.strip():
            return line
        return None

    def _header(self, line: str) -> None:
        word = line[2:].partition(" ")[0]
        self._has_ended = False
        match word:
            case "Query_time:":
                self._has_begun = True
            case "Time:":
                self._has_begun = True
                if not self._has_timestamps:
                    self._at = _unix_time(line[7:].strip()) or self._at
            case "User@Host:":
                self._has_begun = True
                self._times, self._is_internal = 1, False
            case "Is_internal:":
                self._is_internal = line.endswith("true")
            case "administrator":
                self._has_ended = _ENDED.match(line) is not None
        if word in _WITH_CONNECTION and (found := _CONNECTION.search(line)):
            self._connection = int(found[1] or found[2])
        if word in _WITH_SCHEMA and (found := _SCHEMA.match(line)):
            self._database = found[1]
        if "_rate_limit" in line and (found := _RATE_LIMIT.search(line)):
            self._times = max(1, int(found[1]))

    def plain(self, entry: re.Match[str]) -> LoggedStatement | None:
        """The statement of a `_PLAIN_ENTRY`; None if it is empty."""
        user, thread, schema, quoted, database, at, text = entry.groups()
        self._has_begun, self._has_ended, self._has_timestamps = True, False, True
        self._times, self._is_internal, self._at = 1, False, int(at)
        if thread:
            self._connection = int(thread)
        elif found := _ID.search(user):
            self._connection = int(found[1])
        if name := quoted or database:
            self._database = name.replace("``", "`")
        elif schema is not None:
            self._database = schema
        if not (sql := _bare(text)):
            return None
        return LoggedStatement(self._connection, self._at, self._database, _with_arguments(sql))

    def statement(self, sql: str) -> LoggedStatement | None:
        if self._has_ended:
            self._has_ended = False
            return LoggedStatement(self._connection, self._at, self._database, "")
        if not sql:
            return None
        if self._is_internal:
            self._lost[INTERNAL] += 1
            return None
        return LoggedStatement(self._connection, self._at, self._database, _with_arguments(sql), self._times)


def _bare(sql: str) -> str:
    """The statement without spaces around it and without its semicolon."""
    return sql.strip().rstrip(";").strip()


def _with_arguments(sql: str) -> str:
    """TiDB's statement with the values of its placeholders, which follow it in the log."""
    found = _ARGUMENTS.search(sql) if "[arguments: " in sql else None
    if found is None:
        return sql
    text = found[1].strip()
    values = [
        token.text
        for token in tokens_of(text[1:-1] if text.startswith("(") and text.endswith(")") else text)
        if token.kind != "space" and token.text != ","
    ]
    tokens = tokens_of(sql[: found.start()])
    if sum(token.kind == "mark" for token in tokens) != len(values):
        return sql[: found.start()]
    remaining = iter(values)
    return "".join(next(remaining) if token.kind == "mark" else token.text for token in tokens)


class _GeneralForm:
    """General logs. A statement's database is that of its connection."""

    def __init__(self) -> None:
        self._databases: dict[int, str] = {}
        self._connection = 0
        self._command = self._rest = ""
        self._at: int | None = None

    def begins(self, line: str) -> bool:
        return _GENERAL_MARK.match(line) is not None or _SERVER_START.match(line) is not None

    def body(self, line: str, *, is_first: bool) -> str | None:
        found = _GENERAL_MARK.match(line) if is_first else None
        if found is None:
            return None if is_first else line
        self._connection, self._command = int(found["id"]), found["command"]
        self._at = _unix_time(line) or self._at
        return found["rest"] or ""

    def statement(self, sql: str) -> LoggedStatement | None:
        connection, command = self._connection, self._command
        self._command = ""
        if command in ("Query", "Execute"):
            if (found := _USE.match(sql)) is not None:
                self._databases[connection] = _database_of(found)
                return None
            return (
                LoggedStatement(connection, self._at, self._databases.get(connection, ""), sql)
                if sql
                else None
            )
        if command == "Connect":
            found = re.search(r" on (\S*)(?: using .*)?$", sql)
            self._databases[connection] = found[1] if found else ""
        elif command == "Init DB":
            self._databases[connection] = sql
        elif command == "Quit":
            self._databases.pop(connection, None)
            return LoggedStatement(connection, self._at, "", "")
        while len(self._databases) > MAX_OPEN:
            del self._databases[next(iter(self._databases))]
        return None


class _Cutter:
    """Cuts a log into entries, line by line. `statement_of` makes the statement of an entry from its lines
    and their length.
    """

    def __init__(
        self,
        form: _Form,
        statement_of: Callable[[Sequence[str], int], LoggedStatement | None],
        damaged: Callable[[], None],
    ) -> None:
        self._form, self._statement_of, self._damaged = form, statement_of, damaged
        self._clear()
        self._is_line_start = True

    def _clear(self) -> None:
        self._sql: list[str] = []
        self._size = 0
        self._pending: list[str] = []
        """The lines since the first one that begins an entry unless it is part of a quoted text."""
        self._pending_size = 0

    def is_between_entries(self) -> bool:
        """True if a line that seems to begin an entry does."""
        is_open = bool(self._sql) and self._size <= MAX_STATEMENT and not is_closed("".join(self._sql))
        return self._is_line_start and not is_open

    def feed(self, piece: str) -> Iterator[LoggedStatement]:
        """Take a line, or a piece of a long one; the statements of the entries that have ended."""
        again = deque([piece])
        while again:
            line = again.popleft()
            if self._is_line_start and (is_mark := self._form.begins(line)):
                if self.is_between_entries():
                    yield from self.finish()
                elif self._pending_size > MAX_PENDING:
                    again.extendleft((line, *reversed(self._give_up())))
                    continue
            else:
                is_mark = False
            if self._pending or (is_mark and self._sql):
                self._pending.append(line)
                self._pending_size += len(line)
            self._take(line)

    def _take(self, line: str) -> None:
        text = line.rstrip("\r\n") if line.endswith("\n") else line
        is_part = self._is_line_start or bool(self._sql)
        part = self._form.body(text, is_first=not self._sql) if is_part else None
        if part is not None:
            self._size += len(part) + 1
            if self._size <= MAX_STATEMENT:
                self._sql.append(part + "\n" if line.endswith("\n") else part)
        self._is_line_start = line.endswith("\n")

    def finish(self) -> Iterator[LoggedStatement]:
        """The statement of the entry that ends here, if it has one."""
        found = self._statement_of(self._sql, self._size)
        self._clear()
        if found is not None:
            yield found

    def close(self) -> Iterator[LoggedStatement]:
        """The statements that are left at the end of the log."""
        self._is_line_start = True
        while not self.is_between_entries():
            for line in self._give_up():
                yield from self.feed(line)
            self._is_line_start = True
        yield from self.finish()

    def _give_up(self) -> list[str]:
        """Leave out a statement whose quotes do not end; returns the lines to be read again."""
        self._damaged()
        pending = self._pending
        self._clear()
        self._is_line_start = True
        return pending


_PLAIN_ENTRY = re.compile(
    r"""(?:\#\ Time:[^\n]*\n)?
        \#\ User@Host:([^\n]*)\n
        (?:\#\ (?:Thread_id:\ (\d+)\ \ )?Schema:\ ?([^\s:]*)(?:\ [^\n]*)?\n)?
        (?:\#\ +(?!Time:|User@Host:|Thread_id:|Schema:|DB:|Conn_ID:|Is_internal:|administrator\ |Log_slow_r)
            [^\n]*\n)+
        (?:use\ (?:`((?:[^`\n]|``)+)`|([^`;\s]+));\n)?
        SET\ timestamp=(\d+)(?:\.\d+)?;\n
        (?!\s|(?i:use|set)\s)((?:(?!\#|Time|Tcp\ port:\ )[^\n]*+\n)++)
        (?=\#\ (?:Time|User@Host):)""",
    re.VERBOSE,
)
"""An entry of a slow query log as most are. Everything else, and an entry whose quotes do not end, is read
line by line.
"""

BLOCK = 1 << 18
PIECE = 1 << 16
"""Characters that are read at once, and the maximum length of a piece of a line."""


class QueryLog:
    """The statements of several logs in turn, such as rotated ones."""

    def __init__(self) -> None:
        self.lost: Counter[str] = Counter()
        """Statements that are left out, by reason."""
        self.seen = 0
        """All statements, including those left out."""
        self._slow = _SlowForm(self.lost)
        self._general = _GeneralForm()

    def statements(self, log: TextIO, head: str, block: int = BLOCK) -> Iterator[LoggedStatement]:
        """The statements of a log in their order; empty if its format is unknown. `head` is its beginning;
        `block` characters are read at once.
        """
        strip = prefix_of(head)
        lines = (
            head.splitlines() if strip is None else [strip(line).rstrip("\n") for line in head.splitlines()]
        )
        is_general = not any(map(_SLOW_MARK.match, lines)) and any(map(_GENERAL_MARK.match, lines))
        if strip is None and not is_general:
            yield from self._plain_entries_and_others(log, block)
            return
        cutter = self._cutter(self._general if is_general else self._slow)
        pieces = iter(lambda: log.readline(PIECE), "")
        for piece in _stripped(pieces, strip) if strip else pieces:
            yield from cutter.feed(piece)
        yield from cutter.close()

    def _plain_entries_and_others(self, log: TextIO, block: int) -> Iterator[LoggedStatement]:
        """The statements of a slow query log without prefixes. Most entries match `_PLAIN_ENTRY` as a whole,
        which is faster; the lines of the others go through a cutter.
        """
        cutter, has_fed = self._cutter(self._slow), False
        plain, match = self._slow.plain, _PLAIN_ENTRY.match
        text = ""
        while chunk := log.read(block):
            text, at = text + chunk, 0
            while True:
                if text.startswith(_ENTRY_BEGINS, at) and (not has_fed or cutter.is_between_entries()):
                    entry = match(text, at)
                    if entry is not None and " started with:" not in entry[7] and is_closed(entry[7]):
                        if has_fed:
                            yield from cutter.finish()
                            has_fed = False
                        if (found := plain(entry)) is not None:
                            self.seen += 1
                            yield found
                        at = entry.end()
                        continue
                if not (end := text.find("\n", at) + 1):
                    break
                yield from cutter.feed(text[at:end])
                at, has_fed = end, True
            text = text[at:]
            if len(text) > PIECE:
                yield from cutter.feed(text)
                text, has_fed = "", True
        if text:
            yield from cutter.feed(text)
        yield from cutter.close()

    def _cutter(self, form: _Form) -> _Cutter:
        return _Cutter(form, partial(self._entry, form), self._lose_damaged)

    def _lose_damaged(self) -> None:
        self.seen += 1
        self.lost[DAMAGED] += 1

    def _entry(self, form: _Form, sql: Sequence[str], size: int) -> LoggedStatement | None:
        if size > MAX_STATEMENT:
            self.seen += 1
            self.lost[TOO_LONG] += 1
            return None
        found = form.statement(_bare("".join(sql)))
        self.seen += found is not None and bool(found.sql)
        return found


def prefix_of(head: str) -> Callable[[str], str] | None:
    """The function that removes the prefix of the log's lines; None if they have no prefix."""
    lines = head.splitlines()
    if any(_SLOW_MARK.match(line) or _GENERAL_MARK.match(line) for line in lines):
        return None
    for strip in _PREFIXES:
        if any(_SLOW_MARK.match(strip(line)) or _GENERAL_MARK.match(strip(line)) for line in lines):
            return strip
    return None


def _stripped(pieces: Iterable[str], strip: Callable[[str], str]) -> Iterator[str]:
    is_line_start = True
    for piece in pieces:
        found = strip(piece) if is_line_start else piece
        yield found + "\n" if piece.endswith("\n") and not found.endswith("\n") else found
        is_line_start = piece.endswith("\n")


class LoggedTransaction(NamedTuple):
    """The statements of one transaction."""

    statements: tuple[LoggedStatement, ...]
    is_explicit: bool
    """True if BEGIN and COMMIT, or autocommit=0, enclosed the statements."""


_AUTOCOMMIT = re.compile(
    r"SET\b(?:.*,)?\s*(?:(?:SESSION|LOCAL)\s+|@@(?:SESSION\.|LOCAL\.)?)?AUTOCOMMIT\s*:?=\s*'?(0|OFF|FALSE|1|ON|TRUE)\b",
    re.DOTALL,
)
_ENDS = re.compile(
    r"(COMMIT|ROLLBACK)(?:\s+WORK)?(?:\s+AND\s+(NO\s+)?CHAIN)?(?:\s+(?:NO\s+)?RELEASE)?$|XA\s+(COMMIT|ROLLBACK)\b"
)
_BEGINS = re.compile(r"BEGIN(?:\s+WORK)?$|START\s+TRANSACTION\b|XA\s+(?:START|BEGIN)\b")
_COMMITS = re.compile(
    r"(?:ALTER|ANALYZE|CACHE|CHECK|CREATE(?!\s+TEMPORARY)|DROP(?!\s+TEMPORARY)|FLUSH|GRANT|INSTALL|LOCK\s+TABLES?|"
    r"OPTIMIZE|RENAME|REPAIR|RESET|REVOKE|TRUNCATE|UNINSTALL)\b"
)
"""Statements that implicitly commit the transaction before them."""

_CONTROL = re.compile(r"\s*(?:--|#|/\*|[ABCDFGILORSTUX])", re.IGNORECASE)
_COMMENTS = re.compile(r"(?:\s++|/\*(?!M?!).*?\*/|#[^\n]*+|--(?=\s|$)[^\n]*+)*+", re.DOTALL)
_OF_ROWS = ("SELECT ", "INSERT ", "UPDATE ", "DELETE ", "select ", "insert ", "update ", "delete ")
MAX_CONTROL = 2000
"""Longer statements do not begin or end a transaction."""


class _Open:
    """What a connection has sent since its transaction began."""

    __slots__ = ("count", "size", "statements")

    def __init__(self) -> None:
        self.statements: list[LoggedStatement] = []
        self.count = 0
        self.size = 0
        """Characters of the statements."""


class TransactionGrouper:
    """Groups statements into transactions."""

    def __init__(self) -> None:
        self.lost: Counter[str] = Counter()
        """Statements of transactions that are left out, by reason."""
        self.frames = 0
        """Number of statements that begin or end transactions."""
        self._open: OrderedDict[int, _Open] = OrderedDict()
        self._text = 0
        self._manual: OrderedDict[int, None] = OrderedDict()

    def add(self, statement: LoggedStatement) -> LoggedTransaction | None:
        """The transaction that this statement completes, if any."""
        connection, sql = statement.connection, statement.sql
        if not sql:
            self._manual.pop(connection, None)
            self._forget(self._take(connection), UNFINISHED)
            return None
        if not (word := _command(sql)):
            return self._take_in(statement)
        if found := _BEGINS.match(word):
            self.frames += 1
            done = self._finish(connection)
            self._begin(connection)
            return done
        if found := _ENDS.match(word):
            self.frames += 1
            verb = found[1] or found[3]
            if verb == "ROLLBACK":
                self._forget(self._take(connection), ROLLED_BACK)
                done = None
            else:
                done = self._finish(connection)
            if connection in self._manual or ("CHAIN" in word and not found[2]):
                self._begin(connection)
            return done
        if word.startswith("SET") and (found := _AUTOCOMMIT.match(word)):
            self.frames += 1
            done = self._finish(connection) if found[1] in ("1", "ON", "TRUE") else None
            self._set_manual(connection, is_manual=found[1] in ("0", "OFF", "FALSE"))
            return done
        if _COMMITS.match(word) and connection in self._open:
            done = self._finish(connection)
            if connection in self._manual:
                self._begin(connection)
            self.lost[word.split()[0]] += 1
            return done
        return self._take_in(statement)

    def _take_in(self, statement: LoggedStatement) -> LoggedTransaction | None:
        """Add a statement to its connection's open transaction; without one, it is a transaction itself."""
        if (current := self._open.get(statement.connection)) is None:
            return LoggedTransaction((statement,), False)
        current.count += 1
        if current.count <= MAX_TRANSACTION:
            current.statements.append(statement)
            current.size += len(statement.sql)
            self._text += len(statement.sql)
        elif current.statements:
            current.statements.clear()
            self._text -= current.size
            current.size = 0
        while self._text > MAX_OPEN_TEXT:
            self._forget(self._take(next(iter(self._open))), UNFINISHED)
        return None

    def close(self) -> None:
        """Count the statements of transactions that are open at the end of the log."""
        while self._open:
            self._forget(self._take(next(iter(self._open))), UNFINISHED)

    def _take(self, connection: int) -> _Open | None:
        """The connection's open transaction, which is open no longer."""
        found = self._open.pop(connection, None)
        self._text -= found.size if found is not None else 0
        return found

    def _set_manual(self, connection: int, *, is_manual: bool) -> None:
        if not is_manual:
            self._manual.pop(connection, None)
            return
        self._manual[connection] = None
        if len(self._manual) > MAX_OPEN:
            self._manual.popitem(last=False)
        if connection not in self._open:
            self._begin(connection)

    def _begin(self, connection: int) -> None:
        self._open[connection] = _Open()
        if len(self._open) > MAX_OPEN:
            self._forget(self._take(next(iter(self._open))), UNFINISHED)

    def _finish(self, connection: int) -> LoggedTransaction | None:
        done = self._take(connection)
        if done is None:
            return None
        if done.count > MAX_TRANSACTION:
            self._forget(done, LONG_TRANSACTION)
            return None
        return LoggedTransaction(tuple(done.statements), True) if done.statements else None

    def _forget(self, left: _Open | None, why: str) -> None:
        if left is not None and left.count:
            self.lost[why] += left.count


def _end_of_comments(sql: str) -> int:
    """The index of the first character after leading spaces and comments."""
    found = _COMMENTS.match(sql)
    return found.end() if found is not None else 0


def _command(sql: str) -> str:
    """The statement in capitals and without comments if it may begin or end a transaction;
    otherwise empty.
    """
    if sql.startswith(_OF_ROWS) or len(sql) > MAX_CONTROL or not _CONTROL.match(sql):
        return ""
    if sql[0] in "/-#":
        if sql.startswith(_OF_ROWS, _end_of_comments(sql)):
            return ""
        return "".join(token.text for token in tokens_of(sql)).upper().strip()
    return sql.partition("/*")[0].strip().rstrip(";").upper()
