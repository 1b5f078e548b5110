"""The configuration file, and where passwords come from."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tuibench.base import config, credentials
from tuibench.base.errors import UsageError
from tuibench.base.own_process import own_command

# One reader for the configuration file: its sections, and nothing else.


def test_a_section_that_is_not_there_is_empty(tuibench_home: Path) -> None:
    assert config.read_section("keys") == {}
    config.config_file().parent.mkdir()
    config.config_file().write_text("[presets.night]\nsettings = { sync_binlog = 0 }\n[keys]\npause = 'o'\n")
    assert config.read_section("keys") == {"pause": "o"}
    assert config.read_section("screen") == {}


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("[key]\n", "c.toml: key: unknown key (did you mean 'keys'?)"),
        ("keys = 'p'\n", 'c.toml: keys: lines of action = "key", not text'),
        ("screen = 3\n", "c.toml: screen: lines of option = value, not a number"),
    ],
)
def test_faults_are_named(text: str, fault: str) -> None:
    with pytest.raises(UsageError) as caught:
        config.parse_config(text, "c.toml", text.split(" ")[0].strip("[]\n"))
    assert str(caught.value) == fault


# Passwords leave the command line and the environment, and are still known.


SECRET = "open-sesame-4711"


@pytest.mark.parametrize(
    ("given", "password", "rest"),
    [
        (["run", "-psecret", "x"], "secret", ["run", "x"]),
        (["--password=s=t", "x"], "s=t", ["x"]),
        (["--mysql-password", "oltp_read_write"], None, ["-p", "oltp_read_write"]),
        (["--mysql_password=secret"], "secret", []),
        (["--password="], "", []),
        (["--password"], None, ["-p"]),
        (["--password", "--host=db1"], None, ["-p", "--host=db1"]),
        (["--mysql_password", "-hdb1"], None, ["-p", "-hdb1"]),
        (["--password=a", "-pb"], "b", []),
        (["-p", "run"], None, ["-p", "run"]),
        (["-P3306", "--port=1", "--percentile=1"], None, ["-P3306", "--port=1", "--percentile=1"]),
    ],
)
def test_a_password_is_found_in_every_spelling(
    given: list[str], password: str | None, rest: list[str]
) -> None:
    assert credentials.without_password(given) == (password, rest)


class RestartedError(Exception):
    """The program was started again."""


@pytest.mark.parametrize(
    "given",
    [
        ["run", "--mysql_password=sé cret", "x"],
        ["run", "-psé cret", "x"],
        ["run", "--password=sé cret", "x"],
    ],
)
def test_a_password_leaves_the_command_line_through_a_pipe(
    given: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    started: list[Sequence[str]] = []

    def execv(program: str, arguments: Sequence[str]) -> None:
        started.append([program, *arguments])
        raise RestartedError

    monkeypatch.setattr(sys, "argv", ["tuibench", *given])
    monkeypatch.setattr(os, "execv", execv)
    monkeypatch.setenv(credentials.PASSWORD_PIPE, "")
    with pytest.raises(RestartedError):
        credentials.conceal()
    assert started == [[sys.executable, *own_command("tuibench", "run", "x")]]
    assert "sé cret" not in "".join(os.environ.values())
    assert os.get_inheritable(int(os.environ[credentials.PASSWORD_PIPE]))
    assert credentials.inherited_password() == "sé cret"
    assert credentials.inherited_password() is None
    said = capsys.readouterr().err
    assert "visible to other users; -p asks" in said
    assert "sé cret" not in said


def test_a_program_that_does_not_start_again_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An interpreter in a folder that this user may not enter, for example."""
    place = tmp_path / "python"
    place.write_text("")
    monkeypatch.setattr(sys, "executable", str(place))
    monkeypatch.setattr(sys, "argv", ["tuibench", "run", "--password=x"])
    monkeypatch.setenv(credentials.PASSWORD_PIPE, "")
    with pytest.raises(SystemExit, match=f"{place} does not start again: Permission denied .-p asks"):
        credentials.conceal()


