"""The plan of a statement that the server executed before, by EXPLAIN, which does not execute it.

EXPLAIN of a SELECT, INSERT, UPDATE, DELETE or REPLACE reads statistics and a few rows. The optimizer may
execute a stored function whose result is a constant: a statement that calls one is refused. Beyond that,
EXPLAIN runs in a transaction that is rolled back, and that is read-only for a SELECT. It waits for no lock
longer than a second, and the server ends it after that time.

The values of a prepared statement and of a digest are not known. A 1 takes the place of each, which the
answer says: another value may have another plan.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from tuibench.base.errors import MOMENTARY_ERRORS, DeniedError, SQLError
from tuibench.model.server import Flavour
from tuibench.mysql.connection import Connection
from tuibench.mysql.info import TIME_LIMIT_VARIABLES
from tuibench.workload.sql import (
    StatementClass,
    only_reads_and_writes,
    split_at_placeholders,
    statement_class,
)

PLAN_COLUMNS = (
    "id",
    "select_type",
    "table",
    "type",
    "possible_keys",
    "key",
    "ref",
    "rows",
    "filtered",
    "Extra",
)
EXPLAIN = {Flavour.MARIADB: "EXPLAIN", Flavour.MYSQL: "EXPLAIN FORMAT=TRADITIONAL"}
LIMITS = {
    flavour: f"SET SESSION {TIME_LIMIT_VARIABLES[flavour]} = {second}, innodb_lock_wait_timeout = 1, "
    "lock_wait_timeout = 1"
    for flavour, second in ((Flavour.MARIADB, 1), (Flavour.MYSQL, 1000))
}
"""The longest time of a statement, and of its waits for locks: a second."""

NO_VERB = "no plan: EXPLAIN is for SELECT, INSERT, UPDATE, DELETE and REPLACE"
CUT_OFF = "no plan: the server kept only the beginning of the statement"
STANDS_IN = (
    "the plan is that of 1 for each value, because the server kept none; other values may have another"
)
NEEDS = "EXPLAIN needs the privileges of the statement itself, and SHOW VIEW for a view"
READ_ONLY_CODE = 1792

_LIST = re.compile(r"\(\s*\?\s*,\s*(?:…|\.\.\.)\s*\)|\(\s*(?:…|\.\.\.)\s*\)")
"""A list of values in a normal form: of MySQL and MariaDB `(...)`, of tuibench `(?, …)`."""
_REPEATED = re.compile(r"/\*\s*,\s*\.\.\.\s*\*/|\)\s*,\s*…")
_ENDS_EARLY = ("...", "…")
_CALL = re.compile(r"(?<![\w$@])(?:`((?:[^`]|``)+)`|([^\W\d][\w$]*))\s*\(")
_FUNCTIONS = """
SELECT ROUTINE_NAME FROM information_schema.ROUTINES
WHERE ROUTINE_TYPE = 'FUNCTION' AND LOWER(ROUTINE_NAME) IN ({names}) LIMIT 1
"""


class Explained(NamedTuple):
    """A plan, or why there is none."""

    plan: tuple[tuple[str, ...], ...] = ()
    """The rows of EXPLAIN, the names of the columns first."""
    note: str = ""


def plan_rows(found: Sequence[dict[str, object]]) -> tuple[tuple[str, ...], ...]:
    """The answer of EXPLAIN as rows of text, the names of the columns first; empty without rows."""
    names = tuple(name for name in PLAN_COLUMNS if any(name in row for row in found))
    rows = [tuple("" if row.get(name) is None else str(row[name]) for name in names) for row in found]
    return (names, *rows) if rows else ()


def with_values(sql: str) -> tuple[str, bool]:
    """The statement with a 1 for each value that is not known, and whether there was one."""
    text = _LIST.sub("(1)", _REPEATED.sub(lambda found: ")" if found[0].startswith(")") else " ", sql))
    pieces = split_at_placeholders(text)
    return "1".join(pieces), text != sql or len(pieces) > 1


async def explain(connection: Connection, flavour: Flavour, sql: str, database: str) -> Explained:
    """The plan of a statement in a database. Raises the errors of a lost connection and of a busy server; a
    refusal is a note.
    """
    text = sql.strip().rstrip(";").rstrip()
    if text.endswith(_ENDS_EARLY):
        return Explained(note=CUT_OFF)
    if statement_class(text) is StatementClass.OTHER or not only_reads_and_writes(text):
        return Explained(note=NO_VERB)
    text, stands_in = with_values(text)
    try:
        if function := await _stored_function(connection, text):
            return Explained(
                note=f"no plan: it calls the stored function {function}, which EXPLAIN may execute"
            )
        await connection.query(LIMITS[flavour])
        if database:
            await connection.query(f"USE `{database.replace('`', '``')}`")
        is_read = statement_class(text) is StatementClass.READ
        await connection.query("START TRANSACTION READ ONLY" if is_read else "START TRANSACTION")
        try:
            found = await connection.query_named(f"{EXPLAIN[flavour]} {text}")
        finally:
            await connection.query("ROLLBACK")
    except MOMENTARY_ERRORS:
        raise
    except SQLError as error:
        return Explained(note=_refusal(error, stands_in=stands_in))
    return Explained(plan_rows(found), STANDS_IN if stands_in else "")


async def _stored_function(connection: Connection, text: str) -> str:
    """A stored function whose name is called in the text, perhaps within quotes; empty if there is none."""
    names = {(found[1] or found[2]).lower() for found in _CALL.finditer(text)}
    if not names:
        return ""
    listed = ", ".join(connection.quote(name) for name in sorted(names))
    rows = await connection.query(_FUNCTIONS.format(names=listed))
    return str(rows[0][0]) if rows else ""


def _refusal(error: SQLError, *, stands_in: bool) -> str:
    if error.code == READ_ONLY_CODE:
        return "no plan: the statement writes, or calls a stored function that does"
    if isinstance(error, DeniedError):
        return f"no plan: {error.message}; {NEEDS}"
    guess = "; a 1 stood in for each value" if stands_in else ""
    return f"no plan: {error.message} (error {error.code}){guess}"
