"""--replica, --max-lag and --host-metrics."""

import pytest

from tests.unit.cli.plans import planned
from tuibench.cli.options.run_options import check_lag_objectives
from tuibench.cli.options.session_options import replica_choice
from tuibench.cli.runner.new_session import new_session_spec
from tuibench.errors import UsageError
from tuibench.model.notation import parse_max_lag
from tuibench.model.target import Target

TARGET = Target(user="ann", password="secret", socket="/run/one.sock")


def test_replicas_have_the_servers_login() -> None:
    choice = replica_choice(["db2", "bob@[::1]:3307", "/run/two.sock", "auto"], TARGET)
    assert [(each.user, each.where) for each in choice.targets] == [
        ("ann", "db2:3306"),
        ("bob", "::1:3307"),
        ("ann", "socket /run/two.sock"),
    ]
    assert {each.password for each in choice.targets} == {"secret"}
    assert choice.find
    assert not replica_choice([], TARGET).is_wanted


@pytest.mark.parametrize("text", ["", "db2:port", "db2:99999", "ann:secret@db2", "a b"])
def test_an_address_that_is_none(text: str) -> None:
    with pytest.raises(UsageError, match="--replica"):
        replica_choice([text], TARGET)


def test_max_lag() -> None:
    assert (parse_max_lag("5s"), parse_max_lag(" 2.5 "), parse_max_lag("")) == (5.0, 2.5, 0.0)
    for text in ("0", "-1", "5m", "soon"):
        with pytest.raises(UsageError, match="--max-lag"):
            parse_max_lag(text)


def test_a_limit_and_an_objective_need_replicas(tuibench_home: object) -> None:
    with pytest.raises(UsageError, match="requires --replica"):
        planned("--max-lag=5s")
    with pytest.raises(UsageError, match="requires --replica"):
        check_lag_objectives(planned(), ["tps>5", " Lag<5s"])
    plan = planned("--replica=db2", "--max-lag=5s", "--host-metrics=ssh:db1")
    check_lag_objectives(plan, ["lag<5s"])
    assert (plan.max_lag_seconds, plan.host_metrics, plan.replicas) == (5.0, "ssh:db1", ("db2",))
    assert len(new_session_spec(plan, TARGET).replicas.targets) == 1


def test_a_sweep_reads_the_host_of_its_server() -> None:
    assert planned("--host-metrics=ssh:db1", command="sweep").host_metrics == "ssh:db1"
    with pytest.raises(UsageError):
        planned("--host-metrics=carrier pigeon", command="sweep")


def test_watch_has_no_load_to_hold_back() -> None:
    with pytest.raises(UsageError, match="watch has none"):
        planned("--replica=db2", "--max-lag=5s", command="watch")
