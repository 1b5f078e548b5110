"""The statement by which the server ends what runs for longer than the deadline."""

import pytest

from tuibench.base.errors import UsageError
from tuibench.model.callers import CallerPolicy, OnDeadline, check_policy, time_limit_statements
from tuibench.model.plan import changed_policy


def test_one_statement_says_it_to_both_servers() -> None:
    policy = CallerPolicy(deadline_ms=1234.5, on_deadline=OnDeadline.KILL)
    assert time_limit_statements(policy) == (
        "SET SESSION /*M!100101 max_statement_time=1.234 */ /*!50708 max_execution_time=1234 */",
    )
    shortest = CallerPolicy(deadline_ms=0.2, on_deadline=OnDeadline.KILL)
    (text,) = time_limit_statements(shortest)
    assert "max_statement_time=0.001 " in text
    assert "max_execution_time=1 " in text, "0 would be no limit"


def test_without_a_limit_a_connection_has_the_servers_own_again() -> None:
    policy = CallerPolicy(deadline_ms=200)
    assert time_limit_statements(policy) == ()
    (text,) = time_limit_statements(policy, was_limited=True)
    assert text.count("=DEFAULT") == 2


def test_killing_needs_a_deadline() -> None:
    with pytest.raises(UsageError, match="--on-deadline=kill needs a deadline"):
        check_policy(CallerPolicy(on_deadline=OnDeadline.KILL))
    policy = changed_policy(CallerPolicy(deadline_ms=200), "on-deadline", "kill")
    assert policy.on_deadline is OnDeadline.KILL
