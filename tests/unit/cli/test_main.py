"""The program: commands, help, imports."""

import re
import shlex
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import typer

from tests.tables import for_each
from tests.unit.cli.program import Program
from tests.unit.record.written import written
from tuibench import __version__
from tuibench.base import installation, paths
from tuibench.base.errors import ExitCode, RunError
from tuibench.base.feature import CommandSection, installed
from tuibench.cli import main as program
from tuibench.cli.main import command_module

# The program as scripts meet it: exit codes, one line on stderr, no traceback, nothing loaded for help.


NOBODY = ("-h", "127.0.0.1", "-P", "1", "--defaults-file", "/dev/null")


@pytest.mark.parametrize("arguments", [(), ("--help",)])
def test_help_lists_the_commands(tuibench: Program, arguments: tuple[str, ...]) -> None:
    code, out, err = tuibench(*arguments)
    assert (code, err) == (ExitCode.DONE, "")
    assert out.startswith("Usage: tuibench ")
    for name, words in program.COMMANDS.items():
        if program.ENTRIES[name].section is CommandSection.HIDDEN:
            assert f"  {name} " not in out
            continue
        assert name in out
        assert words.split(",")[0].split(":")[0] in out


def test_the_commands_that_one_needs_come_first(tuibench: Program) -> None:
    listed = re.findall(r"^  ([a-z]+) +[A-Z]", tuibench("--help").out, re.MULTILINE)
    assert tuple(listed[: len(program.FIRST)]) == program.FIRST
    assert len(set(listed)) == len(listed)


@for_each("command", program.COMMANDS)
def test_each_command_has_help_and_h_is_not_it(tuibench: Program, command: str) -> None:
    code, out, _ = tuibench(command, "--help")
    assert code == ExitCode.DONE
    assert out.startswith(f"Usage: tuibench {command} ")
    assert "-h, --help" not in out


@pytest.mark.parametrize(
    ("program", "words"),
    [("/none/mysqld", "cannot run /none/mysqld"), ("/bin/ls", "/bin/ls is not a MariaDB or MySQL server")],
)
def test_a_demonstration_on_what_is_no_server(tuibench: Program, program: str, words: str) -> None:
    code, out, err = tuibench("demo", "--headless", f"--server={program}")
    assert (code, out) == (ExitCode.SERVER_UNAVAILABLE, "")
    assert err.startswith(f"tuibench: {words}")


@pytest.mark.parametrize(
    ("is_installed", "module", "line"),
    [
        (True, SimpleNamespace(declared=print), "native, with Lua scripts"),
        (True, SimpleNamespace(), f"native; for Lua scripts, {installation.lua_remedy()}"),
        (False, None, f"asyncio; for the native one, {installation.engine_remedy()}"),
    ],
)
def test_the_version_names_the_engine(
    tuibench: Program, monkeypatch: pytest.MonkeyPatch, is_installed: bool, module: object, line: str
) -> None:
    monkeypatch.setattr(installation, "has_native_engine", lambda: is_installed)
    monkeypatch.setattr(installation, "native_module", lambda: module)
    said = f"tuibench {__version__}\nengine: {line}\ninstalled: {installation.installer_line()}\n"
    assert tuibench("--version") == (ExitCode.DONE, said, "")


@pytest.fixture
def one(tuibench_home: Path) -> None:
    """A recorded run of this name."""
    written(paths.runs_dir() / "one")


