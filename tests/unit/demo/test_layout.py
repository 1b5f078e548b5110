"""Location of private servers."""

from pathlib import Path

import pytest

from tuibench.demo import layout


def test_tmpdir_if_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    short = Path("/tmp")
    monkeypatch.setenv("TMPDIR", str(short))
    assert layout.default_base() == short


def test_a_folder_too_deep_for_a_socket_is_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deep = tmp_path / ("d" * 100)
    deep.mkdir()
    monkeypatch.setenv("TMPDIR", str(deep))
    assert layout.default_base() == Path("/var/tmp")


def test_a_real_disk_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TMPDIR", raising=False)
    assert layout.default_base() == Path("/var/tmp")


def test_private_to_its_owner(tmp_path: Path) -> None:
    made = layout.DirectoryLayout.create(tmp_path)
    layout.write_private(made.client_options, "text")
    assert made.root.name.startswith(layout.PREFIX)
    assert made.root.stat().st_mode & 0o777 == 0o700
    assert made.client_options.stat().st_mode & 0o777 == 0o600


def test_its_socket_tells_a_private_server(tmp_path: Path) -> None:
    made = layout.DirectoryLayout.create(tmp_path)
    assert not layout.is_private_socket(str(made.socket)), "without a supervisor"
    made.supervisor_lock.touch()
    assert layout.is_private_socket(str(made.socket))
    assert not layout.is_private_socket("")
    assert not layout.is_private_socket("/run/mysqld/mysqld.sock")
