"""A profile made on the fly of a user's own SQL: one transaction for each text, `:name` for what is drawn.

The result is the text of a profile, so that a run can be recorded, repeated, and turned into a file.
"""

import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, NoReturn

from tuibench.errors import UsageError
from tuibench.files import UNREADABLE
from tuibench.workload import nearest, sql
from tuibench.workload.expression import names as names_in
from tuibench.workload.parse import is_name, parse

PROFILE = "sql"
GIVEN = ("connection", "threads")
"""Variables that every profile has."""

_NAME = re.compile(r"(?<![:\w]):(?P<name>[A-Za-z_]\w*)")
_RANGE = re.compile(r"(?:(?P<make>key|uniform)\s+)?(?P<low>-?\d+)\s*\.\.\s*(?P<high>-?\d+)")
_BEGIN = re.compile(r"(BEGIN|START\s+TRANSACTION)(\s+WORK)?", re.IGNORECASE)
_END = re.compile(r"(?P<word>COMMIT|ROLLBACK)(\s+WORK)?", re.IGNORECASE)
_STARTS = re.compile(r"(BEGIN|START\s+TRANSACTION|COMMIT|ROLLBACK(?!\s+TO))\b", re.IGNORECASE)
PARAMETER_HINT = "for example --sql-param id=1..100000"


class Text(NamedTuple):
    """One transaction as the user wrote it; `source` names it in errors: --sql, or a file."""

    name: str
    source: str
    sql: str


class _Parameter(NamedTuple):
    """What stands in the profile for a name: lines of `let`, the names they need, and lists."""

    lets: tuple[str, ...]
    needs: tuple[str, ...] = ()
    lists: tuple[str, ...] = ()


class _Transaction(NamedTuple):
    lines: list[str]
    used: set[str]


def profile_text(texts: Sequence[Text], parameters: Mapping[str, str], weights: Sequence[float] = ()) -> str:
    """The profile. `parameters` say how each name is drawn.

    Raises UsageError, with the place in the SQL, for what cannot be a transaction or is not known.
    """
    known = {name: _parameter(name, text) for name, text in parameters.items()}
    made = [_transaction(text, known) for text in texts]
    unused = set(known) - set().union(*(one.used for one in made))
    if unused:
        raise UsageError(f"--sql-param: :{min(unused)} stands nowhere in the SQL")
    lines = [
        f"name = {_quoted(PROFILE)}",
        f"summary = {_quoted('own SQL: ' + _shortened(texts[0].sql))}",
        'data_set = "none"',
    ]
    lists = [line for parameter in known.values() for line in parameter.lists]
    lines += ["", "[lists]", *lists] if lists else []
    for number, one in enumerate(made):
        weight = [f"weight = {weights[number]!r}"] if weights else []
        lines += ["", "[[transactions]]", one.lines[0], *weight, *one.lines[1:]]
    return "\n".join(lines) + "\n"


def parameter_in(text: str) -> tuple[str, str]:
    """`id=1..100` taken apart. Raises UsageError for what is no name and value."""
    name, equals, value = text.partition("=")
    name, value = name.strip().removeprefix(":"), value.strip()
    if not equals or not value or not is_name(name):
        raise UsageError(f"--sql-param takes NAME=VALUES, not '{text}'", PARAMETER_HINT)
    if name in GIVEN:
        raise UsageError(f"--sql-param: :{name} is known already, and cannot be set")
    return name, value


def _parameter(name: str, text: str) -> _Parameter:
    """How a name is drawn: a range, words, a table of the profile language, or an expression."""
    if found := _RANGE.fullmatch(text):
        make = found["make"] or "key"
        return _Parameter(
            (f'let.{name} = {{ make = "{make}", low = {found["low"]}, high = {found["high"]} }}',)
        )
    if text.startswith("{"):
        _demand_table(name, text)
        return _Parameter((f"let.{name} = {text}",))
    words = [word.strip() for word in text.split("|")]
    if len(words) > 1:
        place, values = f"{name}_place", f"{name}_values"
        return _Parameter(
            (
                f'let.{place} = {{ make = "uniform", low = 0, high = {len(words) - 1} }}',
                f'let.{name} = "{values}[{place}]"',
            ),
            lists=(f"{values} = [{', '.join(map(_quoted, words))}]",),
        )
    try:
        needs = tuple(names_in(parse(text)))
    except UsageError as error:
        raise UsageError(
            f"--sql-param {name}: {error.message}",
            f"1..100, uniform 1..100, red|green, {{ make = … }}, or an expression; not '{text}'",
        ) from error
    return _Parameter((f"let.{name} = {_quoted(text)}",), needs)


