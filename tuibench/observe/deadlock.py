"""Reads the section LATEST DETECTED DEADLOCK of SHOW ENGINE INNODB STATUS, as MariaDB and MySQL write it."""

import re

from tuibench.model.activity import Deadlock, DeadlockParty
from tuibench.observe.digest import digest

_SECTION = re.compile(
    r"^LATEST DETECTED DEADLOCK\n-+\n(.*?)(?=^-+\n[A-Z ]+\n-+$|\Z)", re.DOTALL | re.MULTILINE
)
_AT = re.compile(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", re.MULTILINE)
_PARTY = re.compile(r"^\*\*\* \((\d+)\) TRANSACTION:$", re.MULTILINE)
_STATEMENT = re.compile(r"^(?:MariaDB|MySQL) thread id (\d+),.*\n((?:(?!^\*\*\* )[^\n]*\n)*)", re.MULTILINE)
_TABLE = re.compile(r"of table (\S+) trx id")
_VICTIM = re.compile(r"^\*\*\* WE ROLL BACK TRANSACTION \((\d+)\)", re.MULTILINE)


def last_deadlock(status: str) -> Deadlock | None:
    """The deadlock that InnoDB tells of; None if there was none, or it is told in other words."""
    section = _SECTION.search(status)
    at = _AT.search(section[1]) if section else None
    if section is None or at is None:
        return None
    victim = _VICTIM.search(section[1])
    parts = _PARTY.split(section[1])[1:]
    parties = tuple(
        _party(text, rolled_back=victim is not None and victim[1] == number)
        for number, text in zip(parts[::2], parts[1::2], strict=True)
    )
    return Deadlock(at=at[0], parties=parties)


def _party(text: str, *, rolled_back: bool) -> DeadlockParty:
    found = _STATEMENT.search(text)
    tables = dict.fromkeys(name.replace("`", "") for name in _TABLE.findall(text))
    return DeadlockParty(
        connection=int(found[1]) if found else 0,
        statement=digest(found[2]) if found else "",
        tables=tuple(tables),
        rolled_back=rolled_back,
    )
