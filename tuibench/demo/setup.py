"""Setup of a private server: system tables, one account, options.

MariaDB executes its SQL files in bootstrap mode. Its install script does the same, but needs programs that
server-only packages do not contain.

The server runs with durable settings, room for thousands of connections, and all files in its own
directory.
"""

import os
import pwd
import resource
import shutil
import subprocess
import sys
from pathlib import Path

from tuibench.demo import process
from tuibench.demo.client import ServerSpec
from tuibench.demo.process import DirectoryLayout, write_private
from tuibench.errors import ServerUnavailableError
from tuibench.model.server import Flavour

MAX_OPEN_FILES = 10_240 if sys.platform == "darwin" else 65_535
"""macOS reports no limit but rejects large values."""

MAX_CONNECTIONS = 4000

COMMON = (
    "--bind-address=127.0.0.1",
    "--skip-name-resolve",
    "--server-id=1",
    "--log-bin=binlog",
    "--max-binlog-size=128M",
    # An hour of load would fill a small disk with unused binary logs.
    "--loose-binlog-expire-logs-seconds=60",
    "--sync-binlog=1",
    "--innodb-flush-log-at-trx-commit=1",
    "--innodb-buffer-pool-dump-at-shutdown=OFF",
    "--innodb-buffer-pool-load-at-startup=OFF",
    "--max-connect-errors=1000000",
    # A Unix socket with a full queue refuses connections at once: many simultaneous logins must fit.
    "--back-log=4000",
    "--max-prepared-stmt-count=1048576",
    "--table-open-cache=2000",
)

FLAVOURED = {
    # MariaDB 11.4 and newer keep each binary log until a replica has read it.
    Flavour.MARIADB: ("--loose-slave-connections-needed-for-purge=0",),
    # A running server resizes its buffer pool in whole chunks, and MySQL's are half of this pool by default.
    Flavour.MYSQL: ("--loose-mysqlx=OFF", "--loose-innodb-buffer-pool-chunk-size=8M"),
}

AT_CREATION = (
    "--innodb-page-size",
    "--innodb-data-file-path",
    "--innodb-undo-tablespaces",
    "--innodb-checksum-algorithm",
    "--lower-case-table-names",
)
"""Options that apply at the creation of the data directory, too."""

REDO_LOG_SIZE = {Flavour.MARIADB: "innodb-log-file-size", Flavour.MYSQL: "innodb-redo-log-capacity"}


def base_command(spec: ServerSpec, layout: DirectoryLayout) -> list[str]:
    """The program and the common options: user, folders, no option files."""
    return [
        spec.binary.path,
        "--no-defaults",
        *user_option(),
        f"--datadir={layout.data}",
        f"--tmpdir={layout.tmp}",
        f"--secure-file-priv={layout.tmp}",
        f"--loose-{REDO_LOG_SIZE[spec.binary.flavour]}={spec.redo_log_bytes}",
        *(option for option in spec.options if option.partition("=")[0].replace("_", "-") in AT_CREATION),
    ]


def server_command(spec: ServerSpec, layout: DirectoryLayout, port: int) -> list[str]:
    """The server's command line. The caller's options come last and take precedence."""
    files = open_files_limit()
    return [
        *base_command(spec, layout),
        f"--port={port}",
        f"--socket={layout.socket}",
        f"--pid-file={layout.server_pid}",
        f"--log-error={layout.error_log}",
        f"--open-files-limit={files}",
        # The other half of the files is for tables: otherwise connections would leave files for 200 tables
        # only.
        f"--max-connections={min(MAX_CONNECTIONS, files // 2)}",
        f"--innodb-buffer-pool-size={spec.buffer_pool_bytes}",
        *COMMON,
        *FLAVOURED[spec.binary.flavour],
        *spec.options,
    ]


def user_option() -> list[str]:
    """`--user` with the current user: without it, a server refuses to run as root."""
    try:
        return [f"--user={pwd.getpwuid(os.geteuid()).pw_name}"]
    except KeyError:
        return []


def open_files_limit() -> int:
    """The limit of open files for child processes."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MAX_OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, MAX_OPEN_FILES)


ACCOUNT_HOSTS = ("localhost", "127.0.0.1")

TIMEOUT_SECONDS = 120.0

SHARE_NAMES = ("share/mysql", "share/mariadb", "share")

SCRIPTS = ("system_tables.sql", "performance_tables.sql", "system_tables_data.sql")
"""MariaDB's files, with the prefix `mysql_` until 10.11 and `mariadb_` from 11 on."""

FAST_BOOTSTRAP_OPTIONS = (
    "--skip-log-bin",
    "--innodb-flush-log-at-trx-commit=0",
    "--innodb-doublewrite=OFF",
    "--performance-schema=OFF",
)
"""Creating the tables needs no durability: after a crash the directory is discarded."""

