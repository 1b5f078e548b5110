"""Result of a probe: sentences, the table of its steps, and the commands of the formal run."""

from collections.abc import Iterator, Sequence

from tuibench.base.document import Block, Shape, Table, Text, write_text
from tuibench.base.units import DASH, count, decimal, milliseconds, pluralize, signed, significant
from tuibench.features.probe.plan import keeps_up
from tuibench.metrics.diagnosis import HOST_CPU_OTHERS
from tuibench.metrics.recovery import QueueTrend
from tuibench.model.findings import Mean
from tuibench.model.probe import (
    SWEEP,
    ProbeEnd,
    ProbeOrder,
    ProbeResult,
    ProbeStep,
    RecoveryEdge,
    RecoveryTrial,
    StepPurpose,
    TrialEnd,
    UslFit,
    VulnerableRange,
)
from tuibench.model.schedule import Quantity, format_delay

SMALL_PERCENT = 10.0
"""A change that is certainly smaller is reported as equal."""

END_TEXTS = {
    ProbeEnd.SLO: "the objectives are missed before the server is saturated",
    ProbeEnd.COLLAPSE: "throughput collapsed",
    ProbeEnd.CONNECTIONS: "the server accepted no more connections",
    ProbeEnd.LIMIT: "throughput still grew at the highest level allowed",
    ProbeEnd.TIME: "the time limit was reached before throughput stopped growing",
    ProbeEnd.ABORTED: "the probe ended early",
    ProbeEnd.KNEE: "throughput stopped growing",
}


def end_text(result: ProbeResult) -> str:
    """Why the probe ended."""
    return result.reason or END_TEXTS[result.end]


def probe_level_text(order: ProbeOrder, level: float | None) -> str:
    """A level with its unit: `24 threads`, `400/s`."""
    if level is None:
        return DASH
    if order.by is Quantity.RATE:
        return probe_rate_text(level)
    return f"{level:,.0f} thread{'' if level == 1 else 's'}"


def probe_rate_text(rate: float) -> str:
    return f"{rate:,.6g}/s"


def probe_text(result: ProbeResult) -> str:
    """The whole result, ending in a newline."""
    return write_text(probe_blocks(result))


def probe_blocks(result: ProbeResult) -> tuple[Block, ...]:
    trials = (trials_table(result.vulnerable),) if result.vulnerable is not None else ()
    return (probe_table(result), *trials, Text(result.lines), *probe_commands(result))


def probe_commands(result: ProbeResult) -> tuple[Text, ...]:
    """The commands of the formal run, if there are any."""
    commands = tuple(result.commands.values())
    return (Text(commands, Shape.CODE, title=commands_title(result)),) if commands else ()


def commands_title(result: ProbeResult) -> str:
    return "To decide it:" if SWEEP in result.commands else "For the formal run:"


def probe_table(result: ProbeResult) -> Table:
    """A row for each step, by level and then in the order of measurement."""
    name = "rate/s" if result.order.by is Quantity.RATE else "threads"
    rows = tuple(_cells(result, step) for step in steps_in_order(result.steps))
    return Table(header=(name, "TPS", "± 95 %", "QPS", "p95", "errors", ""), rows=rows, words=0, remarks=1)


def steps_in_order(steps: Sequence[ProbeStep]) -> list[ProbeStep]:
    """Steps by level; those of one level in the order of measurement."""
    return sorted(steps, key=lambda step: step.level)


def step_line(order: ProbeOrder, step: ProbeStep) -> str:
    """One step for progress output: `16 threads: 2,104 TPS ±1.2 %, p95 9.8 ms, in 5.0 s`."""
    known = f" ±{100 * step.half_width:.1f} %" if step.half_width is not None else ""
    missed = "".join(f", missed {each}" for each in step.missed)
    steady = "" if step.is_stable else ", not stable"
    level = "without a rate" if step.purpose is StepPurpose.SCALE else probe_level_text(order, step.level)
    spent = step.seconds + step.settling_seconds
    return (
        f"{level}: {count(step.tps)} TPS{known}, p95 {milliseconds(step.p95_ms)}, in {spent:.1f} s"
        f"{steady}{missed}"
    )


