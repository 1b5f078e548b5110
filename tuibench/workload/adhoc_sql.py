"""Ad-hoc SQL: a profile generated from --sql and --sql-file, one transaction each, with `:name` parameters.

The result is the text of a profile, so that a run can be recorded, repeated, and saved as a file.
"""

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, NoReturn

from tuibench.base.errors import UsageError, did_you_mean
from tuibench.base.files import DECODE_ERRORS
from tuibench.base.units import shorten
from tuibench.workload import sql
from tuibench.workload.expressions import is_variable_name, parse_expression
from tuibench.workload.expressions import variable_names as names_in
from tuibench.workload.language import toml_text

ADHOC_PROFILE = "sql"
PREDEFINED_VARIABLES = ("connection", "threads")
"""Variables that every profile has."""

_PARAMETER = re.compile(r"(?<![:\w]):(?P<name>[A-Za-z_]\w*)")
_RANGE = re.compile(r"(?:(?P<make>key|uniform)\s+)?(?P<low>-?\d+)\s*\.\.\s*(?P<high>-?\d+)")
_BEGIN = re.compile(r"(BEGIN|START\s+TRANSACTION)(\s+WORK)?", re.IGNORECASE)
_END = re.compile(r"(?P<word>COMMIT|ROLLBACK)(\s+WORK)?", re.IGNORECASE)
_TRANSACTION_CONTROL = re.compile(r"(BEGIN|START\s+TRANSACTION|COMMIT|ROLLBACK(?!\s+TO))\b", re.IGNORECASE)
PARAMETER_HINT = "for example --sql-param id=1..100000"


class AdhocTransaction(NamedTuple):
    """The SQL of one transaction."""

    name: str
    source: str
    """Its name in errors: --sql, or a file."""
    sql: str


class _Parameter(NamedTuple):
    """The text of a parameter in the profile."""

    lets: tuple[str, ...]
    """Lines of `let`."""
    needs: tuple[str, ...] = ()
    """Names that these lines use."""
    lists: tuple[str, ...] = ()


def adhoc_profile_text(
    texts: Sequence[AdhocTransaction], parameters: Mapping[str, str], weights: Sequence[float] = ()
) -> str:
    """The text of the profile. `parameters` define the values of each name.

    Raises UsageError, with the position in the SQL, for invalid transactions and unknown names.
    """
    known = {name: _parameter(name, text) for name, text in parameters.items()}
    made = [_transaction(text, known) for text in texts]
    unused = set(known) - set().union(*(used for _, used in made))
    if unused:
        raise UsageError(f"--sql-param: :{min(unused)} does not occur in the SQL")
    summary = shorten(" ".join(texts[0].sql.split()), 60)
    lines = [
        f"name = {toml_text(ADHOC_PROFILE)}",
        f"summary = {toml_text('ad-hoc SQL: ' + summary)}",
        'data_set = "none"',
    ]
    lists = [line for parameter in known.values() for line in parameter.lists]
    lines += ["", "[lists]", *lists] if lists else []
    for number, (its_lines, _) in enumerate(made):
        weight = [f"weight = {weights[number]!r}"] if weights else []
        lines += ["", "[[transactions]]", its_lines[0], *weight, *its_lines[1:]]
    return "\n".join(lines) + "\n"


def parse_parameter(text: str) -> tuple[str, str]:
    """Split `id=1..100`. Raises UsageError if it is not a name with a value."""
    name, equals, value = text.partition("=")
    name, value = name.strip().removeprefix(":"), value.strip()
    if not equals or not value or not is_variable_name(name):
        raise UsageError(f"--sql-param takes NAME=VALUES, not '{text}'", PARAMETER_HINT)
    if name in PREDEFINED_VARIABLES:
        raise UsageError(f"--sql-param: :{name} is defined already and cannot be set")
    return name, value


def _parameter(name: str, text: str) -> _Parameter:
    """The definition of a parameter: a range, texts, a generator, or an expression."""
    if found := _RANGE.fullmatch(text):
        make = found["make"] or "key"
        return _Parameter(
            (f'let.{name} = {{ make = "{make}", low = {found["low"]}, high = {found["high"]} }}',)
        )
    if text.startswith("{"):
        try:
            tomllib.loads(f"value = {text}")
        except DECODE_ERRORS as error:
            raise UsageError(
                f"--sql-param {name}: '{text}' is not a table: {error}", '{ make = "digits", groups = 10 }'
            ) from error
        return _Parameter((f"let.{name} = {text}",))
    words = [word.strip() for word in text.split("|")]
    if len(words) > 1:
        place, values = f"{name}_place", f"{name}_values"
        return _Parameter(
            (
                f'let.{place} = {{ make = "uniform", low = 0, high = {len(words) - 1} }}',
                f'let.{name} = "{values}[{place}]"',
            ),
            lists=(f"{values} = [{', '.join(map(toml_text, words))}]",),
        )
    try:
        needs = tuple(names_in(parse_expression(text)))
    except UsageError as error:
        raise UsageError(
            f"--sql-param {name}: {error.message}",
            f"1..100, uniform 1..100, red|green, {{ make = … }}, or an expression; not '{text}'",
        ) from error
    return _Parameter((f"let.{name} = {toml_text(text)}",), needs)


