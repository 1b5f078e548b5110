"""`tuibench cluster install`: a stand-in for ssh runs the host's shell here, with a home of its own."""

import io
import os
import shlex
import sys
import tarfile
from pathlib import Path

import pytest

from tests.unit.cli.program import Program
from tuibench.base.errors import ExitCode
from tuibench.features.cluster.install import ELF_MACHINE, MACHINES, script

OURS = next(number for number, name in MACHINES.items() if name == os.uname().machine)
RUNS = f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m tuibench "$@"\n'
RUNS_NOT = "#!/bin/sh\necho 'tuibench: this archive needs glibc 9.99' >&2\nexit 1\n"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home of the other host's user."""
    home, stand_in = tmp_path / "the user's home", tmp_path / "ssh"
    home.mkdir()
    there = f"HOME={shlex.quote(str(home))}"
    stand_in.write_text(f'#!/bin/sh\nfor last; do :; done\nexport {there}\nexec sh -c "exec $last"\n')
    stand_in.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}/usr/bin:/bin")
    return home


def archive(path: Path, program: str = RUNS, machine: int = OURS, top: str = "tuibench") -> Path:
    """What `make archive` builds, without an interpreter that runs."""
    with tarfile.open(path, "w:xz") as tar:
        for name, data in (
            ("bin/tuibench", program.encode()),
            ("libexec/python3", ELF_MACHINE.pack(b"\x7fELF", machine)),
        ):
            entry = tarfile.TarInfo(f"{top}/{name}")
            entry.size, entry.mode = len(data), 0o755
            tar.addfile(entry, io.BytesIO(data))
    return path


def left(home: Path) -> list[str]:
    """Files and folders of the home, but for those that the installed program makes there."""
    return sorted(str(path.relative_to(home)) for path in home.rglob("*") if not path.is_dir())


PROGRAM, LINK = ".local/lib/tuibench/bin/tuibench", ".local/bin/tuibench"
INSTALLED = [LINK, PROGRAM, ".local/lib/tuibench/libexec/python3"]


def test_a_host_gets_it_and_can_take_part(tmp_path: Path, home: Path, tuibench: Program) -> None:
    """Twice: the second one replaces the first."""
    for _ in range(2):
        ended = tuibench("cluster", "install", "east", f"--archive={archive(tmp_path / 'a.tar.xz')}")
        assert ended.code == ExitCode.DONE, ended.err
        assert f"east: installed as {home}/{PROGRAM}" in ended.err
        assert "1 host with" in ended.err
        assert ended.out.splitlines()[1].startswith("east ")
        assert left(home) == INSTALLED
        assert (home / LINK).resolve() == home / PROGRAM


def test_a_folder_of_its_own_has_no_link(tmp_path: Path, home: Path, tuibench: Program) -> None:
    folder = tmp_path / "a 'folder'"
    given = f"--archive={archive(tmp_path / 'a.tar.xz')}"
    ended = tuibench("cluster", "install", "east", given, f"--to={folder}")
    assert f"east: installed as {folder}/tuibench/bin/tuibench" in ended.err
    assert f"--cluster-program={folder}/tuibench/bin/tuibench" in ended.err
    assert left(home) == []


def test_a_command_gets_it_in_the_place_of_the_agent(tmp_path: Path, home: Path, tuibench: Program) -> None:
    program = home / PROGRAM
    place = f"exec:env {shlex.quote(f'HOME={home}')} {shlex.quote(str(program))} agent"
    given = f"--archive={archive(tmp_path / 'a.tar.xz')}"
    ended = tuibench("cluster", "install", "--cluster", place, given)
    assert ended.code == ExitCode.DONE, ended.err
    assert left(home) == INSTALLED


@pytest.mark.parametrize(
    ("program", "machine", "said"),
    [
        (RUNS_NOT, OURS, "it does not run here"),
        (RUNS, 183 if OURS == 62 else 62, "the archive is for Linux on "),
    ],
)
def test_what_does_not_run_there_replaces_nothing(
    tmp_path: Path, home: Path, tuibench: Program, program: str, machine: int, said: str
) -> None:
    assert tuibench("cluster", "install", "east", f"--archive={archive(tmp_path / 'a.tar.xz')}").code == 0
    before = (home / PROGRAM).read_bytes()
    other = archive(tmp_path / "b.tar.xz", program, machine)
    ended = tuibench("cluster", "install", "east", f"--archive={other}")
    assert ended.code == ExitCode.RUN_FAILED
    assert said in ended.err
    assert left(home) == INSTALLED
    assert (home / PROGRAM).read_bytes() == before


@pytest.mark.parametrize("place", [LINK, ".local/lib/tuibench/mine"])
def test_what_is_the_users_stays(tmp_path: Path, home: Path, tuibench: Program, place: str) -> None:
    (home / place).parent.mkdir(parents=True)
    (home / place).write_text("mine")
    ended = tuibench("cluster", "install", "east", f"--archive={archive(tmp_path / 'a.tar.xz')}")
    assert ended.code == ExitCode.RUN_FAILED
    assert "is there, and is not" in ended.err
    assert (home / place).read_text() == "mine"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["east"], "does not run from an archive"),
        (["east", "--archive=none.tar.xz"], "none.tar.xz: cannot be read: No such file"),
        (["east", "--archive=other.tar.xz"], "is not an archive of tuibench"),
        (["east", "--archive=text"], "text: cannot be read: "),
        (
            ["--cluster=exec:kubectl exec -i load-0 -- tb", "--archive=good.tar.xz"],
            "nothing can be installed",
        ),
        (["--archive=good.tar.xz"], "which hosts?"),
    ],
)
def test_what_cannot_be_sent_is_refused_before_a_host_is_asked(
    tmp_path: Path,
    home: Path,
    tuibench: Program,
    words: list[str],
    said: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    archive(tmp_path / "good.tar.xz")
    archive(tmp_path / "other.tar.xz", top="htop")
    (tmp_path / "text").write_text("no archive")
    ended = tuibench("cluster", "install", *words)
    assert ended.code == ExitCode.USAGE_ERROR
    assert said in ended.err
    assert left(home) == []


def test_install_has_its_options_and_check_not(home: Path, tuibench: Program) -> None:
    ended = tuibench("cluster", "check", "east", "--to=/opt")
    assert (ended.code, "--to is for cluster install" in ended.err) == (ExitCode.USAGE_ERROR, True)
    assert shlex.quote("/o p't") in script("x86_64", "/o p't")