@pytest.mark.usefixtures("one")
@for_each(
    ("line", "words"),
    [
        ("rnu", "there is no command 'rnu' (did you mean 'run'?)"),
        ("rnu oltp_read_write", "there is no command 'rnu' (did you mean 'run'?)"),
        ("--xyzzy", "unknown option --xyzzy (see tuibench --help)"),
        ("sessions --hlp", "unknown option --hlp (did you mean '--help'?)"),
        (
            "run",
            "missing argument 'profile' (give one, such as oltp_read_write, or your own SQL with --sql)",
        ),
        ("run oltp_read_rwite", "did you mean 'oltp_read_write'?"),
        ("prepare oltp_read_onyl", "(did you mean 'oltp_read_only'?)"),
        ("run ./none.toml", "there is no profile file ./none.toml"),
        ("run oltp_read_write --threads 0", "--threads must be between 1 and 100,000, not 0"),
        ("run oltp_read_write --threads=-1", "--threads must be between 1 and 100,000, not -1"),
        ("run oltp_read_write --threads 1000000", "not 1,000,000"),
        ("run oltp_read_write --time=-1", "--time must be between 0 and"),
        ("run oltp_read_write --interval=0", "--interval must be between 0.1 and"),
        ("run oltp_read_write --threads many", "--threads takes a whole number, not 'many'"),
        ("run oltp_read_write --time=5x", "--time takes a number of seconds, or a duration such as 1m30s"),
        ("run oltp_read_write --set x=1", "unknown option --set (settings: tuibench ctl set NAME=VALUE"),
        ("watch --set x=1", "unknown option --set (settings: tuibench ctl set NAME=VALUE"),
        ("run oltp_read_write --time 5x", "--time takes a number"),
        ("run oltp_read_write --rate", "--rate needs a value (see tuibench run --help)"),
        ("sessions extra", "unexpected argument: extra"),
        ("run oltp_read_write --table-sice=5", "unknown option --table-sice (did you mean '--table-size'?)"),
        ("run oltp_read_write --tables=0", "--tables: 0 is too small (at least 1)"),
        ("run oltp_read_write --point-selects=ten", "--point-selects: 'ten' is not an integer"),
        ("run oltp_read_write --range-selects=perhaps", "--range-selects: 'perhaps' is not on or off"),
        ("run oltp_read_write --rand-type=unifrom", "(did you mean 'uniform'?)"),
        ("run oltp_read_write extra", "'extra' is not an option"),
        ("run oltp_read_write --ssl-mode=never", "ssl_mode"),
        ("run oltp_read_write --defaults-file=/none.cnf", "cannot read the option file /none.cnf"),
        ("prepare oltp_read_write --threads=-1", "--threads must be between"),
        ("cleanup nothing", "there is no profile 'nothing' (tuibench profiles list shows all profiles)"),
        ("cpu run", "measures the processor, and tuibench measures MySQL and MariaDB only"),
        ("demo --threads=0 --headless", "--threads must be between"),
        ("demo --profile=nothing --headless", "there is no profile 'nothing'"),
        ("live oltp_read_write", "the live screen needs a terminal"),
        ("attach", "the live screen needs a terminal"),
        ("live oltp_read_write --detach --grace=-1", "--grace is a number of seconds, not -1"),
        ("demo --detach --grace=nan", "--grace is a number of seconds, not nan"),
        ("run oltp_read_write --grace=5", "--grace applies to a run in the background (add --detach)"),
        ("run oltp_read_write --detach --json=x", "--json cannot wait for a run in the background"),
        ("run oltp_read_write --detach --csv=x", "--csv cannot wait for a run in the background"),
        ("run oltp_read_write --detach --fail-if=tps<1", "--fail-if cannot wait for a run in the background"),
        ("run oltp_read_write --csv=/none/x.csv", "cannot write /none/x.csv: No such file or directory"),
        ("run oltp_read_write --fail-if=p95>>5", '(for example "p95>50ms", "errors>0.1%", "tps<500")'),
        ("run oltp_read_write --fail-if=tps<5 --fail-if=p9x>5", "'p9x>5' is not a threshold"),
        ("sessions --format=xml", "--format: 'xml' is unknown (valid: json, text)"),
        ("ctl", "missing argument '[ID] COMMAND …'"),
        ("ctl thraeds 64", "ctl has no command 'thraeds' (did you mean 'threads'?)"),
        ("ctl 2026 thraeds 64", "ctl has no command 'thraeds' (did you mean 'threads'?)"),
        ("ctl threads many", "ctl threads: 'many' is not a whole number (usage: ctl threads N)"),
        ("ctl plan 8:30s,x", "character 7, 'x': a stage is LEVEL:TIME"),
        ("ctl pause --wait", "--wait is for stop, not for pause"),
        ("ctl status now", "ctl status takes no argument, not 'now'"),
        ("ctl status --format=table", "--format: 'table' is unknown"),
        (
            "watch --cluster=ssh:a",
            "--cluster is an option of run, live, probe, sweep, tune, versions and demo",
        ),
        ("prepare tpcc --cluster-ca=x", "--cluster-ca is an option of run, live, probe, sweep, tune"),
        ("slap --on-host-loss=stop", "--on-host-loss is an option of run, live, probe, sweep, tune"),
        ("demo --headless --cluster=somewhere", "'somewhere' has no ssh:, exec: or tls:"),
        ("restore --xyzzy", "unknown option --xyzzy (see tuibench restore --help)"),
        *((f"{command} '--sql=SELECT :id'", "no value for :id") for command in ("run", "probe", "sweep")),
        *(
            (f"{command} --prometheus=nonsense", "--prometheus takes [HOST]:PORT, not 'nonsense'")
            for command in ("run oltp_read_only", "live oltp_read_only --detach", "demo --headless")
        ),
        ("probe oltp_read_write --slo=quick", "'quick' is not a threshold"),
        ("runs lst", "did you mean 'list'?"),
        ("runs list x", "takes no run"),
        ("runs show", "takes one run"),
        ("runs show nothing", "there is no run 'nothing'"),
        ("runs remove", "at least one run"),
        ("runs --format=xml", "'xml' is unknown"),
        ("report one --csv --json", "only one format can be printed on stdout"),
        ("report one --csv=/nowhere/x", "cannot write /nowhere/x"),
        ("check tpcc --format=xml", "--format: 'xml' is unknown"),
        ("check tpcc --after-load=maybe", "--after-load is one of auto, on, off, not 'maybe'"),
        ("check tpc", "there is no profile 'tpc' (did you mean 'tpcc'?)"),
        ("check bulk_insert", "there are no consistency conditions for the tables of bulk"),
        ("compare one", "compare takes two runs or more"),
        ("compare no-such-run one", "there is no run 'no-such-run'"),
        ("compare a b --format=yaml", "--format: 'yaml' is unknown"),
        ("compare a b --fail-if=tps<5", "is not a threshold of a comparison"),
        ("history no_such_profile", "there is no finished run of 'no_such_profile'"),
        ("profiles shwo oltp_delete", "profiles has no action 'shwo' (did you mean 'show'?)"),
        ("profiles show", "profiles show takes a name or a file"),
        ("profiles list oltp_delete", "profiles list takes no name"),
        ("profiles show oltp_delte", "did you mean 'oltp_delete'?"),
        ("profiles list --format=xml", "--format: 'xml' is unknown (valid: json, text)"),
        ("profiles check ./none.toml", "there is no profile file ./none.toml"),
        ("cluster check", "which hosts?"),
        ("cluster destroy --cluster=ssh:a", "cluster takes check or install, not 'destroy'"),
        ("cluster check --cluster=a,b", "has no ssh:, exec: or tls:"),
        ("run oltp_read_write --cluster-lease=9", "--cluster-lease is for a load from several hosts"),
        ("run oltp_read_write --cluster=ssh:a --cluster-lease=0.1", "--cluster-lease"),
        ("run oltp_read_write --cluster=tcp://10.0.0.1:8786", "is without TLS"),
        ("run oltp_read_write --cluster=tls://a:1 --cluster-ca=/no/ca", "no file /no/ca"),
        ("run oltp_read_write --cluster=ssh:a --on-host-loss=panic", "--on-host-loss is one of"),
        *(
            (
                f"{command} oltp_read_only --cluster=a,b --host=127.0.0.1 --port=1",
                "has no ssh:, exec: or tls:",
            )
            for command in ("run", "probe", "tune", "sweep")
        ),
        ("sweep", "no profile is named"),
        ("sweep oltp_read_only --threads=4,x", "--threads takes whole numbers"),
        ("sweep oltp_read_only --threads=0", "threads must be between"),
        ("sweep oltp_read_only --repeat=0", "--repeat must be between"),
        ("sweep oltp_read_only --rate=100,x", "--rate takes numbers separated by commas, not '100,x'"),
        ("sweep oltp_read_only --rate=100,100", "--rate: 100 is given twice"),
        ("sweep oltp_read_only --rate=-1", "--rate must be between"),
        ("sweep oltp_read_only --client-delay=0,fast", "--client-delay: 'fast' is not a duration"),
        ("sweep oltp_read_only --isolation=serial,", "--isolation takes values separated by commas"),
        ("sweep oltp_read_only --engine=native,fast", "--engine is one of auto, native, asyncio, not 'fast'"),
        ("sweep oltp_read_only --time=0", "each cell of a sweep needs a time limit"),
        ("sweep oltp_read_only --order=rnadom", "random"),
        ("sweep oltp_read_only --cleanup", "--cleanup drops only the tables that --prepare created"),
        ("sweep oltp_read_only --create-database", "--create-database is for the tables of --prepare"),
        ("sweep oltp_read_only --preset=safe", "there is no preset 'safe'"),
        ("sweep oltp_read_only --format=xml", "--format: 'xml' is unknown"),
        ("sweep oltp_read_only --table=chart", "--table: 'chart' is unknown"),
        ("sweep --threads=4", "--threads is part of a plan, but no profile is named"),
        ("sweep --resume=one --repeat=4", "--repeat is part of a plan, but no profile is named"),
        ("sweep --resume=nowhere", "there is no sweep in nowhere"),
        ("sweep --show", "no sweep is named"),
        ("sweep --show nowhere", "there is no sweep in nowhere"),
        (f"sweep oltp_read_only --repeat=999 --threads={','.join(map(str, range(1, 999)))}", "at most"),
        *(
            (f"slap --only-print {words}", told)
            for words, told in (
                ("", "the clients have no queries to run"),
                ("-a '--query=SELECT 1'", "generates what --create and --query specify"),
                ("-a --auto-generate-sql-load-type=key", "a load by key needs a key"),
                (
                    "-a --auto-generate-sql-load-type=bogus",
                    "is one of mixed, update, write, key, read",
                ),
                (
                    "-a --auto-generate-sql-guid-primary --auto-generate-sql-add-autoincrement",
                    "a table has one key",
                ),
                ("-a --number-of-queries=5 --auto-generate-sql-execute-number=5", "how many queries?"),
                ("-a --concurrency=4,x", "--concurrency takes numbers"),
                ("-a --concurrency=0", "--concurrency must be between 1 and"),
                ("-a --iterations=0", "--iterations must be between 1 and"),
                ("-a --number-int-cols=two", "--number-int-cols is a number of columns"),
                ("-a --number-int-cols=0 --number-char-cols=0", "a table needs a column"),
                ("-a --create-schema=MySQL", "'MySQL' is a system schema"),
                ("'--query=SELECT 1' --create-schema=sys", "'sys' is a system schema"),
                ("-a --format=xml", "--format: 'xml' is unknown"),
                ("'--query=SELECT 1' --delimiter=", "--delimiter is empty"),
            )
        ),
    ],
)
def test_wrong_usage_is_one_line_and_exit_code_2(tuibench: Program, line: str, words: str) -> None:
    code, out, err = tuibench(*shlex.split(line))
    assert (code, out) == (ExitCode.USAGE_ERROR, "")
    assert err.startswith("tuibench: ")
    assert words in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("command", ["run", "prepare", "cleanup"])
