"""The report of failovers as a document: the throughput of each mode beside what a failover loses with it."""

from collections.abc import Callable, Iterator, Sequence
from statistics import fmean

from tuibench.base import units
from tuibench.base.document import (
    Document,
    Section,
    Shape,
    Table,
    Text,
    properties,
    section,
    write_markdown,
    write_text,
)
from tuibench.features.crash.text import loss_text, middle, proof_text, seconds_text, spread
from tuibench.features.failover.modes import MEANINGS, Mode
from tuibench.features.failover.result import Failover, FailoverReport
from tuibench.record.recorder import pretty_json

KILLED = "Tried: SIGKILL of the source's process. What it had written survived, synced or not."
POWER_LOST = "Tried: a loss of power of the source's disk: what was not synced is lost there."
PROMOTED = (
    "Then: the most advanced replica was promoted at once, after it had applied its relay log.",
    "Not tried: a source that only seems dead and goes on; the time until a monitor sees its death.",
)
LOSS_KEY = (
    "TPS: transactions that write. Lost: acknowledged commits that the new primary lacks; the median, least"
    " and most.",
    "Phantoms: commits that another connection had read on the source, and that the new primary lacks.",
    "Unknown: COMMIT without an answer, in all failovers, and in parentheses how many the new primary has.",
)
SWITCH_KEY = (
    "Errant: transactions of the old source's GTID set that the new primary lacks: it has to be set up anew.",
    "Fell back: commits that no replica had acknowledged, because the semi-sync timeout had passed.",
    "Behind: transactions that the replica had not received before the kill (+ received and not applied).",
    "Seconds: without a commit, and until 90 % of the TPS.",
)


def failover_line(failover: Failover) -> str:
    """The result of one failover."""
    fates = failover.commits
    return "; ".join(
        [
            f"{units.count(failover.tps)} TPS",
            loss_text(fates),
            units.pluralize(failover.phantoms, "phantom"),
            f"{fates.unknown} of unknown fate, {fates.unknown_committed} of them committed",
            *[f"{fates.unexplained} committed without a COMMIT"] * bool(fates.unexplained),
            f"the old source has {units.pluralize(failover.errant, 'errant transaction')}",
            *[f"{_unacknowledged(failover):,} commits without a replica"] * bool(_unacknowledged(failover)),
            "no commit any more"
            if failover.outage_seconds is None
            else f"{failover.outage_seconds:.1f} s without a commit",
        ]
    )


def failover_document(report: FailoverReport) -> Document:
    """The document, with the throughput of each mode beside its loss first."""
    groups = _groups(report.failovers)
    tried = (POWER_LOST if report.is_power_loss else KILLED, *PROMOTED)
    meanings = tuple(f"{name}: {MEANINGS[Mode(name)]}" for name, _ in groups)
    return Document(
        title=f"Failovers of {report.server}",
        lead=(Text(tuple(_verdicts(groups)), Shape.LIST),),
        sections=(
            section("Gain and loss", _loss_table(groups), Text((*meanings, *tried, *LOSS_KEY), Shape.LIST)),
            section("The old source and the outage", _switch_table(groups), Text(SWITCH_KEY, Shape.LIST)),
            section("All failovers", _failovers_table(report)),
            section("Servers and method", properties(_facts(report))),
        ),
    )


def failover_text(report: FailoverReport, form: str) -> str:
    """The report in one of `FORMATS`; ends in a newline."""
    return FORMATS[form](report)


def _as_text(report: FailoverReport) -> str:
    document = failover_document(report)
    shown: list[Section] = [each for each in document.sections if each.title != "All failovers"]
    return write_text((*document.lead, *shown))


def _as_page(report: FailoverReport) -> str:
    from tuibench.report.html_plots import document_page

    return document_page(failover_document(report))


FORMATS: dict[str, Callable[[FailoverReport], str]] = {
    "text": _as_text,
    "markdown": lambda report: write_markdown(failover_document(report)),
    "html": _as_page,
    "json": lambda report: pretty_json(report).decode(),
}

Group = tuple[str, Sequence[Failover]]


def _groups(failovers: Sequence[Failover]) -> list[Group]:
    names = dict.fromkeys(failover.mode for failover in failovers)
    return [(name, [each for each in failovers if each.mode == name]) for name in names]


def _unacknowledged(failover: Failover) -> int:
    return failover.semisync.unacknowledged if failover.semisync else 0