def probe_lines(result: ProbeResult) -> tuple[str, ...]:
    """The findings, one or two sentences per line."""
    return tuple(
        line
        for lines in (
            _objective(result),
            _saturation(result),
            arrival_lines(result),
            vulnerable_lines(result),
            _durability(result),
            _bottleneck(result),
            _recovery(result),
            [fit_line(result.fit)] if result.fit else [],
            (
                f"Confidence: {result.confidence}, from {pluralize(len(result.steps), 'step')} in "
                f"{result.seconds:.0f} s.",
                *(f"  {doubt}" for doubt in result.doubts),
            ),
        )
        for line in lines
    )


def fit_line(fit: UslFit) -> str:
    """The parameters of the fitted curve, or why there is no fit."""
    if fit.refusal:
        return f"USL: no fit: {fit.refusal}"
    peak = (
        f"highest throughput {count(fit.peak_tps)} TPS at {fit.peak_level:,.0f} threads"
        if fit.peak_level is not None
        else "no peak up to four times the highest measured level"
    )
    return f"USL: σ {fit.sigma:.4f}, κ {fit.kappa:.2g}, R² {fit.r2:.3f}: {peak}"


def _saturation(result: ProbeResult) -> Iterator[str]:
    order, knee, plateau = result.order, result.knee, result.plateau
    if plateau is None:
        yield f"Nothing was measured: {end_text(result)}."
        return
    most = mean_text(plateau)
    if result.reason:
        yield f"The probe ended early: {result.reason}. Its results are from the time before."
    if result.client_limited:
        yield (
            f"Other programs take this host's CPU: the server did {most}, and may do more without them."
            if result.bottleneck is not None and result.bottleneck.id == HOST_CPU_OTHERS
            else f"The load generator was the limit, not the server, which can do {most} or more."
        )
    elif knee is None:
        # The level with the most throughput.
        least = max(result.steps, key=lambda step: step.tps).level if result.steps else None
        yield f"Not saturated: {END_TEXTS[result.end]}. Most: {most} at {probe_level_text(order, least)}."
    elif result.is_inconclusive:
        yield (f"Inconclusive: throughput stops growing somewhere from {bracket_text(result)}, at {most}.")
    elif order.by is Quantity.RATE:
        yield f"Saturated at {most}: the rate that is reached up to {probe_level_text(order, knee.level)}."
    else:
        between = f" ({_number(result.knee_low)} to {_number(result.knee_high)})"
        yield (
            f"Saturated at {probe_level_text(order, knee.level)}{between}: {count(knee.tps)} TPS, "
            f"p95 {milliseconds(knee.p95_ms)}. Plateau: {most}."
        )
    if order.by is Quantity.RATE and result.recommended is not None and not result.objective:
        yield f"Recommended: {probe_level_text(order, result.recommended)}, at which nothing is left waiting."


def bracket_text(result: ProbeResult) -> str:
    """Between which levels the saturation point is: `1 to 8 threads`."""
    return f"{_number(result.knee_low)} to {probe_level_text(result.order, result.knee_high)}"


def mean_text(mean: Mean) -> str:
    """Throughput with its interval: `1,002 TPS (980 to 1,020)`."""
    half = mean.half_width
    between = f" ({count(max(0.0, mean.mean - half))} to {count(mean.mean + half)})" if half else ""
    return f"{count(mean.mean)} TPS{between}"


def _durability(result: ProbeResult) -> Iterator[str]:
    """The durability settings during the probe."""
    if result.durability:
        values = ", ".join(f"{name}={value}" for name, value in result.durability.items())
        yield f"Measured with {values}."