def test_an_empty_password_is_no_secret(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """sysbench's users write --mysql-password= where there is none."""
    monkeypatch.setattr(os, "execv", lambda *_: None)
    monkeypatch.setenv(credentials.PASSWORD_PIPE, "")
    monkeypatch.setattr(sys, "argv", ["tuibench", "run", "--mysql-password=", "x"])
    credentials.conceal()
    assert credentials.inherited_password() == ""
    assert capsys.readouterr().err == ""


def test_an_option_without_a_value_asks_for_the_password(monkeypatch: pytest.MonkeyPatch) -> None:
    """It does not take the next option for the password."""
    monkeypatch.setattr(sys, "argv", ["tuibench", "slap", "--password", "--host=db1"])
    credentials.conceal()
    assert sys.argv == ["tuibench", "slap", "-p", "--host=db1"]
    assert credentials.inherited_password() is None


def test_without_a_first_start_there_is_no_password_to_inherit() -> None:
    assert credentials.inherited_password() is None


WATCHED = """
import sys
def watch(event, arguments):
    if event != "import":
        return
    with open("/proc/self/cmdline", "rb") as line, open("/proc/self/environ", "rb") as variables:
        places = [place for place, text in (("argv", line.read()), ("environ", variables.read()))
                  if b"%s" in text]
    with open("%s", "a") as seen:
        seen.write(f"{arguments[0]} {' '.join(places)}\\n")
sys.addaudithook(watch)
"""
"""Writes down, at each import, where the password can be read by others."""

ENTRY_POINT = "import sys; from tuibench.__main__ import main; sys.exit(main())"
"""What installers write into the program; `-m` has imports of its own."""
OURS = {
    f"tuibench{each}"
    for each in ("", "._version", ".__main__", ".base", ".base.credentials", ".base.own_process")
}
HEAVY = {
    "asyncio",
    "collections",
    "contextlib",
    "typing",
    "inspect",
    "dataclasses",
    "logging",
    "ssl",
    "socket",
    "subprocess",
}
"""What of the standard library takes its time."""


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc")
@pytest.mark.parametrize(
    ("words", "variables"),
    [((f"--password={SECRET}",), {}), ((f"-p{SECRET}",), {}), ((), {"MYSQL_PWD": SECRET})],
)
def test_no_import_of_weight_comes_before_it(
    words: Sequence[str], variables: dict[str, str], tmp_path: Path
) -> None:
    seen = tmp_path / "seen"
    (tmp_path / "sitecustomize.py").write_text(WATCHED % (SECRET, seen))
    command = [sys.executable, "-c", ENTRY_POINT, "doctor", "--host=127.0.0.1", "--port=1", *words]
    env = {**os.environ, **variables, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 3, done.stderr
    imports = [line.partition(" ") for line in seen.read_text().splitlines()]
    exposed = {name for name, _, places in imports if places}
    assert {name for name, _, _ in imports} >= OURS
    assert {name.partition(".")[0] for name in exposed - OURS} <= sys.stdlib_module_names - HEAVY
    assert "tuibench.cli.main" in {name for name, _, places in imports if not places}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (None, '[screen]\ncharts = "tps,p95"\n'),
        ('# mine\n[keys]\npause = "i"\n', '# mine\n[keys]\npause = "i"\n[screen]\ncharts = "tps,p95"\n'),
        ("[screen] # all\nfps = 5\n", '[screen] # all\ncharts = "tps,p95"\nfps = 5\n'),
        (
            '[screen]\nfps = 5\ncharts="x"\n[keys]\ncharts = "y"\n',
            '[screen]\nfps = 5\ncharts = "tps,p95"\n[keys]\ncharts = "y"\n',
        ),
    ],
)
def test_an_option_is_kept_and_the_rest_of_the_file_stays(
    tuibench_home: Path, before: str | None, after: str
) -> None:
    path = config.config_file()
    path.parent.mkdir(parents=True, exist_ok=True)
    if before is not None:
        path.write_text(before)
    config.keep_option("screen", "charts", "tps,p95")
    assert path.read_text() == after
    assert config.read_section("screen")["charts"] == "tps,p95"
