"""The privileges of a login, from the lines of SHOW GRANTS."""

import re
from collections.abc import Iterable

EVERYTHING = "ALL"
KILL_PRIVILEGES = frozenset((EVERYTHING, "SUPER", "CONNECTION ADMIN", "CONNECTION_ADMIN"))
"""Each lets a login end the sessions of other users (MariaDB, MySQL)."""

_GLOBAL_GRANT = re.compile(r"GRANT (.+?) ON \*\.\* TO ", re.IGNORECASE | re.DOTALL)


def global_privileges(grants: Iterable[str]) -> frozenset[str]:
    """The privileges on `*.*` in the lines of SHOW GRANTS, in capitals. `ALL` means every one."""
    found: set[str] = set()
    for line in grants:
        match = _GLOBAL_GRANT.match(line.strip())
        if match:
            found.update(" ".join(name.split()).upper() for name in match[1].split(","))
    return frozenset(EVERYTHING if name == "ALL PRIVILEGES" else name for name in found)
