"""`--sql` on the command line: what becomes a plan, and what is refused."""

from pathlib import Path

import pytest

from tuibench.cli.own_sql import OwnSql
from tuibench.errors import UsageError
from tuibench.model.plan import Plan
from tuibench.workload import library

PLAN = Plan(profile="anything", options={"rand_type": "zipfian"})


def test_without_sql_the_plan_stays_as_it_is() -> None:
    assert OwnSql().into(PLAN) is PLAN
    assert OwnSql().named("oltp_read_only", ["--tables=2"]) == ("oltp_read_only", {"tables": "2"})


def test_the_plan_holds_the_profile_so_that_a_record_of_it_can_be_repeated() -> None:
    own = OwnSql(sql=["SELECT :id", "DO 1"], sql_param=["id=1..9"], sql_weights="3/1")
    plan = own.into(PLAN)
    assert plan.profile == "sql"
    made = library.program(plan.profile, plan.profile_options, plan.profile_text)
    assert {each.name: each.weight for each in made.transactions} == {"sql_1": 3.0, "sql_2": 1.0}


def test_files_are_transactions_of_their_name(tmp_path: Path) -> None:
    for name in ("First one.sql", "second.sql"):
        (tmp_path / name).write_text("SELECT 1;\nSELECT 2;\n")
    own = OwnSql(sql_file=[str(tmp_path / "First one.sql"), str(tmp_path / "second.sql")])
    plan = own.into(PLAN)
    made = library.program(plan.profile, {}, plan.profile_text)
    assert [each.name for each in made.transactions] == ["first_one", "second"]


def test_options_of_every_profile_are_taken_beside_sql() -> None:
    assert OwnSql(sql=["DO 1"]).named("--rand-type", ["zipfian"]) == ("sql", {"rand_type": "zipfian"})
    assert OwnSql(sql=["DO 1"]).named("", []) == ("sql", {})


@pytest.mark.parametrize(
    ("own", "told"),
    [
        (OwnSql(sql_param=["id=1..2"]), "there is no SQL to go with it"),
        (OwnSql(sql_file=["/nowhere/x.sql"]), "--sql-file: cannot read /nowhere/x.sql"),
        (OwnSql(sql=["DO 1"], sql_weights="1/2"), "1 weights are wanted"),
        (OwnSql(sql=["DO :x"], sql_param=["x={ make = 'nosuch' }"]), "nosuch"),
    ],
)
def test_what_is_no_load(own: OwnSql, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        own.into(PLAN)


def test_there_is_one_load() -> None:
    with pytest.raises(UsageError, match="give one of them"):
        OwnSql(sql=["DO 1"]).named("oltp_read_only", [])
    with pytest.raises(UsageError, match="missing argument"):
        OwnSql().named("", [])
