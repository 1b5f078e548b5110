"""What a login may do, read from the lines of SHOW GRANTS. Pure text: roles that are active are in there."""

import re
from collections.abc import Iterable

import msgspec

from tuibench.tuning.access import global_privileges

EVERYTHING = "ALL"

_GRANT = re.compile(r"GRANT (.+?) ON (?:TABLE )?(\S+)\.(\S+) TO ", re.IGNORECASE | re.DOTALL)
_ACCOUNT = re.compile(r" TO ([`'\"][^`'\"]*[`'\"]@[`'\"][^`'\"]*[`'\"])")
_COLUMNS = re.compile(r"\([^)]*\)")


class Grants(msgspec.Struct, frozen=True, kw_only=True):
    """Privileges in capitals: on everything, on one database, and (`partly`) on some of its tables.

    `account` is the login as the server writes it.
    """

    everywhere: frozenset[str]
    database: frozenset[str]
    partly: bool
    account: str = ""

    def lacks(self, privileges: Iterable[str]) -> tuple[str, ...]:
        """Those of the privileges that the login has neither everywhere nor on the database."""
        held = self.everywhere | self.database
        return () if EVERYTHING in held else tuple(name for name in privileges if name not in held)

    def may(self, *any_of: str) -> bool:
        """True if the login has one of these global privileges."""
        return bool(self.everywhere.intersection((EVERYTHING, *any_of)))


def read(lines: Iterable[str], database: str) -> Grants:
    """What the lines grant, as far as it concerns the database."""
    known = list(lines)
    on_database: set[str] = set()
    partly = False
    for line in known:
        match = _GRANT.match(line.strip())
        if not match or match[2] == "*" or not _covers(_unquoted(match[2]), database):
            continue
        if match[3] == "*":
            on_database |= _names(match[1])
        else:
            partly = True
    return Grants(
        everywhere=global_privileges(known),
        database=frozenset(on_database),
        partly=partly,
        account=next((match[1] for line in known if (match := _ACCOUNT.search(line))), ""),
    )


def _names(text: str) -> set[str]:
    names = {" ".join(name.split()).upper() for name in _COLUMNS.sub("", text).split(",")}
    return {EVERYTHING if name == "ALL PRIVILEGES" else name for name in names}


def _unquoted(name: str) -> str:
    return name.strip("`'\"")


def _covers(pattern: str, database: str) -> bool:
    r"""Whether a grant's database pattern means this one: `%` and `_` are wild, unless after a backslash."""
    parts = re.split(r"(\\.|%|_)", pattern)
    wild = {"%": ".*", "_": "."}
    expression = "".join(
        wild.get(part, re.escape(part[1:] if part.startswith("\\") and len(part) == 2 else part))
        for part in parts
    )
    return re.fullmatch(expression, database) is not None
