"""Detection of server programs: search path, flavour, version."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from tuibench.base.errors import ServerUnavailableError
from tuibench.model.server import Flavour, version_numbers

NAMES = ("mariadbd", "mysqld")

FOLDERS = (
    "/usr/sbin",
    "/usr/libexec",
    "/usr/local/sbin",
    "/usr/local/libexec",
    "/usr/local/bin",
    "/usr/local/mysql/bin",
    "/opt/homebrew/opt/mariadb/bin",
    "/opt/homebrew/opt/mysql/bin",
    "/usr/local/opt/mariadb/bin",
    "/usr/local/opt/mysql/bin",
    "/home/linuxbrew/.linuxbrew/bin",
)
"""Searched after PATH: packages install servers in folders outside an ordinary user's PATH."""

OLDEST = {Flavour.MARIADB: (10, 5), Flavour.MYSQL: (8, 0)}

INSTALLERS = {
    "apt-get": "sudo apt-get install --no-install-recommends mariadb-server-core",
    "dnf": "sudo dnf install mariadb-server",
    "brew": "brew install mariadb",
}

_VERSION = re.compile(r"\bVer (\d+\.\d+\.\d+)")


class Binary(msgspec.Struct, frozen=True, kw_only=True):
    """A server program."""

    path: str
    flavour: Flavour
    version: str
    """Numbers only: 10.11.19."""

    @property
    def version_tuple(self) -> tuple[int, ...]:
        return version_numbers(self.version)

    def __str__(self) -> str:
        return f"{self.flavour} {self.version} ({self.path})"


def find_binary() -> Binary:
    """The first suitable server program: MariaDB before MySQL, PATH before the usual folders.

    Raises ServerUnavailableError with the command that installs one if there is none.
    """
    refusal: ServerUnavailableError | None = None
    for path in binary_candidates():
        try:
            return inspect_binary(path)
        except ServerUnavailableError as error:
            refusal = refusal or error
    commands = (command for program, command in INSTALLERS.items() if shutil.which(program))
    source = "from homebrew" if sys.platform == "darwin" else "with your package manager"
    command = next(commands, "")
    raise refusal or ServerUnavailableError(
        "no server program found: neither mariadbd nor mysqld",
        f"install one with: {command}" if command else f"install MariaDB {source}",
    )


def binary_candidates(folders: Sequence[str] | None = None) -> Iterator[Path]:
    """All server programs, without duplicates."""
    seen = set()
    searched = os.pathsep.join([os.environ.get("PATH", os.defpath), *(folders or FOLDERS)])
    for name in NAMES:
        for folder in searched.split(os.pathsep):
            found = shutil.which(name, path=folder) if folder else None
            if found and (real := os.path.realpath(found)) not in seen:
                seen.add(real)
                yield Path(found).absolute()


def inspect_binary(path: Path | str) -> Binary:
    """Run a program to get its flavour and version.

    Raises ServerUnavailableError if it is not a server or too old.
    """
    path = str(path)
    try:
        done = subprocess.run(
            [path, "--no-defaults", "--version"],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=30,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ServerUnavailableError(f"cannot run {path}: {error}") from error
    text = done.stdout or done.stderr
    match = _VERSION.search(text)
    if match is None:
        raise ServerUnavailableError(
            f"{path} is not a MariaDB or MySQL server: its output is {text.strip()!r}"
        )
    flavour = Flavour.MARIADB if "mariadb" in text.lower() else Flavour.MYSQL
    binary = Binary(path=path, flavour=flavour, version=match[1])
    if binary.version_tuple < OLDEST[flavour]:
        oldest = ".".join(map(str, OLDEST[flavour]))
        raise ServerUnavailableError(f"{binary} is too old", f"{flavour} {oldest} or newer is needed")
    return binary
