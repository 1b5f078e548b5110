"""The scope of a supervisor, with a program that stands for systemd-run."""

import subprocess
import sys
from pathlib import Path

import pytest

from tuibench.demo import systemd_scope
from tuibench.demo.systemd_scope import scope_command

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="systemd is Linux's")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A hierarchy with controllers."""
    (tmp_path / "cgroup.controllers").write_text("cpu memory\n")
    return tmp_path


def install(monkeypatch: pytest.MonkeyPatch, folder: Path, script: str) -> Path:
    """Put a systemd-run with this script on the path."""
    program = folder / "systemd-run"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    return program


BECOME = 'while [ "$1" != -- ]; do shift; done; shift; exec "$@"'
"""As systemd-run --scope does: become the program."""


@pytest.mark.parametrize(("user", "manager"), [(0, []), (1000, ["--user"])])
def test_a_command_in_a_scope(
    monkeypatch: pytest.MonkeyPatch, root: Path, user: int, manager: list[str]
) -> None:
    program = install(monkeypatch, root, BECOME)
    monkeypatch.setattr("os.geteuid", lambda: user)
    first, why_not = scope_command(root, root)
    second, _ = scope_command(root, root)
    assert why_not == ""
    assert first[: 2 + len(manager)] == [str(program), *manager, "--scope"]
    assert "--property=Delegate=cpu memory" in first
    assert first != second
    ran = subprocess.run([*first, "echo", "x"], capture_output=True, text=True, check=True)
    assert ran.stdout == "x\n"


@pytest.mark.parametrize(
    ("script", "why_not"),
    [
        (
            "echo first >&2; echo Failed to connect to bus >&2; exit 1",
            "systemd-run: Failed to connect to bus",
        ),
        ("exit 7", "systemd-run: exit code 7"),
    ],
)
def test_why_there_is_no_scope(
    monkeypatch: pytest.MonkeyPatch, root: Path, script: str, why_not: str
) -> None:
    install(monkeypatch, root, script)
    assert scope_command(root, root) == ([], why_not)


def test_a_manager_that_does_not_respond(monkeypatch: pytest.MonkeyPatch, root: Path) -> None:
    install(monkeypatch, root, "exec sleep 600")
    monkeypatch.setattr(systemd_scope, "TRIAL_SECONDS", 0.05)
    assert scope_command(root, root) == ([], "systemd-run does not respond within 0 s")


def test_no_scope_is_expected_without_systemd_or_controllers(
    monkeypatch: pytest.MonkeyPatch, root: Path, tmp_path: Path
) -> None:
    install(monkeypatch, root, "exit 1")
    assert scope_command(root, booted=root / "nothing") == ([], "")
    assert scope_command(root / "nothing", booted=root) == ([], "")
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    assert scope_command(root, root) == ([], "")