def test_a_server_that_is_down_is_one_line_and_exit_code_3(
    tuibench: Program, command: str, tuibench_home: Path
) -> None:
    code, out, err = tuibench(command, "oltp_read_write", *NOBODY)
    assert (code, out) == (ExitCode.SERVER_UNAVAILABLE, "")
    assert err.startswith("tuibench: cannot reach a server at 127.0.0.1:1")
    assert "is it running?" in err
    assert err.count("\n") == 1
    assert list(tuibench_home.rglob("*.json*")) == []


def test_nothing_to_restore_is_fine(tuibench: Program) -> None:
    assert tuibench("restore", "--defaults-file=/dev/null") == (ExitCode.DONE, "nothing to restore\n", "")


# Endings that are not of the user's making


def failing(error: BaseException) -> object:
    def start() -> None:
        raise error

    return start


def test_an_error_of_the_tree_ends_with_its_code(tuibench: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program, "program", failing(RunError("it broke", "mend it")))
    assert tuibench("run") == (ExitCode.RUN_FAILED, "", "tuibench: it broke (mend it)\n")


@pytest.mark.parametrize("error", [KeyboardInterrupt(), typer.Abort()])
def test_an_interruption_ends_with_130(
    tuibench: Program, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    monkeypatch.setattr(program, "program", failing(error))
    assert tuibench("run").code == ExitCode.INTERRUPTED


def test_a_mistake_of_ours_is_one_line_with_the_details_in_a_file(
    tuibench: Program, monkeypatch: pytest.MonkeyPatch, tuibench_home: Path
) -> None:
    monkeypatch.setattr(program, "program", failing(ZeroDivisionError("oh")))
    code, _, err = tuibench("run")
    assert code == ExitCode.RUN_FAILED
    assert err.count("\n") == 1
    assert "this is a bug in tuibench: ZeroDivisionError: oh" in err
    (log,) = tuibench_home.rglob("crash.log")
    assert log.stat().st_mode & 0o777 == 0o600
    assert "Traceback" in log.read_text()


def test_a_mistake_that_cannot_be_written_down_is_one_line_with_its_place(
    tuibench: Program, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("TUIBENCH_HOME", str(tmp_path / "file"))
    monkeypatch.setattr(program, "program", failing(ZeroDivisionError("oh")))
    code, _, err = tuibench("run")
    assert code == ExitCode.RUN_FAILED
    assert err.count("\n") == 1
    assert "ZeroDivisionError: oh (in start, " in err


# A fresh interpreter


def test_help_loads_no_room_and_no_heavy_library() -> None:
    code = (
        "import sys; from tuibench.cli.main import main; sys.argv = ['tuibench', '--help']\n"
        "try: main()\n"
        "except SystemExit: print(*sorted(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stderr.split())
    heavy = {
        "textual",
        "rich",
        "msgspec",
        "asyncio",
        "asyncmy",
        "psutil",
        "hdrh",
        "platformdirs",
        "cryptography",
        "tuibench.cli.completion",
    }
    assert not loaded & heavy
    features = {f"tuibench.features.{feature.name}" for feature in installed()}
    assert {name for name in loaded if name.startswith("tuibench.")} - {"tuibench._version"} == {
        *features,
        "tuibench.app",
        "tuibench.features",
        "tuibench.base",
        "tuibench.base.feature",
        "tuibench.cli",
        "tuibench.cli.help_layout",
        "tuibench.cli.kept_help",
        "tuibench.cli.main",
        "tuibench.cli.parameters",
        "tuibench.cli.output",
        "tuibench.cli.arguments",
        "tuibench.cli.sysbench_syntax",
        "tuibench.base.errors",
        "tuibench.base.files",
        "tuibench.model",
        "tuibench.model.sysbench",
        "tuibench.base.sanitize",
        "tuibench.base.units",
    }


def test_the_module_is_the_program_and_takes_a_password_off_its_command_line() -> None:
    """Its second start has no password in its arguments, and still uses it."""
    line = [sys.executable, "-m", "tuibench", "run", "oltp_read_write", "-psecret", *NOBODY]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert done.returncode == ExitCode.SERVER_UNAVAILABLE
    warning, error = done.stderr.splitlines()
    assert "visible to other users; -p asks" in warning
    assert error.startswith("tuibench: cannot reach a server")
    assert "secret" not in done.stderr


# The help of a load command imports the declared options and the model, and nothing that drives a load.


SUBJECTS = (
    "tuibench.base.config",
    "tuibench.servers",
    "tuibench.load",
    "tuibench.metrics",
    "tuibench.mysql",
    "tuibench.observe",
    "tuibench.record",
    "tuibench.report",
    "tuibench.session",
    "tuibench.tui",
    "tuibench.tuning",
    "tuibench.workload",
)
LIBRARIES = {
    "asyncio",
    "asyncmy",
    "cryptography",
    "hdrh",
    "platformdirs",
    "prometheus_client",
    "pydantic",
    "psutil",
    "rich",
    "socket",
    "textual",
    "tomllib",
    "uvloop",
}


HELPED = ("run", "live", "probe", "sweep", "tune", "crash", "prepare", "cleanup", "doctor", "attach")


def test_help_imports_the_options_only() -> None:
    """Of ten commands, one after the other in one process."""
    code = (
        "import contextlib, sys; from tuibench.cli.main import main\n"
        f"for command in {HELPED}:\n"
        "    sys.argv[1:] = [command, '--help']\n"
        "    with contextlib.suppress(SystemExit): main()\n"
        "print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.count("Usage: tuibench ") == len(HELPED)
    loaded = set(done.stdout.splitlines()[-1].split())
    assert {command_module(command).__name__ for command in HELPED} <= loaded
    assert not loaded & LIBRARIES
    assert not [name for name in loaded if name.startswith(SUBJECTS)]
