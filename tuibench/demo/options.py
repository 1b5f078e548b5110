"""The options a private server runs with: durable, roomy enough for thousands of connections, and all
its files inside its own directory.
"""

import os
import pwd
import resource
import sys

from tuibench.demo.instructions import Spec
from tuibench.demo.layout import Layout
from tuibench.model.server import Flavour

MAX_OPEN_FILES = 10_240 if sys.platform == "darwin" else 65_535
"""macOS calls its limit unlimited, and refuses to be taken by its word."""

MAX_CONNECTIONS = 4000

COMMON = (
    "--bind-address=127.0.0.1",
    "--skip-name-resolve",
    "--server-id=1",
    "--log-bin=binlog",
    "--max-binlog-size=128M",
    # An hour of load would fill a small disk with binary logs that nobody reads.
    "--loose-binlog-expire-logs-seconds=60",
    "--sync-binlog=1",
    "--innodb-flush-log-at-trx-commit=1",
    "--innodb-buffer-pool-dump-at-shutdown=OFF",
    "--innodb-buffer-pool-load-at-startup=OFF",
    "--max-connect-errors=1000000",
    # A unix socket whose queue is full refuses at once: a rush of new connections must fit.
    "--back-log=4000",
    "--max-prepared-stmt-count=1048576",
    "--table-open-cache=2000",
)

FLAVOURED = {
    # MariaDB 11.4 and newer keep every binary log until a replica has come for it.
    Flavour.MARIADB: ("--loose-slave-connections-needed-for-purge=0",),
    Flavour.MYSQL: ("--loose-mysqlx=OFF",),
}

REDO_LOG_SIZE = {Flavour.MARIADB: "innodb-log-file-size", Flavour.MYSQL: "innodb-redo-log-capacity"}


def place(spec: Spec, layout: Layout) -> list[str]:
    """The program and the options every call needs: whose, where, and no option file of the system's."""
    return [
        spec.binary.path,
        "--no-defaults",
        *user(),
        f"--datadir={layout.data}",
        f"--tmpdir={layout.tmp}",
        f"--secure-file-priv={layout.tmp}",
        f"--loose-{REDO_LOG_SIZE[spec.binary.flavour]}={spec.redo_log_bytes}",
    ]


def serving(spec: Spec, layout: Layout, port: int) -> list[str]:
    """The command line of the running server. The caller's own options come last and win."""
    files = open_files_limit()
    return [
        *place(spec, layout),
        f"--port={port}",
        f"--socket={layout.socket}",
        f"--pid-file={layout.server_pid}",
        f"--log-error={layout.error_log}",
        f"--open-files-limit={files}",
        # The other half of the files is for tables: connections that took all would leave 200 tables open.
        f"--max-connections={min(MAX_CONNECTIONS, files // 2)}",
        f"--innodb-buffer-pool-size={spec.buffer_pool_bytes}",
        *COMMON,
        *FLAVOURED[spec.binary.flavour],
        *spec.options,
    ]


def user() -> list[str]:
    """`--user` for whoever runs us: without it, a server refuses to run as root."""
    try:
        return [f"--user={pwd.getpwuid(os.geteuid()).pw_name}"]
    except KeyError:
        return []


def open_files_limit() -> int:
    """As many open files as this process may allow its children."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MAX_OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, MAX_OPEN_FILES)
