"""Files of somebody else: none runs a command, reaches a host or writes elsewhere. `strangers` makes them."""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec import NODEFAULT
from msgspec.structs import fields, replace

from tests.examples import PLAN, SERVER
from tests.paths import ROOT
from tests.tables import for_each
from tests.unit.hostile import strangers
from tests.unit.record.steady import steady
from tuibench.base import installation
from tuibench.base.errors import ExitCode, UsageError
from tuibench.base.own_process import own_command
from tuibench.cli.server_options import ServerOptions
from tuibench.features.sweep import foreign, reproduction
from tuibench.model.cluster import ClusterPlan
from tuibench.model.option import At
from tuibench.model.plan import PLAN_COMMANDS, RunPlan
from tuibench.model.sweep import ServerBuild, SweepCase, SweepPlan, SweepVariant
from tuibench.record.bundle import Manifest, Redaction, pack
from tuibench.record.reader import load_run
from tuibench.report.reproduce import reproduction_commands
from tuibench.report.run_report import run_markdown
from tuibench.session.interventions import Interventions
from tuibench.workload import script
from tuibench.workload.library import available_profiles, load_program
from tuibench.workload.program import flat_statements
from tuibench.workload.sql import only_acts_on_tables, only_reads_and_writes

BUILD = ServerBuild(name="a", path="/x", flavour=SERVER.flavour, version="10.11.19")
CASE = SweepCase(name="c", profile="oltp_point_select")
SWEEP = SweepPlan(cases=(CASE,), variants=(SweepVariant(name="a"),), threads=(2,), base=RunPlan(profile="p"))
FORGED = 'name = "p"\nsummary = "s"\ndata_set = "sbtest"\n[[transactions]]\nname = "t"\nsteps = [' + (
    "{ statements = [{ name = 's', sql = \"%s\" }] }]"
)


