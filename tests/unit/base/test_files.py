"""Files and folders of the program."""

import os
import stat
from pathlib import Path

import pytest

from tests.tables import for_each
from tuibench.base import files, paths
from tuibench.base.errors import RunError, UsageError

# Reading a user's small files: what never ends, is too large or no text is refused, in time.


def test_a_file_and_the_null_device(tmp_path: Path) -> None:
    file = tmp_path / "x"
    file.write_bytes("a = 'ü'\r\nb\n".encode())
    assert files.read_text(file) == "a = 'ü'\nb\n"
    assert files.read_text(Path(os.devnull)) == ""


@pytest.mark.parametrize("name", ["/dev/zero", "/dev/full", "/dev/urandom"])
def test_a_device_that_never_ends(name: str) -> None:
    with pytest.raises(OSError, match="not a regular file"):
        files.read_text(Path(name))


def test_a_pipe_without_a_writer_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="not a regular file"):
        files.read_text(tmp_path / "pipe")


def test_a_named_pipe_is_refused_where_those_of_a_shell_are_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(tmp_path / "pipe")
    for name in ("pipe", "link"):
        with pytest.raises(OSError, match="not a regular file"):
            files.read_text(tmp_path / name, pipes=True)


def test_a_file_that_becomes_a_pipe_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(tmp_path / "x")
    regular = Path(__file__).stat()
    monkeypatch.setattr(Path, "stat", lambda _: regular)
    with pytest.raises(OSError, match="not a regular file"):
        files.open_regular(tmp_path / "x")


def test_a_limit_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"abcd")
    assert files.read_bytes(tmp_path / "x", limit=4) == b"abcd"
    with pytest.raises(OSError, match="larger than"):
        files.read_bytes(tmp_path / "x", limit=3)


def test_a_pipe_that_yields_more_than_the_limit() -> None:
    reading, writing = os.pipe()
    os.write(writing, b"abcd")
    os.close(writing)
    try:
        with pytest.raises(OSError, match="larger than"):
            files.read_bytes(Path(f"/dev/fd/{reading}"), pipes=True, limit=3)
    finally:
        os.close(reading)


def test_what_a_shell_hands_over() -> None:
    reading, writing = os.pipe()
    os.write(writing, b"SELECT 1")
    os.close(writing)
    try:
        assert files.read_text(Path(f"/dev/fd/{reading}"), pipes=True) == "SELECT 1"
    finally:
        os.close(reading)


def test_a_dump_named_by_mistake(tmp_path: Path) -> None:
    file = tmp_path / "dump.sql"
    with file.open("wb") as stream:
        stream.truncate(files.MAX_FILE_BYTES + 1)
    with pytest.raises(OSError, match="larger than 16 MiB"):
        files.read_text(file)


@pytest.mark.parametrize("name", [".", "none", "no\0name"])
def test_no_file_at_all(name: str, tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r"directory|zero byte"):
        files.read_text(tmp_path / name)


def test_the_home_of_an_unknown_user_is_not_expanded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    assert files.expand_path("~/x") == Path("/home/me/x")
    assert files.expand_path("~nobody-we-know/x") == Path("~nobody-we-know/x")


def test_a_private_file_is_its_owners_also_if_it_was_not(tmp_path: Path) -> None:
    older = tmp_path / "older"
    older.write_text("a")
    older.chmod(0o644)
    for path, mode in ((older, "ab"), (tmp_path / "new", "wb")):
        with files.private(path, mode) as stream:
            stream.write(b"b")
        assert path.stat().st_mode & 0o777 == 0o600
    assert older.read_bytes() == b"ab"


# Where files go, with and without the user's word.


ALL = (
    paths.data_dir,
    paths.state_dir,
    paths.config_dir,
    paths.runtime_dir,
    paths.runs_dir,
    paths.journal_dir,
)


