"""All checks, in the order they are shown, and which of them speak up before a run."""

from collections.abc import Callable
from typing import NamedTuple

from tuibench.model.finding import Finding, Severity
from tuibench.tuning.preflight import host, limits, login, server_state
from tuibench.tuning.preflight.facts import Facts


class Check(NamedTuple):
    """A function from facts to a finding. `before_run`: its warnings are told before every run, too."""

    look: Callable[[Facts], Finding]
    before_run: bool = False


CHECKS = (
    Check(server_state.server),
    Check(server_state.data_set, before_run=True),
    Check(login.load_privileges, before_run=True),
    Check(login.setting_privileges),
    Check(login.process_privilege),
    Check(limits.connections, before_run=True),
    Check(limits.prepared_statements, before_run=True),
    Check(limits.open_tables, before_run=True),
    Check(limits.open_files, before_run=True),
    Check(limits.idle_connections, before_run=True),
    Check(server_state.read_only, before_run=True),
    Check(server_state.replicas, before_run=True),
    Check(server_state.clients, before_run=True),
    Check(server_state.slow_log, before_run=True),
    Check(server_state.general_log, before_run=True),
    Check(server_state.performance_schema),
    Check(server_state.binary_log),
    Check(host.disk, before_run=True),
    Check(host.files, before_run=True),
    Check(host.clock_offset),
    Check(host.clocksource),
    Check(host.timers),
    Check(host.swap),
    Check(host.governor),
)

LOUD = (Severity.WARNING, Severity.STOP)


def examine(facts: Facts) -> tuple[Finding, ...]:
    """Every finding."""
    return tuple(check.look(facts) for check in CHECKS)


def before_run(facts: Facts) -> tuple[Finding, ...]:
    """What a run must be told of."""
    found = (check.look(facts) for check in CHECKS if check.before_run)
    return tuple(finding for finding in found if finding.severity in LOUD)
