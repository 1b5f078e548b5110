"""Locations of the program's files.

`TUIBENCH_HOME` moves all of them, for tests and for hosts with a read-only home directory. A user id without
a home, as in containers, has a folder in /var/tmp. `--run-dir` moves records only: other sessions of this
user must find the settings journal, server locks and sockets.
"""

import atexit
import contextlib
import os
import stat
from collections.abc import Callable
from pathlib import Path

import platformdirs

from tuibench.base.errors import RunError, UsageError

APP = "tuibench"
OWNER_ONLY = 0o700
RECORDS = "TUIBENCH_RUN_DIR"
"""The environment variable that moves records, for this process and its children."""


def home_override() -> Path | None:
    """The folder that replaces all default folders, if the user sets one."""
    value = os.environ.get("TUIBENCH_HOME")
    return Path(os.path.expanduser(value)) if value else None


HOMELESS = Path("/var/tmp")  # noqa: S108  # a folder of others is refused
"""Where a user id without HOME and without a home folder has a folder; all sessions of the id find it."""


def _of_user(folder: Callable[[str], Path], kind: str) -> Path:
    """A default folder, or the one of its kind below `HOMELESS`. Raises UsageError if that is not the user's
    alone.
    """
    try:
        return folder(APP)
    except RuntimeError:
        directory = HOMELESS / f"{APP}-{os.geteuid()}"
    if os.path.lexists(directory):
        found = directory.lstat()
        others = stat.S_IMODE(found.st_mode) & ~OWNER_ONLY
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or others:
            raise UsageError(
                f"the user id {os.geteuid()} has no home folder, and {directory} is not its own alone",
                "set TUIBENCH_HOME to a folder for tuibench's files",
            )
    return directory / kind


def data_dir() -> Path:
    """The folder of recorded runs."""
    if records := os.environ.get(RECORDS):
        return Path(records)
    base = home_override()
    return base / "data" if base else _of_user(platformdirs.user_data_path, "data")


def state_dir() -> Path:
    """The folder of the settings journal."""
    base = home_override()
    return base / "state" if base else _of_user(platformdirs.user_state_path, "state")


def config_dir() -> Path:
    """The folder of the user's profiles and configuration."""
    base = home_override()
    return base / "config" if base else _of_user(platformdirs.user_config_path, "config")


def runtime_dir() -> Path:
    """The folder of session sockets: below XDG_RUNTIME_DIR, otherwise below the state folder."""
    base = home_override()
    if base:
        return base / "run"
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    return Path(runtime) / APP if runtime and _is_usable(runtime) else state_dir() / "run"


def _is_usable(runtime: str) -> bool:
    """False for a folder of another user: `su` does not reset the environment variable."""
    return os.path.isdir(runtime) and os.access(runtime, os.W_OK | os.X_OK)


def runtime_dirs() -> list[Path]:
    """The folders in which sessions of this user may listen, that of this process first.

    SSH logins, cron jobs and `su` have different values of XDG_RUNTIME_DIR, but must find each other's
    sessions.
    """
    if home_override():
        return [runtime_dir()]
    usual = Path("/run/user") / str(os.getuid()) / APP
    return list(dict.fromkeys((runtime_dir(), usual, state_dir() / "run")))


def runs_dir() -> Path:
    return data_dir() / "runs"


def sweeps_dir() -> Path:
    return data_dir() / "sweeps"


def journal_dir() -> Path:
    return state_dir() / "journal"


PRIVATE_SERVER_PREFIX = "tuibench-demo-"
"""The beginning of the random name of a private server's folder."""


def keep_records_in(run_dir: str) -> None:
    """Set the folder of records to the value of `--run-dir`; empty for the default folder."""
    if run_dir:
        os.environ[RECORDS] = os.path.abspath(os.path.expanduser(run_dir))


def claim(parent: Path, stem: str) -> Path:
    """Create a folder of this name, or the first of stem-2, stem-3, … that does not exist.

    A folder that is still empty at the end of the process is removed. With `--run-dir`, names contain the
    process id, because the journals and sockets of all sessions share one folder. Raises RunError if the
    folder cannot be created.
    """
    try:
        ensure_private(parent)
    except OSError as error:
        raise RunError(
            f"cannot create {parent}: {error.strerror or error}",
            "set TUIBENCH_HOME to a folder that can be written",
        ) from error
    if os.environ.get(RECORDS):
        stem = f"{stem}-{os.getpid()}"
    number = 1
    while True:
        directory = parent / (stem if number == 1 else f"{stem}-{number}")
        try:
            directory.mkdir(mode=OWNER_ONLY)
        except FileExistsError:
            number += 1
            continue
        atexit.register(_remove_empty, directory)
        return directory


def _remove_empty(directory: Path) -> None:
    with contextlib.suppress(OSError):
        directory.rmdir()


def ensure_private(directory: Path) -> Path:
    """Create the directory, and its parents, if necessary; readable by its owner only. Raises OSError."""
    missing = [each for each in (directory, *directory.parents) if not os.path.lexists(each)]
    for each in reversed(missing):
        each.mkdir(mode=OWNER_ONLY, exist_ok=True)
    if stat.S_IMODE(directory.stat().st_mode) != OWNER_ONLY:
        directory.chmod(OWNER_ONLY)
    return directory