def _verdicts(groups: Sequence[Group]) -> Iterator[str]:
    """Sentences for each mode: its gain and the worst of its failovers; then what their number proves."""
    first = fmean(failover.tps for failover in groups[0][1])
    for number, (name, failovers) in enumerate(groups):
        trials = len(failovers)
        worst = max(failovers, key=lambda failover: failover.commits.lost)
        gain = f"{fmean(failover.tps for failover in failovers) / first:.2f} × the TPS, " if number else ""
        most = f", the most of {trials} failovers" if trials > 1 and worst.commits.lost else ""
        yield f"{name}: {gain}{loss_text(worst.commits)}{most}"
        losing = sum(failover.commits.lost > 0 for failover in failovers)
        yield f"{name}: {proof_text(losing, trials, 'failover', 'failovers')}"
        if seen := sum(failover.unacknowledged_phantoms > 0 for failover in failovers):
            most_seen = max(failover.unacknowledged_phantoms for failover in failovers)
            yield (
                f"{name}: others had read commits that are gone and were never acknowledged, in {seen} of"
                f" {trials}; up to {most_seen}"
            )
        if fallen := list(filter(_unacknowledged, failovers)):
            commits = sum(map(_unacknowledged, fallen))
            yield (
                f"{name}: the semi-sync timeout passed in {len(fallen)} of {trials}:"
                f" {units.pluralize(commits, 'commit')} acknowledged without a replica, as in async"
            )
        if unexplained := sum(failover.commits.unexplained for failover in failovers):
            yield f"{name}: {units.pluralize(unexplained, 'commit')} present that nothing explains"


def _loss_table(groups: Sequence[Group]) -> Table:
    first = fmean(failover.tps for failover in groups[0][1])
    rows = []
    for name, failovers in groups:
        tps = fmean(failover.tps for failover in failovers)
        fates = [failover.commits for failover in failovers]
        unknown, committed = sum(one.unknown for one in fates), sum(one.unknown_committed for one in fates)
        rows.append(
            (
                name,
                units.count(tps),
                f"{tps / first:.2f}",
                spread([one.lost for one in fates], units.count),
                spread([failover.phantoms for failover in failovers], units.count),
                f"{unknown} ({committed})",
            )
        )
    return Table(header=("mode", "TPS", "gain", "lost", "phantoms", "unknown"), rows=tuple(rows))


def _switch_table(groups: Sequence[Group]) -> Table:
    rows = tuple(
        (
            name,
            spread([failover.errant for failover in failovers], units.count),
            spread([_unacknowledged(failover) for failover in failovers], units.count)
            if failovers[0].semisync
            else "",
            _behind(failovers),
            middle([failover.outage_seconds for failover in failovers]),
            middle([failover.recovered_seconds for failover in failovers]),
        )
        for name, failovers in groups
    )
    return Table(header=("mode", "errant", "fell back", "behind", "no commit", "90 % TPS"), rows=rows)


def _behind(failovers: Sequence[Failover]) -> str:
    """The mean backlog before the kill: 34 (+5)."""
    received = round(fmean(failover.not_received for failover in failovers))
    applied = round(fmean(failover.not_applied for failover in failovers))
    return f"{received:,} (+{applied:,})" if applied else f"{received:,}"


def _failovers_table(report: FailoverReport) -> Table:
    return Table(
        header=("mode", "failover", "TPS", "lost", "seconds", "phantoms", "unacknowledged", "unknown",
                "committed", "unexplained", "errant", "fell back", "timeouts", "not received", "not applied",
                "promoted", "no commit", "90 % TPS"),
        rows=tuple(
            (
                each.mode,
                str(each.repeat),
                units.count(each.tps),
                units.count(each.commits.lost),
                seconds_text(each.commits.lost_seconds),
                units.count(each.phantoms),
                units.count(each.unacknowledged_phantoms),
                str(each.commits.unknown),
                str(each.commits.unknown_committed),
                str(each.commits.unexplained),
                units.count(each.errant),
                units.count(each.semisync.unacknowledged if each.semisync else None),
                units.count(each.semisync.fallbacks if each.semisync else None),
                units.count(each.not_received),
                units.count(each.not_applied),
                seconds_text(each.promoted_seconds),
                seconds_text(each.outage_seconds),
                seconds_text(each.recovered_seconds),
            )
            for each in report.failovers
        ),
    )  # fmt: skip


def _facts(report: FailoverReport) -> Iterator[tuple[str, str]]:
    yield "server", report.server
    yield "limits", report.limited
    has_group = any(each.mode == Mode.GROUP for each in report.failovers)
    yield "replicas", str(report.replicas)
    if report.lag_seconds:
        late = f"they receive everything {units.significant(report.lag_seconds)} s late (--lag)"
        yield "lag", f"{late}{', but not in a group' if has_group else ''}"
    else:
        yield "lag", "none but their own"
    for name in sorted({name for each in report.failovers for name in each.values}):
        values = dict.fromkeys(each.values[name] for each in report.failovers if name in each.values)
        yield name, ", ".join(values)
    yield "load", f"{report.profile}, {report.data}, {units.pluralize(report.threads, 'connection')}"
    yield "before the kill", f"{report.seconds:g} s, and up to 1 s more at random (seed {report.seed})"
    share = fmean(each.ledger_share for each in report.failovers)
    yield "cost of the ledger", f"its statement takes {units.percent(100 * share, 1)} of a transaction's time"
    if len(report.failovers) < report.planned:
        yield "failovers", f"{len(report.failovers)} of {report.planned}"