UUID_FILE = "auto.cnf"
"""The file with a MySQL server's UUID, which must be unique."""

PASSWORD_PLUGIN = {
    Flavour.MARIADB: "IDENTIFIED VIA mysql_native_password USING PASSWORD('{}')",
    Flavour.MYSQL: "IDENTIFIED WITH caching_sha2_password BY '{}'",
}


def make_data_directory(spec: ServerSpec, layout: DirectoryLayout) -> None:
    """Create the system tables, or copy them from the template.

    Raises ServerUnavailableError with the end of the log if that fails.
    """
    if spec.template:
        shutil.copytree(spec.template, layout.data, ignore=shutil.ignore_patterns(UUID_FILE))
    else:
        _make_system_tables(spec, layout)


def _make_system_tables(spec: ServerSpec, layout: DirectoryLayout) -> None:
    layout.data.mkdir(mode=0o700)
    if spec.binary.flavour is Flavour.MARIADB:
        share = share_directory(spec.binary.path)
        _run(
            [
                *base_command(spec, layout),
                "--bootstrap",
                f"--lc-messages-dir={share}",
                *FAST_BOOTSTRAP_OPTIONS,
            ],
            bootstrap_sql(share),
            layout,
        )
    else:
        _run([*base_command(spec, layout), "--initialize-insecure", *FAST_BOOTSTRAP_OPTIONS], b"", layout)


def accounts_sql(spec: ServerSpec) -> str:
    """The init file: creates account and database, removes root.

    Init files have one statement per line. The statements are not written to the binary log.
    """
    identified = PASSWORD_PLUGIN[spec.binary.flavour].format(spec.password)
    accounts = [f"'{spec.user}'@'{host}'" for host in ACCOUNT_HOSTS]
    statements = [
        "SET sql_log_bin = 0",
        *(f"CREATE USER {account} {identified}" for account in accounts),
        *(f"GRANT ALL PRIVILEGES ON *.* TO {account} WITH GRANT OPTION" for account in accounts),
        "DROP USER IF EXISTS 'root'@'localhost'",
        # The session of MySQL's init file has the default collation of the program, not that of the options.
        "SET collation_server = @@GLOBAL.collation_server",
        f"CREATE DATABASE `{spec.database}`",
    ]
    return "".join(f"{statement};\n" for statement in statements)


def client_options(spec: ServerSpec, layout: DirectoryLayout, port: int) -> str:
    """An option file with the login, for any client."""
    return (
        f"[client]\nuser={spec.user}\npassword={spec.password}\nsocket={layout.socket}\nport={port}\n"
        f"\n[tuibench]\ndatabase={spec.database}\n"
    )


def share_directory(binary: str) -> Path:
    """The folder of MariaDB's SQL files and messages. Raises ServerUnavailableError if there is none."""
    roots = dict.fromkeys([Path(binary).parent.parent, Path(binary).resolve().parent.parent, Path("/usr")])
    for root in roots:
        for name in SHARE_NAMES:
            if sql_script(root / name, SCRIPTS[0]):
                return root / name
    raise ServerUnavailableError(
        f"the SQL files that belong to {binary} are missing (mariadb_system_tables.sql)",
        "reinstall the server's package",
    )


def sql_script(share: Path, name: str) -> Path | None:
    """One of MariaDB's SQL files, under either of its names."""
    found = (share / f"{prefix}_{name}" for prefix in ("mariadb", "mysql"))
    return next((path for path in found if path.is_file()), None)


def bootstrap_sql(share: Path) -> bytes:
    """The input of MariaDB's bootstrap mode, without accounts that have no password."""
    files = [path.read_bytes() for name in SCRIPTS if (path := sql_script(share, name))]
    no_accounts = b"DELETE FROM global_priv WHERE User <> 'mariadb.sys';\nDELETE FROM proxies_priv;\n"
    return b"\n".join([b"create database mysql;\nuse mysql;", *files, no_accounts])


def _run(command: list[str], sql: bytes, layout: DirectoryLayout) -> None:
    with layout.error_log.open("ab") as log:
        try:
            code = process.run_with_input(command, sql, log, TIMEOUT_SECONDS)
        except subprocess.TimeoutExpired as error:
            raise ServerUnavailableError(
                f"{command[0]} did not create its system tables within {TIMEOUT_SECONDS:.0f} s"
            ) from error
    if code:
        raise process.failure_with_log(f"{command[0]} could not create its system tables", layout.error_log)


def write_files(spec: ServerSpec, layout: DirectoryLayout, port: int) -> None:
    """The two files that contain the password."""
    write_private(layout.init_file, accounts_sql(spec))
    write_private(layout.client_options, client_options(spec, layout, port))
