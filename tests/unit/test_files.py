"""Reading a user's small files: what never ends, is too large or no text is refused, in time."""

import os
from pathlib import Path

import pytest

from tuibench import files


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