def _transaction(text: AdhocTransaction, known: Mapping[str, _Parameter]) -> tuple[list[str], set[str]]:
    """The lines of a transaction, with its name first, and the parameters that it uses."""
    found = list(sql.split_statements(text.sql))
    if not found:
        raise UsageError(f"{text.source}: no statement")
    explicit, ending, inner = _strip_begin_and_end(text, found)
    used: set[str] = set()
    statements = []
    for number, (offset, statement) in enumerate(inner, 1):
        marked, bind = _bind_parameters(text, offset, statement, known)
        used.update(bind)
        verb = statement.split(maxsplit=1)[0].lower()
        name = f"{verb if verb.isalpha() else 'statement'}_{text.name.removeprefix('sql_')}_{number}"
        binding = f", bind = [{', '.join(map(toml_text, bind))}]" if bind else ""
        statements.append(f"    {{ name = {toml_text(name)}, sql = {toml_text(marked)}{binding} }},")
    used = _with_dependencies(used, known)
    lets = [line for name, parameter in known.items() if name in used for line in parameter.lets]
    lines = [f"name = {toml_text(text.name)}", f"autocommit = {str(not explicit).lower()}"]
    lines += ["", "[[transactions.steps]]", *lets, "statements = [", *statements, "]"]
    lines += ["rollback = true"] * (ending == "ROLLBACK")
    return lines, used


def _strip_begin_and_end(
    text: AdhocTransaction, found: list[tuple[int, str]]
) -> tuple[bool, str, list[tuple[int, str]]]:
    """Whether BEGIN and COMMIT enclose the statements, the last word, and the statements in between."""
    explicit, ending, inner = False, "", found
    if _BEGIN.fullmatch(found[0][1]):
        end = _END.fullmatch(found[-1][1])
        if end is None or len(found) < 2:
            _fail(
                text,
                len(text.sql.rstrip()),
                "BEGIN has no COMMIT or ROLLBACK",
                "end it with COMMIT or ROLLBACK",
            )
        explicit, ending, inner = True, end["word"].upper(), found[1:-1]
        if not inner:
            _fail(text, 0, "no statement between BEGIN and COMMIT")
    for offset, statement in inner:
        if found_word := _TRANSACTION_CONTROL.match(statement):
            _fail(
                text,
                offset,
                f"{found_word[1].upper()} must be the first or last statement, alone",
                "write one transaction per --sql: BEGIN; …; COMMIT, or statements without both",
            )
    return explicit, ending, inner


def _bind_parameters(
    text: AdhocTransaction, offset: int, statement: str, known: Mapping[str, _Parameter]
) -> tuple[str, list[str]]:
    """The statement with a `?` for each parameter, and the parameters' names in order."""
    shut = list(sql.literal_spans(statement))
    # These characters have a meaning in a profile.
    for place, letter in enumerate(statement):
        if letter in "?{}" and not any(first <= place < last for first, last in shut):
            hint = "write :name for a value" if letter == "?" else "put it in quotes"
            _fail(text, offset + place, f"'{letter}' is not valid here", hint)
    marked, bind, begin = [], [], 0
    for found in _PARAMETER.finditer(statement):
        if any(first <= found.start() < last for first, last in shut):
            continue
        name = found["name"]
        if name not in known and name not in PREDEFINED_VARIABLES:
            near = did_you_mean(name, known) if known else ""
            _fail(
                text,
                offset + found.start(),
                f"no value for :{name}",
                near or f"for example --sql-param {name}=1..100000",
            )
        marked.append(statement[begin : found.start()])
        bind.append(name)
        begin = found.end()
    return "?".join((*marked, statement[begin:])), bind


def _with_dependencies(used: Iterable[str], known: Mapping[str, _Parameter]) -> set[str]:
    """The names in use, including those in their expressions."""
    wanted, seen = list(used), set[str]()
    while wanted:
        name = wanted.pop()
        if name not in seen:
            seen.add(name)
            wanted += known[name].needs if name in known else ()
    return seen


def _fail(text: AdhocTransaction, offset: int, message: str, hint: str = "") -> NoReturn:
    raise UsageError(f"{text.source}: {sql.line_and_column(text.sql, offset)}: {message}", hint)


def number_transactions(texts: Sequence[str]) -> Iterator[AdhocTransaction]:
    """Transactions given on the command line."""
    for number, text in enumerate(texts, 1):
        yield AdhocTransaction(f"sql_{number}", f"--sql {number}" if len(texts) > 1 else "--sql", text)