def tried(count: int, memory_mib: int) -> None:
    """In a process of its own: it watches itself for good, and its memory is its own."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.unit.hostile.strangers", str(count)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert int(done.stdout.split()[-2]) < memory_mib, done.stdout


def test_a_command_in_every_field_is_not_run() -> None:
    tried(63, 200)


@pytest.mark.whole
@pytest.mark.timeout(900)
def test_a_command_in_every_field_is_not_run_in_thousands() -> None:
    tried(4_000, 200)


def test_the_plan_that_strangers_write_into_has_every_field() -> None:
    """A field that is new is tried as soon as it exists."""
    for each in fields(RunPlan):
        default = each.default if each.default_factory is NODEFAULT else each.default_factory()
        assert getattr(strangers.FULL, each.name) != default, each.name


def asks(plan: SweepPlan = SWEEP, build: ServerBuild = BUILD, **base: Any) -> tuple[str, ...]:
    changed = replace(plan, base=replace(plan.base, **base))
    return foreign.checked(changed, [build], 100).asks


def test_what_is_run_of_a_plan_is_a_list() -> None:
    """An option that is new is on one of the two lists."""
    assert not foreign.MEASURED & foreign.LEFT_OUT
    parts = {key for key, (part, _) in PLAN_COMMANDS["run"].options.items() if not part}
    assert foreign.MEASURED | foreign.LEFT_OUT | {"at"} == parts


def test_values_are_read_as_if_they_had_been_typed() -> None:
    base = RunPlan(profile="p", rate=250.0, seed=7, isolation="read-committed", prepared=False, seconds=None)
    found = foreign.checked(replace(SWEEP, base=base), [BUILD], 100)
    assert found.plan.base == base
    with pytest.raises(UsageError, match="--idle-connections must be between"):
        asks(idle_connections=-1)
    with pytest.raises(UsageError, match="--isolation is one of"):
        asks(isolation="serializable; DROP DATABASE mysql")


def test_what_acts_needs_consent_and_what_is_there_is_left_out() -> None:
    build = replace(BUILD, options=("--sync-binlog=0", "--general-log-file=/f", "--innodb-data-home-dir=.."))
    deeds = (At(0.2, "exec:id > F"), At(1.0, "DROP TABLE t"))
    assert asks(build=build, interventions=deeds) == (
        "--at 0.2s exec:id > F",
        "--at 1s DROP TABLE t",
        "server option --general-log-file=/f",
        "server option --innodb-data-home-dir=..",
    )
    base = replace(
        SWEEP.base,
        cluster=ClusterPlan(places=("exec:sh -c id",)),
        host_metrics="ssh:x",
        replicas=("db2",),
        guard=("tps>1",),
    )
    found = foreign.checked(replace(SWEEP, base=base), [BUILD], 100)
    assert (found.plan.base, found.asks) == (SWEEP.base, ())
    assert found.left_out == ("--cluster=exec:sh -c id", "--host-metrics=ssh:x", "--replica=db2")
    assert found.builds[0].path == ""


@for_each(
    ("option", "is_setting"),
    [
        ("--innodb-flush-method=O_DIRECT", True),
        ("--innodb_buffer_pool_size=64M", True),
        ("--loose-innodb-numa-interleave", True),
        ("--skip-name-resolve", True),
        ("--skip-log-bin", True),
        ("--log-bin=/home/me/.bashrc", False),
        ("--log-bin=../../x", False),
        ("--general-log-file=F", False),
        ("--log-error=F", False),
        ("--general-log-f=F", False),
        ("--plugin-load-add=evil.so", False),
        ("--init-file=F", False),
        ("--innodb-data-home-dir=x", False),
        ("sync-binlog=0", False),
        ("--sync-binlog=0 --log-error=F", False),
    ],
)
def test_server_options(option: str, is_setting: bool) -> None:
    assert foreign.is_setting(option) is is_setting


@for_each(
    ("changes", "message"),
    [
        ({"cases": ()}, "no case"),
        ({"variants": ()}, "no case"),
        ({"threads": ()}, "no case"),
        ({"threads": (0,)}, "--threads must be between"),
        ({"repeats": 10**6}, "--starts must be between"),
        ({"variants": (SweepVariant(name="other"),)}, "not those of its plan"),
        ({"variants": (SweepVariant(name="a", load={"host_metrics": "ssh:x"}),)}, "sets host_metrics"),
        ({"variants": (SweepVariant(name="a", settings={"general_log_file": "f"}),)}, "not a setting"),
        ({"variants": (SweepVariant(name="a", settings={"sync_binlog": "/f"}),)}, "no value of a setting"),
        ({"cases": (replace(CASE, profile="/tmp/evil.lua"),)}, "is not in the bundle"),
        ({"cases": (replace(CASE, profile="~/x.toml"),)}, "is not in the bundle"),
        ({"cases": (replace(CASE, options={"allow_script_io": True}),)}, "unknown option|no option"),
    ],
)
def test_a_plan_that_no_command_line_makes(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        asks(replace(SWEEP, **changes))


def test_sql_of_a_profile_that_is_more_than_a_load() -> None:
    for sql in ("SET GLOBAL general_log_file = '/f'", "SELECT c INTO OUTFILE '/f' FROM sbtest1"):
        assert asks(profile_text=FORGED % sql) == (f"statement {sql}",)


@for_each(
    ("sql", "is_load"),
    [
        ("SELECT c FROM sbtest1 WHERE id = ?", True),
        ("WITH a AS (SELECT 1) SELECT * FROM a FOR UPDATE", True),
        ("START TRANSACTION", True),
        ("CALL p()", False),
        ("SET STATEMENT max_statement_time = 1 FOR SELECT 1", False),
        ("SELECT 1; SET GLOBAL x = 1", False),
        ("SELECT '\\'' # '; SET GLOBAL x = 1", False),
        ("/*! SET GLOBAL general_log_file = '/f' -- */ SELECT 1", False),
        ("/*M!100000 INSTALL SONAME 'x' */", False),
        ("INSERT INTO `mysql` . func VALUES ('f', 0, 'x.so', 'function')", False),
        ("LOAD DATA INFILE '/etc/passwd' INTO TABLE t", False),
        ("SELECT LOAD_FILE('/etc/passwd')", False),
        ("ALTER TABLE t FORCE", False),
    ],
)
def test_statements_of_a_load(sql: str, is_load: bool) -> None:
    assert only_reads_and_writes(sql) is is_load


def test_all_built_in_profiles_are_loads() -> None:
    for name in available_profiles():
        program = load_program(name, {"threads": 2})
        assert all(only_reads_and_writes(each.sql) for each in flat_statements(program)), name


@for_each(
    ("sql", "is_of_tables"),
    [
        ("ALTER TABLE sbtest1 ADD INDEX a (pad), ALGORITHM=COPY", True),
        ("create unique index a on t (b)", True),
        ("CREATE TABLE t (a INT) DATA DIRECTORY = '/home/me'", False),
        ("CREATE FUNCTION f RETURNS STRING SONAME 'x.so'", False),
        ("SET GLOBAL general_log = 1", False),
        ("exec:id", False),
    ],
)
def test_statements_of_a_scene(sql: str, is_of_tables: bool) -> None:
    assert only_acts_on_tables(sql) is is_of_tables


def test_a_statement_of_a_viewer_is_no_command() -> None:
    session = SimpleNamespace(_guard=SimpleNamespace(require_confirmation=lambda: None))
    for text in ("exec:id > F", "  exec:id"):
        with pytest.raises(UsageError, match="only --at executes commands"):
            Interventions.run_sql(session, text)  # type: ignore[arg-type]


@pytest.mark.skipif(not installation.runs_scripts(), reason="needs the native engine with Lua")
@pytest.mark.parametrize(("value", "allows"), [(False, False), ("off", False), (True, True), ("", True)])
def test_a_value_of_a_plan_decides_about_a_script(value: object, allows: bool, tmp_path: Path) -> None:
    """A record has options as they were resolved."""
    place = tmp_path / "s.lua"
    place.write_text("function event() end")
    made = script.program(script.load(place), {script.ALLOW_IO: value}).script
    assert made is not None
    assert made.allows_io is allows


COMMAND = '"$MYSQL_PWD"; id > F #'


def test_the_lines_of_a_foreign_record_are_quoted_and_say_what_they_run(tmp_path: Path) -> None:
    run = load_run(steady(tmp_path, "run-1"))
    plan = replace(
        PLAN,
        profile=COMMAND,
        options={"password-command": COMMAND},
        interventions=(At(0.2, f"exec:{COMMAND}"),),
        cluster=ClusterPlan(places=(f"exec:{COMMAND}",)),
        replicas=("root@evil:3306",),
    )
    target = replace(
        run.plan.target, host=COMMAND, login=("-p", "--at", "0s", "exec:id", "--defaults-file=/f")
    )
    run = replace(run, plan=replace(run.plan, plan=plan, target=target))
    told = reproduction_commands(run)
    assert shlex.join(shlex.split(told.tuibench)) == told.tuibench
    assert set(told.acting) == {
        f"--at 0.2s exec:{COMMAND}",
        f"--cluster=exec:{COMMAND}",
        "--replica=root@evil:3306",
        f"--password-command={COMMAND}",
        "--defaults-file=/f",
    }
    assert "Beside the load" in run_markdown(run)


def test_a_named_option_file_runs_no_command(tmp_path: Path) -> None:
    file = tmp_path / "my.cnf"
    file.write_text("[client]\nuser = u\n[tuibench]\npassword-command = touch F\n")
    with pytest.raises(UsageError, match="line 4: password-command would run a command: touch F") as refused:
        ServerOptions(defaults_file=str(file)).target()
    assert "--password-command='touch F'" in refused.value.hint


def test_reproduce_names_what_it_does_not_run(tmp_path: Path) -> None:
    """As a program, with one message."""
    place = steady(tmp_path, "run-1")
    text = json.loads((place / "plan.json").read_bytes())
    text["plan"]["interventions"] = [[0.2, "exec:touch ran"]]
    (place / "plan.json").write_text(json.dumps(text))
    manifest = Manifest(tuibench="1.0", kind="runs", records=("run-1",))
    commands = reproduction._pages(tmp_path, manifest)["commands.txt"].splitlines()
    assert "# beside the load: --at 0.2s exec:touch ran" in commands
    assert [line for line in commands if not line.startswith(("# ", "tuibench "))] == []
    bundle = tmp_path / "b.tar.gz"
    pack(bundle, {"run-1": place}, Redaction(), manifest, lambda _: {}, tmp_path / "scratch")
    done = subprocess.run(
        [*own_command("tuibench"), "reproduce", str(bundle)],
        env={**os.environ, "TUIBENCH_HOME": str(tmp_path / "home")},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (ExitCode.USAGE_ERROR, "")
    assert "\n  --at 0.2s exec:touch ran (nothing was run; --allow-commands" in done.stderr
    assert not (tmp_path / "ran").exists()
