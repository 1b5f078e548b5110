"""Privileges that servers require for changes, by flavour and version."""

import msgspec

from tuibench.model.server import Flavour

Version = tuple[int, ...]


class PrivilegeRule(msgspec.Struct, frozen=True):
    """From this version on, a flavour requires one of these global privileges, or none."""

    flavour: Flavour
    since: Version
    any_of: tuple[str, ...]


_MYSQL = (
    PrivilegeRule(Flavour.MYSQL, (), ("SUPER",)),
    PrivilegeRule(Flavour.MYSQL, (8, 0), ("SYSTEM_VARIABLES_ADMIN", "SUPER")),
)
_SUPER = PrivilegeRule(Flavour.MARIADB, (), ("SUPER",))


def _mariadb_also(privilege: str) -> tuple[PrivilegeRule, ...]:
    """MariaDB split SUPER in 10.5.2, and took the parts out of it in 11.0.1."""
    return (
        _SUPER,
        PrivilegeRule(Flavour.MARIADB, (10, 5, 2), (privilege, "SUPER")),
        PrivilegeRule(Flavour.MARIADB, (11, 0, 1), (privilege,)),
    )


GLOBAL_VARIABLE = (_SUPER, *_MYSQL)
"""For any global variable without a specific privilege."""

BINARY_LOG = (*_mariadb_also("BINLOG ADMIN"), *_MYSQL)
REPLICA = (*_mariadb_also("REPLICATION SLAVE ADMIN"), *_MYSQL)
CONNECTIONS = (*_mariadb_also("CONNECTION ADMIN"), *_MYSQL)
SESSION_LOG_BIN = (
    *BINARY_LOG,
    PrivilegeRule(Flavour.MYSQL, (8, 0, 14), ("SESSION_VARIABLES_ADMIN", "SYSTEM_VARIABLES_ADMIN", "SUPER")),
)
REDO_LOG = (PrivilegeRule(Flavour.MYSQL, (8, 0, 21), ("INNODB_REDO_LOG_ENABLE",)),)
NONE_NEEDED: tuple[PrivilegeRule, ...] = ()
"""Everyone may change the transaction isolation of their own connection."""
