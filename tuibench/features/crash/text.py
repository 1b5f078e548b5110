"""The report of crashes as a document: the throughput of each setting, and what a crash loses with it."""

from collections.abc import Callable, Iterator, Sequence
from statistics import fmean, median

from tuibench.base import units
from tuibench.base.document import (
    Block,
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
from tuibench.metrics.proportion import proportion_bounds
from tuibench.model.event import CRASHED
from tuibench.model.findings import CommitFates, Crash, CrashReport
from tuibench.record.recorder import pretty_json
from tuibench.tuning.catalogue import SETTINGS_BY_NAME

KILLED = (
    "Tried: SIGKILL of the server's process. What it had written survived, synced or not: the host went on.",
    "Not tried: a loss of power, which also loses what was written and not synced.",
)
POWER_LOST = (
    "Tried: a loss of power, by a file system that is cut off from its disk: what was not synced is lost.",
    "A disk that acknowledges a flush before it is done would lose more.",
    "Not shown: direct writes without a flush survive (innodb_flush_method=O_DIRECT), and no page is torn.",
)
KEY = (
    "TPS: transactions that write. Lost: acknowledged commits that are gone; the median, least and most.",
    "Unknown: COMMIT without an answer, in all crashes, and in parentheses how many of them are committed.",
    "Seconds: of load that is lost; until connections are accepted, the first commit, and 90 % of the TPS.",
)


def loss_text(fates: CommitFates) -> str:
    """What was lost: lost: 147 acknowledged commits (0.9 s)."""
    lost = fates.lost
    seconds = f" ({units.significant(fates.lost_seconds)} s)" if lost else ""
    return f"lost: {units.pluralize(lost, 'acknowledged commit')}{seconds}"


def crash_sentence(crash: Crash) -> str:
    """The result of a crash in a session: lost: 147 acknowledged commits (0.9 s) · back after 1.2 s, …"""
    recovered = crash.recovered_seconds
    seconds = (
        f"back after {crash.accepts_seconds:.1f} s",
        *[f"first commit {first:.1f} s" for first in (crash.first_commit_seconds,) if first is not None],
        "90 % of TPS never" if recovered is None else f"90 % of TPS {recovered:.1f} s",
    )
    fates = crash.commits
    unknown = (
        f" · unknown fate: {fates.unknown}, {fates.unknown_committed} committed" if fates.unknown else ""
    )
    return f"{loss_text(crash.commits)}{unknown} · {', '.join(seconds)} ({CRASHED}; {crash.setting})"


def crash_line(crash: Crash) -> str:
    """The result of one crash: throughput, fates of the commits, recovery, binary log."""
    fates = crash.commits
    unknown = f"{fates.unknown} of unknown fate, {fates.unknown_committed} of them committed"
    return "; ".join(
        [
            f"{units.count(crash.tps)} TPS",
            loss_text(crash.commits),
            unknown,
            *[f"{fates.unexplained} committed without a COMMIT"] * bool(fates.unexplained),
            f"accepts connections after {crash.accepts_seconds:.1f} s",
            "90 % of the TPS not reached"
            if crash.recovered_seconds is None
            else f"90 % of the TPS after {crash.recovered_seconds:.1f} s",
        ]
    )


def crash_document(report: CrashReport) -> Document:
    """The document, with the table of settings first."""
    groups = _groups(report.crashes)
    tried = POWER_LOST if report.is_power_loss else KILLED
    sections = [section("Gain and loss", _settings_table(groups), Text((*tried, *KEY), Shape.LIST))]
    if replica := tuple(_replica_lines(groups)):
        sections.append(section("Binary log and replicas", Text(replica, Shape.LIST)))
    sections.append(section("All crashes", _crashes_table(report)))
    sections.append(section("Server and method", properties(_facts(report))))
    return Document(
        title=f"Crashes of {report.server}",
        lead=(Text(tuple(_verdicts(groups, is_power_loss=report.is_power_loss)), Shape.LIST),),
        sections=tuple(sections),
    )


def crashes_table(crashes: Sequence[Crash]) -> Table:
    """A table of the settings of a session's crashes: throughput, loss, and recovery."""
    return _settings_table(_groups(crashes))


def crash_blocks(crashes: Sequence[Crash]) -> Iterator[Block | Section]:
    """The blocks of a session's report about its crashes; none without a crash."""
    if crashes:
        groups = _groups(crashes)
        proofs = [f"{name}: {_proof(each)}" for name, each in groups]
        yield section(
            "Crashes of the server",
            Text(tuple(map(crash_sentence, crashes)), Shape.LIST),
            crashes_table(crashes),
            Text((*proofs, *KILLED, *KEY, *_replica_lines(groups)), Shape.LIST),
        )


def crash_text(report: CrashReport, form: str) -> str:
    """The report in one of `FORMATS`; ends in a newline."""
    return FORMATS[form](report)


def _as_text(report: CrashReport) -> str:
    document = crash_document(report)
    return write_text((*document.lead, *(each for each in document.sections if each.title != "All crashes")))


def _as_page(report: CrashReport) -> str:
    from tuibench.report.html_plots import document_page

    return document_page(crash_document(report))


FORMATS: dict[str, Callable[[CrashReport], str]] = {
    "text": _as_text,
    "markdown": lambda report: write_markdown(crash_document(report)),
    "html": _as_page,
    "json": lambda report: pretty_json(report).decode(),
}


Group = tuple[str, Sequence[Crash]]


def _groups(crashes: Sequence[Crash]) -> list[Group]:
    names = dict.fromkeys(crash.setting for crash in crashes)
    return [(name, [crash for crash in crashes if crash.setting == name]) for name in names]


def _verdicts(groups: Sequence[Group], *, is_power_loss: bool) -> Iterator[str]:
    """Sentences for each setting: its gain and the worst of its crashes; then what their number proves."""
    first = fmean(crash.tps for crash in groups[0][1])
    for number, (name, crashes) in enumerate(groups):
        worst = max(crashes, key=lambda crash: crash.commits.lost)
        gain = f"{fmean(crash.tps for crash in crashes) / first:.2f} × the TPS, " if number else ""
        most = f", the most of {len(crashes)} crashes" if len(crashes) > 1 and worst.commits.lost else ""
        untried = (
            "; a loss of power (--power) was not tried" if not is_power_loss and _is_untested(worst) else ""
        )
        yield f"{name}: {gain}{loss_text(worst.commits)}{most}{untried}"
        yield f"{name}: {_proof(crashes)}"
        if unexplained := sum(crash.commits.unexplained for crash in crashes):
            yield f"{name}: {units.pluralize(unexplained, 'commit')} present that nothing explains"


def proof_text(losing: int, trials: int, event: str = "crash", events: str = "crashes") -> str:
    """What the number of events that lost something says about all events like these, at 95 % confidence:
    0 of 30 crashes; at most 9.5 % of crashes lose something.

    Events are counted, and not commits: those that one event loses are not independent of each other.
    """
    least, greatest = (units.percent(100 * share, 1) for share in proportion_bounds(losing, trials))
    counted = f"{losing} of {trials} {events if trials > 1 else event}"
    if not losing:
        return f"{counted}; at most {greatest} of {events} lose something"
    if losing == trials:
        return f"{counted}; at least {least} of {events} lose something"
    return f"{counted}; {least} to {greatest} of {events} lose something"


def _proof(crashes: Sequence[Crash]) -> str:
    return proof_text(sum(crash.commits.lost > 0 for crash in crashes), len(crashes))


def _is_untested(worst: Crash) -> bool:
    """True if the values can lose commits, and the kill of the process did not show it."""
    risky = (
        name in SETTINGS_BY_NAME and SETTINGS_BY_NAME[name].at_risk(value)
        for name, value in worst.values.items()
    )
    return not worst.commits.lost and any(risky)


def _settings_table(groups: Sequence[Group]) -> Table:
    first = fmean(crash.tps for crash in groups[0][1])
    rows = []
    for name, crashes in groups:
        tps = fmean(crash.tps for crash in crashes)
        fates = [crash.commits for crash in crashes]
        unknown, committed = sum(one.unknown for one in fates), sum(one.unknown_committed for one in fates)
        rows.append(
            (
                name,
                units.count(tps),
                f"{tps / first:.2f}",
                spread([one.lost for one in fates], units.count),
                spread([one.lost_seconds for one in fates], seconds_text),
                f"{unknown} ({committed})",
                middle([crash.accepts_seconds for crash in crashes]),
                middle([crash.first_commit_seconds for crash in crashes]),
                middle([crash.recovered_seconds for crash in crashes]),
                _agreement(crashes),
            )
        )
    return Table(
        header=("setting", "TPS", "gain", "lost", "seconds", "unknown", "accepts", "1st commit", "90 % TPS",
                "binary log"),
        rows=tuple(rows),
        remarks=1,
    )  # fmt: skip


def spread(values: Sequence[float], text: Callable[[float], str]) -> str:
    """The median, with minimum and maximum if they differ: 147 (12–410)."""
    least, most = text(min(values)), text(max(values))
    return least if least == most else f"{text(median(values))} ({least}–{most})"


def middle(values: Sequence[float | None]) -> str:
    """The median of times, of which None is longer than all others; a text if the median is None."""
    value = median(float("inf") if each is None else each for each in values)
    return seconds_text(None if value == float("inf") else value)


def seconds_text(value: float | None) -> str:
    if value is None:
        return "never"
    return f"{value:.1f}" if value else "0"


def _agreement(crashes: Sequence[Crash]) -> str:
    """Whether binary log and tables agreed after all crashes of a setting, in words."""
    known = [crash.binlog for crash in crashes if crash.binlog is not None]
    if not known:
        return crashes[0].binlog_note
    ahead, behind = sum(one.only_in_binlog for one in known), sum(one.only_in_tables for one in known)
    words = [f"{ahead:,} more"] * bool(ahead) + [f"{behind:,} less"] * bool(behind)
    return ", ".join(words) or "agrees"


def _replica_lines(groups: Sequence[Group]) -> Iterator[str]:
    """Lines that explain the difference between binary log and tables for a replica."""
    for name, crashes in groups:
        known = [crash.binlog for crash in crashes if crash.binlog is not None]
        ahead, behind = sum(one.only_in_binlog for one in known), sum(one.only_in_tables for one in known)
        if ahead:
            yield (
                f"{name}: the tables lost {units.pluralize(ahead, 'transaction')} of the binary log;"
                " a replica that applied them has to be set up anew"
            )
        if behind:
            yield (
                f"{name}: the binary log lacks {units.pluralize(behind, 'transaction')} of the tables;"
                " a replica that had not read them before has to be set up anew"
            )
        if known and not ahead and not behind:
            yield f"{name}: binary log and tables agree; a replica gets what this server has"


def _crashes_table(report: CrashReport) -> Table:
    return Table(
        header=("setting", "crash", "TPS", "lost", "seconds", "unknown", "committed", "unexplained",
                "accepts", "1st commit", "90 % TPS", "only in binary log", "only in tables"),
        rows=tuple(
            (
                crash.setting,
                str(crash.repeat),
                units.count(crash.tps),
                units.count(crash.commits.lost),
                seconds_text(crash.commits.lost_seconds),
                str(crash.commits.unknown),
                str(crash.commits.unknown_committed),
                str(crash.commits.unexplained),
                seconds_text(crash.accepts_seconds),
                seconds_text(crash.first_commit_seconds),
                seconds_text(crash.recovered_seconds),
                units.count(crash.binlog.only_in_binlog if crash.binlog else None),
                units.count(crash.binlog.only_in_tables if crash.binlog else None),
            )
            for crash in report.crashes
        ),
    )  # fmt: skip


def _facts(report: CrashReport) -> Iterator[tuple[str, str]]:
    yield "server", report.server
    yield "limits", report.limited
    varied = {name for crash in report.crashes for name in crash.values}
    for name in sorted(varied):
        values = dict.fromkeys(crash.values.get(name, "") for crash in report.crashes)
        yield name, ", ".join(values)
    yield "load", f"{report.profile}, {report.data}, {units.pluralize(report.threads, 'connection')}"
    yield "before the kill", f"{report.seconds:g} s, and up to 1 s more at random (seed {report.seed})"
    share = fmean(crash.ledger_share for crash in report.crashes)
    yield "cost of the ledger", f"its statement takes {units.percent(100 * share, 1)} of a transaction's time"
    if len(report.crashes) < report.planned:
        yield "crashes", f"{len(report.crashes)} of {report.planned}"
