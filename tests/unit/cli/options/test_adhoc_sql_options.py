"""`--sql` on the command line: what becomes a plan, and what is refused."""

from pathlib import Path

import pytest

from tests.unit.cli.program import Program
from tuibench.cli.commands.sweep.options import SweepOptions
from tuibench.cli.options.adhoc_sql_options import AdhocSqlOptions
from tuibench.cli.parsing.click_command import parse_plan_words
from tuibench.errors import ExitCode, UsageError
from tuibench.model.plan import RunPlan
from tuibench.session.sweep.matrix import all_cells, cell_plan
from tuibench.workload import library

SWEEP, _ = parse_plan_words("sweep", [])
PLAN = RunPlan(profile="anything", options={"rand_type": "zipfian"})


def test_without_sql_the_plan_stays_as_it_is() -> None:
    assert AdhocSqlOptions().apply_to(PLAN) is PLAN
    assert AdhocSqlOptions().profile_and_options("oltp_read_only", ["--tables=2"]) == (
        "oltp_read_only",
        {"tables": "2"},
    )


def test_the_plan_holds_the_profile_so_that_a_record_of_it_can_be_repeated() -> None:
    adhoc = AdhocSqlOptions(sql=["SELECT :id", "DO 1"], sql_param=["id=1..9"], sql_weights="3/1")
    plan = adhoc.apply_to(PLAN)
    assert plan.profile == "sql"
    made = library.load_program(plan.profile, plan.profile_options, plan.profile_text)
    assert {each.name: each.weight for each in made.transactions} == {"sql_1": 3.0, "sql_2": 1.0}
    assert plan.sql_words == ("--sql=SELECT :id", "--sql=DO 1", "--sql-param=id=1..9", "--sql-weights=3/1")


def test_files_are_transactions_of_their_name(tmp_path: Path) -> None:
    for name in ("First one.sql", "second.sql"):
        (tmp_path / name).write_text("SELECT 1;\nSELECT 2;\n")
    adhoc = AdhocSqlOptions(sql_file=[str(tmp_path / "First one.sql"), str(tmp_path / "second.sql")])
    plan = adhoc.apply_to(PLAN)
    made = library.load_program(plan.profile, {}, plan.profile_text)
    assert [each.name for each in made.transactions] == ["first_one", "second"]


def test_options_of_every_profile_are_taken_beside_sql() -> None:
    assert AdhocSqlOptions(sql=["DO 1"]).profile_and_options("--rand-type", ["zipfian"]) == (
        "sql",
        {"rand_type": "zipfian"},
    )
    assert AdhocSqlOptions(sql=["DO 1"]).profile_and_options("", []) == ("sql", {})


@pytest.mark.parametrize(
    ("adhoc", "told"),
    [
        (AdhocSqlOptions(sql_param=["id=1..2"]), "there is no SQL to go with it"),
        (AdhocSqlOptions(sql_file=["/nowhere/x.sql"]), "--sql-file: cannot read /nowhere/x.sql"),
        (AdhocSqlOptions(sql=["DO 1"], sql_weights="1/2"), "1 weights are required"),
        (AdhocSqlOptions(sql=["DO :x"], sql_param=["x={ make = 'nosuch' }"]), "nosuch"),
    ],
)
def test_what_is_no_load(adhoc: AdhocSqlOptions, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        adhoc.apply_to(PLAN)


def test_there_is_one_load() -> None:
    with pytest.raises(UsageError, match="give one of them"):
        AdhocSqlOptions(sql=["DO 1"]).profile_and_options("oltp_read_only", [])
    with pytest.raises(UsageError, match="missing argument"):
        AdhocSqlOptions().profile_and_options("", [])


def test_every_cell_of_a_sweep_runs_the_sql() -> None:
    adhoc = AdhocSqlOptions(sql=["SELECT :id", "DO 1"], sql_param=["id=1..9"])
    plan = SweepOptions(threads="1,4").plan(
        *adhoc.profile_and_options("", ["--rand-type=zipfian"]), SWEEP, adhoc
    )
    cells = all_cells(plan)
    assert [(cell.case.name, cell.threads) for cell in cells] == [("sql", 1), ("sql", 4)]
    run = cell_plan(plan, cells[1])
    made = library.load_program(run.profile, run.profile_options, run.profile_text)
    assert [each.name for each in made.transactions] == ["sql_1", "sql_2"]
    assert (run.options, run.sql_words) == ({"rand_type": "zipfian"}, plan.base.sql_words)


def test_adhoc_sql_takes_no_profile_options_and_has_no_tables_to_create() -> None:
    adhoc = AdhocSqlOptions(sql=["DO 1"])
    with pytest.raises(UsageError, match="unknown option --tables"):
        SweepOptions().plan(*adhoc.profile_and_options("", ["--tables=4"]), SWEEP, adhoc)
    with pytest.raises(UsageError, match="has no tables to create"):
        SweepOptions(prepare=True).plan(*adhoc.profile_and_options("", []), SWEEP, adhoc)


@pytest.mark.parametrize("command", ["run", "probe", "sweep"])
def test_a_mistake_costs_no_server(tuibench: Program, command: str) -> None:
    ended = tuibench(command, "--sql=SELECT :id")
    assert (ended.code, ended.out) == (ExitCode.USAGE_ERROR, "")
    assert "no value for :id" in ended.err
