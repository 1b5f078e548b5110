"""--replica, --max-lag and --host-metrics."""

import pytest

from tuibench.cli.options.session_options import (
    HostMetricsOptions,
    SightOptions,
    parse_max_lag,
    replica_choice,
)
from tuibench.errors import UsageError
from tuibench.model.plan import RunPlan
from tuibench.model.target import Target
from tuibench.session.spec import SessionSpec

TARGET = Target(user="ann", password="secret", socket="/run/one.sock")
SPEC = SessionSpec(session="s", plan=RunPlan(profile="p"), target=TARGET, run_directory="/tmp/none")


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


def test_a_limit_and_an_objective_need_replicas() -> None:
    with pytest.raises(UsageError, match="requires --replica"):
        SightOptions(max_lag="5s").spec(SPEC)
    with pytest.raises(UsageError, match="requires --replica"):
        SightOptions().check_thresholds(["tps>5", " Lag<5s"])
    SightOptions(replica=["auto"]).check_thresholds(["lag<5s"])
    spec = SightOptions(replica=["db2"], max_lag="5s", host_metrics="ssh:db1").spec(SPEC)
    plan = spec.plan
    assert (plan.max_lag_seconds, plan.host_metrics, plan.replicas) == (5.0, "ssh:db1", ("db2",))
    assert len(spec.replicas.targets) == 1


def test_a_sweep_reads_the_host_of_its_server() -> None:
    assert HostMetricsOptions(host_metrics="ssh:db1").apply_to(SPEC.plan).host_metrics == "ssh:db1"
    with pytest.raises(UsageError):
        HostMetricsOptions(host_metrics="carrier pigeon").apply_to(SPEC.plan)


def test_watch_has_no_load_to_hold_back() -> None:
    watching = SessionSpec(
        session="s", plan=RunPlan(profile="watch", is_watch=True), target=TARGET, run_directory="/tmp/none"
    )
    with pytest.raises(UsageError, match="watch has none"):
        SightOptions(replica=["db2"], max_lag="5s").spec(watching)
