"""Where files go, with and without the user's word."""

import os
from pathlib import Path

import pytest

from tuibench import paths

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
