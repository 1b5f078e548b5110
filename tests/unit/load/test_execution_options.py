"""What a plan's words mean to a worker."""

import pytest

from tuibench.load.messages import execution_options
from tuibench.model.plan import Backlog, OnError, RunPlan
from tuibench.model.sql_errors import IGNORED_ERRORS


def test_the_plan_says_which_errors_are_tried_again() -> None:
    rules = execution_options(RunPlan(profile="p"))
    assert all(rules.ignores(code) for code in IGNORED_ERRORS)
    assert not rules.ignores(1062)


@pytest.mark.parametrize(("ignored", "deadlock"), [((), False), (None, True), ((1213,), True)])
def test_none_of_the_errors_or_all_of_them(ignored: tuple[int, ...] | None, deadlock: bool) -> None:
    assert execution_options(RunPlan(profile="p", ignored_errors=ignored)).ignores(1213) is deadlock


@pytest.mark.parametrize(
    ("isolation", "sql"),
    [
        ("", ()),
        ("read-committed", ("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",)),
        ("serializable", ("SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE",)),
    ],
)
def test_an_isolation_level_is_set_at_login(isolation: str, sql: tuple[str, ...]) -> None:
    assert execution_options(RunPlan(profile="p", isolation=isolation)).session_sql == sql


def test_the_rest_is_passed_on() -> None:
    plan = RunPlan(
        profile="p", max_retries=7, on_error=OnError.CONTINUE, backlog=Backlog.DROP, prepared=False
    )
    rules = execution_options(plan)
    assert (rules.max_retries, rules.on_error) == (7, OnError.CONTINUE)
    assert (rules.backlog, rules.prepared) == (Backlog.DROP, False)
