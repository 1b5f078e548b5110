"""How an empty directory becomes a database: system tables, then one account and no other.

MariaDB is fed its own SQL files in bootstrap mode. Its install script would do the same, but needs programs
that the packages with only the server do not have.
"""

import shutil
import subprocess
from pathlib import Path

from tuibench.demo import process
from tuibench.demo.instructions import Spec
from tuibench.demo.layout import Layout, write_private
from tuibench.demo.options import place
from tuibench.errors import ServerUnavailableError
from tuibench.model.server import Flavour

HOSTS = ("localhost", "127.0.0.1")

TIMEOUT_SECONDS = 120.0

SHARE_NAMES = ("share/mysql", "share/mariadb", "share")

SCRIPTS = ("system_tables.sql", "performance_tables.sql", "system_tables_data.sql")
"""MariaDB's files, with `mysql_` before their names until 10.11 and `mariadb_` from 11 on."""

HASTE = (
    "--skip-log-bin",
    "--innodb-flush-log-at-trx-commit=0",
    "--innodb-doublewrite=OFF",
    "--performance-schema=OFF",
)
"""A crash while the tables are made loses nothing: the directory is thrown away then."""

IDENTITY = "auto.cnf"
"""The file with a MySQL server's UUID: no two servers may have the same."""

PASSWORD_PLUGIN = {
    Flavour.MARIADB: "IDENTIFIED VIA mysql_native_password USING PASSWORD('{}')",
    Flavour.MYSQL: "IDENTIFIED WITH caching_sha2_password BY '{}'",
}


def make_data_directory(spec: Spec, layout: Layout) -> None:
    """Creates the system tables, or copies them from the template.

    Raises ServerUnavailableError with the end of the log if that fails.
    """
    if spec.template:
        shutil.copytree(spec.template, layout.data, ignore=shutil.ignore_patterns(IDENTITY))
    else:
        _make_system_tables(spec, layout)


def _make_system_tables(spec: Spec, layout: Layout) -> None:
    layout.data.mkdir(mode=0o700)
    if spec.binary.flavour is Flavour.MARIADB:
        share = share_directory(spec.binary.path)
        _run(
            [*place(spec, layout), "--bootstrap", f"--lc-messages-dir={share}", *HASTE],
            bootstrap_sql(share),
            layout,
        )
    else:
        _run([*place(spec, layout), "--initialize-insecure", *HASTE], b"", layout)


def accounts_sql(spec: Spec) -> str:
    """What the server runs before its first connection: our account and database, and out with root.

    One statement a line, as an init file must be; not in the binary log.
    """
    identified = PASSWORD_PLUGIN[spec.binary.flavour].format(spec.password)
    accounts = [f"'{spec.user}'@'{host}'" for host in HOSTS]
    statements = [
        "SET sql_log_bin = 0",
        *(f"CREATE USER {account} {identified}" for account in accounts),
        *(f"GRANT ALL PRIVILEGES ON *.* TO {account} WITH GRANT OPTION" for account in accounts),
        "DROP USER IF EXISTS 'root'@'localhost'",
        f"CREATE DATABASE `{spec.database}`",
    ]
    return "".join(f"{statement};\n" for statement in statements)


def client_options(spec: Spec, layout: Layout, port: int) -> str:
    """An option file that lets any client in, this program included."""
    return (
        f"[client]\nuser={spec.user}\npassword={spec.password}\nsocket={layout.socket}\nport={port}\n"
        f"\n[tuibench]\ndatabase={spec.database}\n"
    )


def share_directory(binary: str) -> Path:
    """Where a MariaDB server's SQL files and messages are. Raises ServerUnavailableError if nowhere."""
    roots = dict.fromkeys([Path(binary).parent.parent, Path(binary).resolve().parent.parent, Path("/usr")])
    for root in roots:
        for name in SHARE_NAMES:
            if script(root / name, SCRIPTS[0]):
                return root / name
    raise ServerUnavailableError(
        f"the SQL files that belong to {binary} are missing (mariadb_system_tables.sql)",
        "reinstall the package the server came with",
    )


def script(share: Path, name: str) -> Path | None:
    """One of MariaDB's SQL files, under either of its names."""
    found = (share / f"{prefix}_{name}" for prefix in ("mariadb", "mysql"))
    return next((path for path in found if path.is_file()), None)


def bootstrap_sql(share: Path) -> bytes:
    """All that MariaDB's bootstrap mode needs to hear; without any account that has no password."""
    files = [path.read_bytes() for name in SCRIPTS if (path := script(share, name))]
    no_accounts = b"DELETE FROM global_priv WHERE User <> 'mariadb.sys';\nDELETE FROM proxies_priv;\n"
    return b"\n".join([b"create database mysql;\nuse mysql;", *files, no_accounts])


def _run(command: list[str], sql: bytes, layout: Layout) -> None:
    with layout.error_log.open("ab") as log:
        try:
            code = process.feed(command, sql, log, TIMEOUT_SECONDS)
        except subprocess.TimeoutExpired as error:
            raise ServerUnavailableError(
                f"{command[0]} did not make its system tables in {TIMEOUT_SECONDS:.0f} s"
            ) from error
    if code:
        raise process.failure(f"{command[0]} could not make its system tables", layout.error_log)


def write_files(spec: Spec, layout: Layout, port: int) -> None:
    """The two files that hold the password."""
    write_private(layout.init_file, accounts_sql(spec))
    write_private(layout.client_options, client_options(spec, layout, port))
