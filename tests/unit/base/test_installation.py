"""The command that gets the native engine, for each way of installing the program."""

import platform
import shutil
import sys
from importlib.metadata import PathDistribution
from pathlib import Path

import pytest

from tuibench.base import installation
from tuibench.record.sysbench_report import without_labels


@pytest.mark.parametrize(
    ("prefix", "source", "is_editable", "command"),
    [
        (
            "/home/ada/.local/share/pipx/venvs/tuibench", "/src/my clone", False,
            "pipx install --force --pip-args='--no-binary tuibench' '/src/my clone'",
        ),
        (
            "/home/ada/.local/share/uv/tools/tuibench", "tuibench", False,
            "uv tool install --reinstall --no-binary-package tuibench tuibench",
        ),
        (
            "/home/ada/.cache/uv/archive-v0/Hv1LKXxw", "tuibench", False,
            "uvx --no-binary-package tuibench --from tuibench tuibench",
        ),
        (
            "/opt/env", "tuibench", False,
            "/opt/env/bin/python -m pip install --force-reinstall --no-deps --no-binary tuibench tuibench",
        ),
        ("/src/clone/.venv", "/src/clone", True, "make -C /src/clone demo"),
    ],
)  # fmt: skip
def test_the_command_fits_the_installation(
    prefix: str, source: str, is_editable: bool, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "prefix", prefix)
    monkeypatch.setattr(installation, "_source", lambda: (source, is_editable))
    monkeypatch.setattr(shutil, "which", lambda _: None)
    assert installation.engine_remedy() == f"{installation.RUST}, then run {command}"


@pytest.mark.parametrize(
    ("prefix", "is_editable", "how"),
    [
        ("/home/ada/pipx/venvs/tuibench", False, "pipx, in /home/ada/pipx/venvs/tuibench"),
        ("/home/ada/uv/tools/tuibench", False, "uv, in /home/ada/uv/tools/tuibench"),
        ("/home/ada/.cache/uv/archive-v0/Hv1LKXxw", False, "uvx"),
        ("/opt/env", False, "pip, in /opt/env"),
        ("/src/clone/.venv", True, "editable, from /src/clone"),
    ],
)  # fmt: skip
def test_the_version_says_how_it_was_installed(
    prefix: str, is_editable: bool, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "prefix", prefix)
    monkeypatch.setattr(installation, "_source", lambda: ("/src/clone", is_editable))
    assert installation.installer_line() == f"{how}; Python {platform.python_version()}"


def test_an_archive_is_known_by_its_launcher(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for file in ("libexec/python3", "bin/tuibench"):
        (tmp_path / file).parent.mkdir()
        (tmp_path / file).touch()
    monkeypatch.setattr(sys, "executable", str(tmp_path / "libexec" / "python3"))
    assert installation.installer_line().startswith(f"archive in {tmp_path};")
    (tmp_path / "bin" / "tuibench").unlink()
    assert "archive" not in installation.installer_line()


def test_the_remedy_has_no_label_of_sysbenchs_report() -> None:
    """A note beside the report would lose it: `https:` ends with `tps:`."""
    for text in (installation.RUST, installation.LUA_NEEDS):
        assert without_labels(text) == text


def test_with_rust_the_command_says_why_it_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "prefix", "/home/ada/.local/share/pipx/venvs/tuibench")
    monkeypatch.setattr(installation, "_source", lambda: ("tuibench", False))
    monkeypatch.setattr(shutil, "which", lambda _: "/usr/bin/cargo")
    assert installation.engine_remedy() == (
        "run pipx install --verbose --force --pip-args='--no-binary tuibench' tuibench, "
        "which says if compiling it fails"
    )


@pytest.mark.parametrize(
    ("recorded", "source"),
    [
        ('{"url": "https://host/ada/tuibench.git", "vcs_info": {"vcs": "git"}}', "git+https://host/ada/tuibench.git"),
        ('{"url": "file:///src/my%20clone", "dir_info": {}}', "'/src/my clone'"),
        ('{"url": "file:///dist/tuibench-1.0-py3-none-any.whl", "archive_info": {}}', "tuibench"),
        (None, "tuibench"),
    ],
)  # fmt: skip
def test_the_command_names_what_was_installed(
    recorded: str | None, source: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(PathDistribution, "read_text", lambda _, name: recorded)
    monkeypatch.setattr(shutil, "which", lambda _: None)
    assert installation.engine_remedy().endswith(f" --no-binary tuibench {source}")
