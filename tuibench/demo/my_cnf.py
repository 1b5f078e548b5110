"""Options of a private server from the option file of another one, except those of its location.

They are read from the groups that the server itself reads, and become options of its command line, which come
after tuibench's own and so take precedence.
"""

from collections.abc import Sequence
from typing import NamedTuple

from tuibench.demo.binaries import Binary
from tuibench.model.server import Flavour
from tuibench.mysql.option_files import OptionEntry, read_entries

PLACES = frozenset(
    {
        "basedir", "bind-address", "datadir", "pid-file", "port", "skip-networking", "socket", "user",
        "tmpdir", "innodb-tmpdir", "innodb-temp-data-file-path", "secure-file-priv", "report-host",
        "report-port",
        "innodb-data-home-dir", "innodb-log-group-home-dir", "innodb-undo-directory", "innodb-directories",
        "aria-log-dir-path", "init-file", "log-error", "general-log-file", "slow-query-log-file",
        "log-bin-index", "relay-log", "relay-log-index", "relay-log-info-file", "log-basename",
        "mysqlx-port", "mysqlx-socket", "admin-address", "admin-port", "skip-grant-tables", "chroot",
        "wsrep-on", "wsrep-provider", "wsrep-cluster-address", "daemonize",
    }
)  # fmt: skip
"""Options that are omitted: the server has its own directory, socket and account, and no cluster."""

FILE_NAMES = frozenset({"log-bin"})
"""Options whose file is placed in the data directory, regardless of the folder given."""


class ServerFileOptions(NamedTuple):
    """Options for the command line, and the names of the omitted ones."""

    options: tuple[str, ...]
    left_out: tuple[str, ...]


def read_server_options(file: str, binary: Binary) -> ServerFileOptions:
    """The options for this server. Raises UsageError for a file that cannot be read."""
    groups = server_groups(binary)
    entries = [entry for entry in read_entries(file) if entry.group in groups]
    kept = [entry for entry in entries if entry.key not in PLACES]
    left_out = dict.fromkeys(entry.key for entry in entries if entry.key in PLACES)
    return ServerFileOptions(tuple(_option(entry) for entry in kept), tuple(left_out))


def server_groups(binary: Binary) -> frozenset[str]:
    """The groups that this server reads: [mysqld], [mysqld-8.4], [mariadb-10.11], …"""
    series = ".".join(map(str, binary.version_tuple[:2]))
    names: Sequence[str] = ("mysqld",)
    alone = ["server"]
    if binary.flavour is Flavour.MARIADB:
        names, alone = ("mysqld", "mariadb", "mariadbd"), ["server", "client-server"]
    return frozenset([*alone, *names, *(f"{name}-{series}" for name in names)])


def _option(entry: OptionEntry) -> str:
    name = f"--{'loose-' * entry.is_loose}{entry.key}"
    if entry.text is None:
        return name
    text = entry.text.rpartition("/")[2] if entry.key in FILE_NAMES else entry.text
    return f"{name}={text}"
