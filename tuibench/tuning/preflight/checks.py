"""Table of all checks in display order, and those that warn before a run.

Whether a server looks like production, so that a change of its settings needs a confirmation.
"""

from collections.abc import Callable
from typing import NamedTuple

from tuibench.model.measurements.finding import Finding, Severity
from tuibench.tuning.preflight import host_checks, limit_checks, server_checks
from tuibench.tuning.preflight.facts import Facts, ServerFacts
from tuibench.units import pluralize


class Check(NamedTuple):
    """A function from facts to a finding.

    `run_checks_before_run`: its warnings are shown before every run, too.
    """

    run: Callable[[Facts], Finding]
    before_run: bool = False


CHECKS = (
    Check(server_checks.check_server),
    Check(server_checks.check_data_set, before_run=True),
    Check(server_checks.check_load_privileges, before_run=True),
    Check(server_checks.check_setting_privileges),
    Check(server_checks.check_process_privilege),
    Check(limit_checks.check_connections, before_run=True),
    Check(limit_checks.check_prepared_statements, before_run=True),
    Check(limit_checks.check_open_tables, before_run=True),
    Check(limit_checks.check_open_files, before_run=True),
    Check(limit_checks.check_idle_connections, before_run=True),
    Check(server_checks.check_read_only, before_run=True),
    Check(server_checks.check_replicas, before_run=True),
    Check(server_checks.check_clients, before_run=True),
    Check(server_checks.check_slow_log, before_run=True),
    Check(server_checks.check_general_log, before_run=True),
    Check(server_checks.check_performance_schema),
    Check(server_checks.check_binary_log),
    Check(host_checks.check_disk, before_run=True),
    Check(host_checks.check_files, before_run=True),
    Check(host_checks.check_clock_offset),
    Check(host_checks.check_clocksource),
    Check(host_checks.check_timers),
    Check(host_checks.check_busy),
    Check(host_checks.check_swap),
    Check(host_checks.check_governor),
)

REPORTED_SEVERITIES = (Severity.WARNING, Severity.STOP)


def run_all_checks(facts: Facts) -> tuple[Finding, ...]:
    """Every finding."""
    return tuple(check.run(facts) for check in CHECKS)


def run_checks_before_run(facts: Facts) -> tuple[Finding, ...]:
    """The results that are shown before a run."""
    found = (check.run(facts) for check in CHECKS if check.before_run)
    return tuple(finding for finding in found if finding.severity in REPORTED_SEVERITIES)


def production_signs(server: ServerFacts, stems: tuple[str, ...]) -> tuple[str, ...]:
    """Each sign in a few words; none for a server that is idle, or has other loads only.

    `stems` are the beginnings of the names of a load's own tables.
    """
    found = []
    if server.replicas:
        found.append(f"{pluralize(server.replicas, 'replica')} attached")
    loads = [c for c in server.clients or () if c.benchmarks(server.database, stems)]
    if others := [client for client in server.busy if client not in loads]:
        users = ", ".join(dict.fromkeys(client.user for client in others))
        found.append(f"{pluralize(len(others), 'active connection')} of other users ({users})")
    if server.written and not loads:
        found.append(f"other clients changed data {server.written:,} times in {server.watched_seconds:.1f} s")
    return tuple(found)
