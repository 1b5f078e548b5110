"""Additions below sysbench's summary: the profile's headline and transactions, the result of a trial or a
probe.
"""

from collections.abc import Iterator, Mapping

from tuibench.document import Block, Section, write_text
from tuibench.model.histogram import Latency
from tuibench.model.measurements.headline import HeadlineTotals
from tuibench.model.results.summary import ConnectionTotals, KindTotals, Summary
from tuibench.record.report.effect_text import trial_section
from tuibench.record.report.probe_text import probe_blocks
from tuibench.record.report.tune_text import tune_blocks

TITLE = "Transactions (ms):"
COLUMNS = ("completed", "rollbacks", "retries", "p50", "p90", "p95", "p99", "max")


def headline_text(summary: Summary) -> str:
    """The headline figure, its share of the ideal, and a table of the transactions; empty without a
    headline.
    """
    if summary.headline is None:
        return ""
    return "\n".join([*_figure(summary.headline), "", *kinds_lines(summary.by_transaction), "", ""])


def _figure(headline: HeadlineTotals) -> Iterator[str]:
    name = f"{headline.title} ({headline.note})" if headline.note else headline.title
    yield f"{name + ':':<40} {headline.value:.2f}"
    if headline.efficiency is not None and headline.ideal is not None:
        doubt = f" ({headline.doubt})" if headline.doubt else ""
        yield f"    efficiency:{'':<25} {headline.efficiency:.2f} % of {headline.ideal:,.2f}{doubt}"


def kinds_lines(kinds: Mapping[str, KindTotals]) -> Iterator[str]:
    """A line for each kind of transaction; those rolled back by intent are completed, too."""
    if not kinds:
        return
    width = max(len(TITLE), *(len(name) + 4 for name in kinds))
    yield TITLE.ljust(width) + "".join(f"{column:>10}" for column in COLUMNS)
    for name, each in kinds.items():
        counts = (each.count, each.rolled_back, each.retries)
        times = (each.p50, each.p90, each.p95, each.p99, each.max)
        yield f"    {name}".ljust(width) + "".join(
            [f"{number:>10}" for number in counts] + [f"{ms:>10.2f}" for ms in times]
        )


def connections_lines(connections: ConnectionTotals | None) -> Iterator[str]:
    """Users, idle connections and logins, if the load had them."""
    if connections is None:
        return
    yield "Connections:"
    if connections.users:
        yield f"    {'users who share the connections:':<37}{connections.users}"
        yield f"    {'wait for a connection (ms):':<37}{_spread(connections.wait_ms)}"
    if connections.idle_wanted:
        yield f"    {'idle at the end:':<37}{connections.idle} of {connections.idle_wanted}"
    if connections.logins or connections.missed_logins:
        yield f"    {'logins:':<37}{connections.logins:<6} ({connections.logins_per_second:.2f} per sec.)"
        yield f"    {'login (ms):':<37}{_spread(connections.login_ms)}"
    if connections.missed_logins:
        yield f"    {'logins that were due, not started:':<37}{connections.missed_logins}"
    yield ""


def _spread(latency: Latency | None) -> str:
    if latency is None:
        return "none"
    return f"avg {latency.avg:.2f}, p95 {latency.p95:.2f}, p99 {latency.p99:.2f}, max {latency.max:.2f}"


def addenda(summary: Summary) -> str:
    """All additions; empty for a run without any."""
    connections = "".join(line + "\n" for line in connections_lines(summary.connection_load))
    return headline_text(summary) + connections + write_text(experiment_blocks(summary))


def experiment_blocks(summary: Summary) -> list[Block | Section]:
    """The results of A/B tests, of a screening and of a probe."""
    blocks: list[Block | Section] = [trial_section(result) for result in summary.ab_tests]
    blocks += tune_blocks(summary.tune) if summary.tune else ()
    blocks += probe_blocks(summary.probe) if summary.probe else ()
    return blocks
