"""SQL text that changes a setting, for tuibench and for people."""

import re
from collections.abc import Iterable

from tuibench.errors import UsageError
from tuibench.model.settings import ServerVariable

_REDO_SQL = {"ON": "ALTER INSTANCE ENABLE INNODB REDO_LOG", "OFF": "ALTER INSTANCE DISABLE INNODB REDO_LOG"}
_NAME = re.compile(r"[a-z][a-z0-9_]*")
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?")


def change_sql(name: str, value: str) -> str:
    """The statement that changes a setting for everybody."""
    if name == ServerVariable.REDO_LOG_ENABLED:
        return _REDO_SQL[value]
    return f"SET GLOBAL {_checked(name)} = {_literal(value)}"


def is_change(sql: str, name: str) -> bool:
    """True for a statement of `change_sql` that changes this setting."""
    prefix = "ALTER INSTANCE " if name == ServerVariable.REDO_LOG_ENABLED else f"SET GLOBAL {name} ="
    return sql.startswith(prefix)


def manual_statement(name: str, value: str) -> str:
    """The same for people to read: what comes from a journal may be no statement at all."""
    try:
        return change_sql(name, value)
    except (UsageError, KeyError):
        return f"set {name!r} to {value!r}"


def session_sql(name: str, value: str) -> str:
    """The statement that changes a setting of one connection."""
    if name == ServerVariable.ISOLATION:
        return f"SET SESSION TRANSACTION ISOLATION LEVEL {value.replace('-', ' ')}"
    return f"SET SESSION {_checked(name)} = {_literal(value)}"


def _literal(value: str) -> str:
    if _NUMBER.fullmatch(value):
        return value
    quoted = value.replace("\\", "\\\\").replace("'", "''")
    return f"'{quoted}'"


def quoted_list(names: Iterable[str]) -> str:
    """Names of variables as a list of literals."""
    return ", ".join(f"'{_checked(name)}'" for name in names)


def _checked(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise UsageError(f"'{name}' is not the name of a server variable")
    return name