def _objective(result: ProbeResult) -> Iterator[str]:
    found, order = result.objective, result.order
    if found is None:
        return
    what = " and ".join(found.slo)
    # A single objective is named once: `p95<50ms: 128 ms` is `128 ms`.
    values = found.missed if len(found.slo) > 1 else [each.rpartition(": ")[2] for each in found.missed]
    missed = f"missed at {probe_level_text(order, found.missed_at)} ({'; '.join(values)})"
    contrary = ", ".join(probe_level_text(order, level) for level in found.contrary)
    if found.most is None:
        yield (
            f"{what}: not decided: {missed}, but met at {contrary}."
            if contrary
            else (f"{what}: met at no level; {missed}.")
        )
        return
    until = missed if found.missed_at is not None else "the highest measured"
    but = f" (but for {contrary})" if contrary else ""
    best = (
        f"No level meets it by more than the noise of {found.noise_percent:.0f} % from step to step"
        if found.best is None
        else f"Best within it: {probe_level_text(order, found.best)}, {count(found.tps)} TPS, "
        f"p95 {milliseconds(found.p95_ms)}"
    )
    yield f"{what}: met up to {probe_level_text(order, found.most)}, {until}{but}. {best}."


def _bottleneck(result: ProbeResult) -> Iterator[str]:
    found = result.bottleneck
    if found is None:
        return
    yield f"Bottleneck: {found.found}."
    for line in found.evidence:
        yield f"  {line}"
    yield f"  → {found.remedy}"


def _recovery(result: ProbeResult) -> Iterator[str]:
    found = result.recovery
    if found is None:
        return
    margin = f" ± {found.margin:.1f}" if found.margin is not None else ""
    is_small = found.margin is not None and abs(found.percent) + found.margin <= SMALL_PERCENT
    equal = f"equal within ±{SMALL_PERCENT:g} %"
    verdict = "differs" if found.differs else equal if is_small else "not significant"
    yield (
        f"Again at {probe_level_text(result.order, found.level)}: {count(found.before)} TPS before the "
        f"highest load, {count(found.after)} after it: {verdict} ({signed(found.percent, 1)}{margin} %)."
    )


def arrival_lines(result: ProbeResult) -> Iterator[str]:
    """The recommended throughput with threads that wait, and as arrivals."""
    found = result.arrivals
    if found is None:
        return
    first = found.steps[0]
    rate, threads = probe_rate_text(first.level), probe_level_text(result.order, found.threads)
    behind = "" if keeps_up(first) else f", and falls behind at {count(first.tps)}/s"
    slo = " and ".join(result.order.slo)
    verdict = ""
    if slo:
        if found.most == first.level:
            verdict = f": {slo} holds there, too"
        elif found.most is not None:
            verdict = f": {slo} holds up to {probe_rate_text(found.most)}"
        else:
            verdict = f": {slo} does not hold even at {probe_rate_text(found.steps[-1].level)}"
    yield (
        f"As arrivals: {rate}: p95 {milliseconds(found.p95_ms)} with {threads}, "
        f"{milliseconds(first.p95_ms)} as arrivals on {found.connections:,} connections{behind}{verdict}."
    )


def arrival_line(step: ProbeStep) -> str:
    """A rate of the check, for progress output."""
    missed = "".join(f", missed {each}" for each in step.missed)
    behind = "" if keeps_up(step) else ", falls behind"
    return (
        f"{probe_rate_text(step.level)} as arrivals: {count(step.tps)} TPS, "
        f"p95 {milliseconds(step.p95_ms)}{behind}{missed}"
    )


