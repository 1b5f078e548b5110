"""Where files go. `TUIBENCH_HOME` moves all of it, for tests and for hosts whose home is read-only."""

import os
import stat
from pathlib import Path

import platformdirs

APP = "tuibench"
OWNER_ONLY = 0o700


def home() -> Path | None:
    """The folder that replaces all the usual ones, if the user names one."""
    value = os.environ.get("TUIBENCH_HOME")
    return Path(os.path.expanduser(value)) if value else None


def data_dir() -> Path:
    """Recorded runs live below here."""
    base = home()
    return base / "data" if base else platformdirs.user_data_path(APP)


def state_dir() -> Path:
    """The settings journal lives below here."""
    base = home()
    return base / "state" if base else platformdirs.user_state_path(APP)


def config_dir() -> Path:
    """The user's own profiles and configuration."""
    base = home()
    return base / "config" if base else platformdirs.user_config_path(APP)


def runtime_dir() -> Path:
    """Session sockets live here: below XDG_RUNTIME_DIR, else below the state directory."""
    base = home()
    if base:
        return base / "run"
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    return Path(runtime) / APP if runtime and _is_usable(runtime) else state_dir() / "run"


def _is_usable(runtime: str) -> bool:
    """False also for another user's, as it is left in the environment by `su`."""
    return os.path.isdir(runtime) and os.access(runtime, os.W_OK | os.X_OK)


def runtime_dirs() -> list[Path]:
    """Where sessions of this user may listen, ours first.

    A login by ssh, a job of cron and a `su` differ in XDG_RUNTIME_DIR; they are meant to find each other.
    """
    if home():
        return [runtime_dir()]
    usual = Path("/run/user") / str(os.getuid()) / APP
    return list(dict.fromkeys((runtime_dir(), usual, state_dir() / "run")))


def runs_dir() -> Path:
    return data_dir() / "runs"


def sweeps_dir() -> Path:
    return data_dir() / "sweeps"


def journal_dir() -> Path:
    return state_dir() / "journal"


def private(directory: Path) -> Path:
    """The directory, made if need be, readable by its owner only."""
    directory.mkdir(mode=OWNER_ONLY, parents=True, exist_ok=True)
    if stat.S_IMODE(directory.stat().st_mode) != OWNER_ONLY:
        directory.chmod(OWNER_ONLY)
    return directory