def _demand_table(name: str, text: str) -> None:
    try:
        tomllib.loads(f"value = {text}")
    except UNREADABLE as error:
        raise UsageError(
            f"--sql-param {name}: '{text}' is no table: {error}", '{ make = "digits", groups = 10 }'
        ) from error


def _transaction(text: Text, known: Mapping[str, _Parameter]) -> _Transaction:
    """The lines of a transaction, its name first."""
    found = list(sql.statements(text.sql))
    if not found:
        raise UsageError(f"{text.source}: there is no statement")
    explicit, ending, inner = _bounded(text, found)
    used: set[str] = set()
    statements = []
    for number, (offset, statement) in enumerate(inner, 1):
        marked, bind = _bound(text, offset, statement, known)
        used.update(bind)
        verb = statement.split(maxsplit=1)[0].lower()
        name = f"{verb if verb.isalpha() else 'statement'}_{text.name.removeprefix('sql_')}_{number}"
        binding = f", bind = [{', '.join(map(_quoted, bind))}]" if bind else ""
        statements.append(f"    {{ name = {_quoted(name)}, sql = {_quoted(marked)}{binding} }},")
    used = _with_needed(used, known)
    lets = [line for name, parameter in known.items() if name in used for line in parameter.lets]
    lines = [f"name = {_quoted(text.name)}", f"autocommit = {str(not explicit).lower()}"]
    lines += ["", "[[transactions.steps]]", *lets, "statements = [", *statements, "]"]
    lines += ["rollback = true"] * (ending == "ROLLBACK")
    return _Transaction(lines, used)


def _bounded(text: Text, found: list[tuple[int, str]]) -> tuple[bool, str, list[tuple[int, str]]]:
    """Whether BEGIN and COMMIT stand around the statements, which word ends them, and those between."""
    explicit, ending, inner = False, "", found
    if _BEGIN.fullmatch(found[0][1]):
        end = _END.fullmatch(found[-1][1])
        if end is None or len(found) < 2:
            _fail(text, len(text.sql.rstrip()), "BEGIN is never ended", "end it with COMMIT or ROLLBACK")
        explicit, ending, inner = True, end["word"].upper(), found[1:-1]
        if not inner:
            _fail(text, 0, "nothing stands between BEGIN and its end")
    for offset, statement in inner:
        if found_word := _STARTS.match(statement):
            _fail(
                text,
                offset,
                f"{found_word[1].upper()} stands first or last, and alone",
                "one transaction for each --sql: BEGIN; …; COMMIT, or statements without either",
            )
    return explicit, ending, inner


def _bound(text: Text, offset: int, statement: str, known: Mapping[str, _Parameter]) -> tuple[str, list[str]]:
    """The statement with `?` for each name, and the names in their order."""
    shut = list(sql.spans(statement))
    _refuse(text, offset, statement, shut)
    marked, bind, begin = [], [], 0
    for found in _NAME.finditer(statement):
        if any(first <= found.start() < last for first, last in shut):
            continue
        name = found["name"]
        if name not in known and name not in GIVEN:
            near = nearest.hint(name, known) if known else ""
            _fail(
                text,
                offset + found.start(),
                f"nobody has said what :{name} is",
                near or f"for example --sql-param {name}=1..100000",
            )
        marked.append(statement[begin : found.start()])
        bind.append(name)
        begin = found.end()
    return "?".join((*marked, statement[begin:])), bind


def _refuse(text: Text, offset: int, statement: str, shut: list[tuple[int, int]]) -> None:
    """What means something in a profile and nothing here."""
    for place, letter in enumerate(statement):
        if letter in "?{}" and not any(first <= place < last for first, last in shut):
            hint = "write :name for a value" if letter == "?" else "put it in quotes"
            _fail(text, offset + place, f"'{letter}' has no meaning here", hint)


def _with_needed(used: Iterable[str], known: Mapping[str, _Parameter]) -> set[str]:
    """The names used, and those that their expressions need."""
    wanted, seen = list(used), set[str]()
    while wanted:
        name = wanted.pop()
        if name not in seen:
            seen.add(name)
            wanted += known[name].needs if name in known else ()
    return seen


def _fail(text: Text, offset: int, message: str, hint: str = "") -> NoReturn:
    raise UsageError(f"{text.source}: {sql.place_in(text.sql, offset)}: {message}", hint)


def _shortened(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= 60 else words[:59] + "…"


def _quoted(text: str) -> str:
    """A text as a TOML string."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def numbered(texts: Sequence[str]) -> Iterator[Text]:
    """Transactions given on the command line."""
    for number, text in enumerate(texts, 1):
        yield Text(f"sql_{number}", f"--sql {number}" if len(texts) > 1 else "--sql", text)