def vulnerable_lines(result: ProbeResult) -> Iterator[str]:
    """The vulnerable range in one sentence, and what each remedy does to its edge."""
    found = result.vulnerable
    if found is None:
        if result.order.recover:
            yield "Recovery: unknown, because the capacity is: the server kept up with every rate."
        return
    edge, capacity = found.edges[0], count(found.capacity.mean)
    attempts = f" and {found.attempts} attempts" if found.attempts > 1 else ""
    deadline = f"Recovery with a deadline of {format_delay(found.deadline_ms)}{attempts}"
    if not edge.trials:
        yield f"{deadline}: not tried."
    elif edge.high is None:
        yield f"{deadline}: a burst is recovered from at every rate tried, {_up_to(found, edge)}."
    elif edge.low is None:
        yield f"{deadline}: the load does not recover from a burst even at {count(edge.high)}/s."
    else:
        yield (
            f"{deadline}: the load recovers from a burst by itself up to {count(edge.low)}/s, and not at "
            f"{count(edge.high)}/s: from there to the capacity of {capacity}/s it runs well until something "
            "happens once."
        )
    for other in found.edges[1:]:
        if other.high is None:
            yield f"  With {other.remedy} it recovers {_up_to(found, other)}."
        elif other.low is None:
            yield f"  With {other.remedy} it does not recover at {count(other.high)}/s either."
        else:
            yield f"  With {other.remedy} up to {count(other.low)}/s, not at {count(other.high)}/s."


def _up_to(found: VulnerableRange, edge: RecoveryEdge) -> str:
    share = 100 * (edge.low or 0.0) / found.capacity.mean
    return f"up to {count(edge.low)}/s, {share:.0f} % of the capacity"


TRIAL_ENDS = {
    TrialEnd.RECOVERED: "recovered",
    TrialEnd.DRAINS: "drains",
    TrialEnd.STAYS: "does not recover",
    TrialEnd.UNSTEADY: "does not hold without a burst",
}


def trial_text(trial: RecoveryTrial) -> str:
    """What became of it: `recovered in 3 s`, `does not recover: queue 4,100, growing by 85/s`."""
    words = TRIAL_ENDS[trial.end]
    if trial.end is TrialEnd.RECOVERED:
        return f"{words} in {trial.seconds or 0.0:.0f} s"
    if trial.growth is None or not trial.backlog:
        return words
    trend = QueueTrend(trial.backlog, trial.growth, 0.0 if trial.is_sure else abs(trial.growth))
    return f"{words}: {trend.text}{'' if trial.is_sure else ', near the edge'}"


def trial_line(trial: RecoveryTrial) -> str:
    """One trial for progress output."""
    remedy = f" with {trial.remedy}" if trial.remedy else ""
    return f"burst at {count(trial.rate)}/s{remedy}: {trial_text(trial)}"


def trials_table(found: VulnerableRange) -> Table:
    """A row for each trial: without a remedy by rate, then with each."""
    names = [edge.remedy for edge in found.edges]
    trials = sorted(found.trials, key=lambda each: (names.index(each.remedy), each.rate))
    rows = tuple(
        (
            count(each.rate),
            count(each.before),
            count(each.lowest),
            DASH if each.after is None else count(each.after),
            each.remedy,
            trial_text(each),
        )
        for each in trials
    )
    return Table(
        header=("burst at rate/s", "goodput before", "lowest", "after", "", ""), rows=rows, words=0, remarks=2
    )


def _cells(result: ProbeResult, step: ProbeStep) -> tuple[str, ...]:
    remarks = (
        (
            "saturated",
            result.knee is not None and result.knee.level == step.level and not result.is_inconclusive,
        ),
        ("once more", step.purpose is StepPurpose.CONFIRM),
        ("not stable", not step.is_stable),
        (f"missed {'; '.join(step.missed)}", bool(step.missed)),
    )
    return (
        "no rate" if step.purpose is StepPurpose.SCALE else _number(step.level),
        decimal(step.tps, 1),
        DASH if step.half_width is None else f"{100 * step.half_width:.1f} %",
        count(step.qps),
        milliseconds(step.p95_ms, in_column=True),
        f"{significant(step.errors_percent)} %" if step.errors_percent else "0",
        ", ".join(words for words, holds in remarks if holds),
    )


def _number(level: float | None) -> str:
    if level is None:
        return DASH
    return count(level) if level == int(level) else significant(level, 3)