def test_a_private_folder_is_made_and_later_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a disk that can only be read, there is nothing to be changed either."""
    (tmp_path / "open").mkdir(mode=0o755)
    assert paths.ensure_private(tmp_path / "open").stat().st_mode & 0o777 == 0o700
    monkeypatch.setattr(Path, "chmod", lambda *_: pytest.fail("needs no change"))
    assert paths.ensure_private(tmp_path / "open").stat().st_mode & 0o777 == 0o700


def test_one_variable_moves_everything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TUIBENCH_HOME", str(tmp_path))
    assert all(directory().is_relative_to(tmp_path) for directory in ALL)
    assert paths.runs_dir() == paths.data_dir() / "runs"
    assert len({directory() for directory in ALL}) == len(ALL)


def test_a_home_may_be_given_with_a_tilde(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TUIBENCH_HOME", "~/bench")
    assert paths.home_override() == Path.home() / "bench"


def test_without_it_the_usual_folders_are_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TUIBENCH_HOME")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    assert paths.home_override() is None
    assert paths.data_dir().name == paths.state_dir().name == "tuibench"
    assert paths.runtime_dir() == tmp_path / "tuibench"


@pytest.mark.parametrize("runtime", [None, "/nowhere/at/all"])
def test_without_a_runtime_folder_sockets_are_kept_with_the_state(
    runtime: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TUIBENCH_HOME")
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    if runtime:
        monkeypatch.setenv("XDG_RUNTIME_DIR", runtime)
    assert paths.runtime_dir() == paths.state_dir() / "run"


def test_a_private_folder_is_made_and_closed_to_others(tmp_path: Path) -> None:
    made = paths.ensure_private(tmp_path / "a" / "b")
    made.chmod(0o755)
    assert paths.ensure_private(made).stat().st_mode & 0o777 == 0o700


def test_the_runtime_folder_of_another_user_is_not_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As `su` leaves it in the environment."""
    monkeypatch.delenv("TUIBENCH_HOME", raising=False)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setattr("os.access", lambda *_: False)
    assert paths.runtime_dir() == paths.state_dir() / "run"


def test_records_alone_are_moved_by_a_run_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = (paths.state_dir(), paths.config_dir(), paths.runtime_dirs())
    monkeypatch.setenv(paths.RECORDS, "")
    paths.keep_records_in(str(tmp_path))
    assert paths.runs_dir() == tmp_path / "runs"
    assert paths.sweeps_dir() == tmp_path / "sweeps"
    assert (paths.state_dir(), paths.config_dir(), paths.runtime_dirs()) == before


def test_a_claimed_name_is_taken(tmp_path: Path) -> None:
    assert [paths.claim(tmp_path, "run").name for _ in range(3)] == ["run", "run-2", "run-3"]


def test_names_in_two_run_directories_differ(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their journals and sockets are in one place."""
    usual = paths.claim(tmp_path / "a", "run").name
    monkeypatch.setenv(paths.RECORDS, str(tmp_path / "b"))
    assert paths.claim(tmp_path / "b", "run").name == f"run-{os.getpid()}" != usual


def test_a_user_without_a_home_has_a_folder_of_its_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A user id of a container, without a name and without HOME."""

    def nothing(app: str) -> Path:
        raise RuntimeError("could not determine the home directory")

    monkeypatch.delenv("TUIBENCH_HOME", raising=False)
    monkeypatch.setattr("platformdirs.user_state_path", nothing)
    monkeypatch.setattr(paths, "HOMELESS", tmp_path)
    own = tmp_path / f"tuibench-{os.geteuid()}"
    assert paths.state_dir() == own / "state"
    paths.ensure_private(paths.journal_dir())
    assert stat.S_IMODE(own.stat().st_mode) == 0o700
    assert paths.state_dir() == own / "state"
    monkeypatch.setenv("TUIBENCH_HOME", str(tmp_path))
    assert paths.state_dir() == tmp_path / "state"


@for_each("kind", ["open to others", "a link", "a file"])
def test_a_folder_that_others_can_write_is_not_taken(
    kind: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def nothing(app: str) -> Path:
        raise RuntimeError("could not determine the home directory")

    monkeypatch.delenv("TUIBENCH_HOME", raising=False)
    monkeypatch.setattr("platformdirs.user_config_path", nothing)
    place = tmp_path / kind
    place.mkdir()
    monkeypatch.setattr(paths, "HOMELESS", place)
    own = place / f"tuibench-{os.geteuid()}"
    match kind:
        case "a link":
            own.symlink_to(tmp_path)
        case "a file":
            own.touch(mode=0o600)
        case _:
            own.mkdir()
            own.chmod(0o770)
    with pytest.raises(UsageError, match="is not its own alone") as refused:
        paths.config_dir()
    assert "TUIBENCH_HOME" in refused.value.hint


def test_a_folder_for_records_that_cannot_be_created_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(RunError, match=r"cannot create .*/file/runs: Not a directory") as refused:
        paths.claim(tmp_path / "file" / "runs", "run")
    assert "TUIBENCH_HOME" in refused.value.hint
