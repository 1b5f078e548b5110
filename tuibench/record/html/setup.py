"""HTML section of the environment, the plan and the commands that repeat a run."""

from collections.abc import Iterator, Mapping

from tuibench.model.plan import OptionValue, RunPlan
from tuibench.model.plan_options import setup_rows
from tuibench.model.results.summary import engine_text
from tuibench.record.files.run import Run
from tuibench.record.html.markup import Markup, code_block, join_markup, property_table, tag
from tuibench.record.report.reproduce import reproduction_commands
from tuibench.record.report.variables import important_variables
from tuibench.units import binary_size, count


def environment_section(run: Run) -> Markup:
    """Server, host, network, and the most important variables; the others are folded."""
    seen, server = run.environment, run.plan.server
    rows = [
        ("server", f"{server.flavour} {server.version_text}"),
        ("address", f"{server.where}, database {run.plan.target.database}"),
    ]
    if seen is None:
        return property_table(rows)
    variables = seen.variables
    return join_markup(
        property_table([*rows, *_host(run), *important_variables(run)]),
        [tag("p", f"Unknown: {gap}", class_="note") for gap in seen.gaps],
        tag(
            "details",
            tag("summary", f"All {len(variables)} server variables that were recorded"),
            property_table(sorted(variables.items())),
        )
        if variables
        else None,
    )


def _host(run: Run) -> Iterator[tuple[str, str]]:
    seen = run.environment
    if seen is None:
        return
    host, disk, trip = seen.host, seen.disk, seen.round_trip
    limit = f", limited to {host.cpu_limit:g}" if host.cpu_limit else ""
    place = "on the server's host" if seen.location == "local" else "on another host than the server"
    yield "client", f"{host.name}, {place}; tuibench {seen.tuibench}, Python {seen.python}"
    yield "system", ", ".join(filter(None, (host.os, host.kernel, host.architecture)))
    yield "processor", f"{host.cpu_model or 'unknown'}, {host.cores} cores{limit}"
    yield "memory", binary_size(host.memory_bytes) if host.memory_bytes else ""
    yield (
        "virtual",
        ", ".join(part for part in (host.virtualisation, host.container) if part and part != "none"),
    )
    if disk is not None:
        sizes = (
            f"{binary_size(disk.free_bytes)} of {binary_size(disk.total_bytes)} free"
            if disk.total_bytes
            else ""
        )
        yield "disk", ", ".join(filter(None, (disk.kind, disk.device, disk.file_system, sizes)))
    if trip is not None:
        yield (
            "round trip",
            f"{trip.median_ms:.3f} ms median of {trip.tries} tries "
            f"({trip.min_ms:.3f} to {trip.max_ms:.3f} ms)",
        )


WATCH_METHOD = (
    "The session had no load: it watched the server's own traffic. Queries, reads, writes and commits are "
    "increases of the server's counters, without the session's own statements; an autocommitted statement "
    "is not a commit. Latencies are statement times measured by the server, if it provides them."
)


def method_section(run: Run) -> Markup:
    """The plan, the load and the method of measuring."""
    plan = run.plan.plan
    if plan.is_watch:
        return tag("p", WATCH_METHOD, class_="note")
    return join_markup(
        property_table(
            [
                ("load", f"{plan.profile} on {run.plan.data_set}" if run.plan.data_set else plan.profile),
                ("pace", _pace(plan)),
                *setup_rows(plan),
                ("engine", engine_text(run.summary.client)),
                ("options", _options(run.plan.options or plan.options)),
            ]
        ),
        tag(
            "p",
            "A transaction counts if its COMMIT, or its only statement, succeeded. Latencies are recorded "
            "in HDR histograms with three significant digits; percentiles of the run are computed from all "
            "transactions, not as means of percentiles.",
            class_="note",
        ),
    )


def _pace(plan: RunPlan) -> str:
    if plan.users:
        return f"{count(plan.users)} users share the connections; latency is measured from a user's request"
    if not plan.rate:
        return "closed loop: each connection starts its next transaction when the last one has ended"
    return (
        f"open loop: {plan.rate:g} transactions per second, {plan.arrival} arrivals; latency is measured "
        "from the scheduled start"
    )


def _options(given: Mapping[str, OptionValue]) -> str:
    present = ((name, value) for name, value in sorted(given.items()) if value not in ("", None))
    return ", ".join(f"{name} {_value_text(value)}" for name, value in present)


def _value_text(value: object) -> str:
    return ("on" if value else "off") if isinstance(value, bool) else str(value)


def commands_section(run: Run) -> Markup:
    """The commands that repeat the run."""
    commands = reproduction_commands(run)
    parts = [line for line in (commands.prepare, commands.tuibench) if line]
    by_hand = [tag("li", text) for text in commands.by_hand]
    return join_markup(
        code_block(parts),
        join_markup(tag("p", "The same load with sysbench:"), code_block([commands.sysbench]))
        if commands.sysbench
        else None,
        join_markup(tag("p", "Changed during the run:"), tag("ul", by_hand)) if by_hand else None,
        tag(
            "p",
            "The password comes from an option file or MYSQL_PWD; it is not recorded.",
            class_="note",
        ),
    )
