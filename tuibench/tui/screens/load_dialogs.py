"""Dialogs that change the load: threads, rate, weights, network delay, plan, probe."""

from functools import partial

from tuibench.errors import UsageError
from tuibench.metrics.figures import read
from tuibench.metrics.thresholds.absolute import parse_probe_text
from tuibench.model.experiments.probe import ProbeOrder
from tuibench.model.experiments.tune import TunePlan, parse_tune_text
from tuibench.model.notation import format_delay, format_weights, parse_delay_ms, parse_weights
from tuibench.model.schedule import (
    MAX_CLIENT_DELAY_MS,
    MAX_RATE,
    MAX_THREADS,
    Schedule,
    format_schedule,
    parse_schedule,
)
from tuibench.tui.commands.actions import ACTIONS_BY_NAME, action_key
from tuibench.tui.screens import tabs
from tuibench.tui.screens.input_dialog import InputDialog, NumberDialog
from tuibench.tui.view import View


def threads_dialog(view: View) -> NumberDialog:
    """Asks for a valid number of threads."""
    reason = partial(_threads_error, action_key(ACTIONS_BY_NAME["pause"], view))
    return NumberDialog("Threads", _threads_facts(view), f"now {view.status.threads}", reason, whole=True)


def _threads_error(pause: str, number: float) -> str:
    if number < 1:
        return f"a run has at least 1 thread; {pause} pauses it"
    return f"at most {MAX_THREADS:,} threads" if number > MAX_THREADS else ""


def _threads_facts(view: View) -> str:
    """Facts that matter for the choice of a number."""
    now = f"{view.status.threads:,} now."
    connected = read("threads_connected", view.server)
    if view.server is None or connected is None:
        return now
    allowed = view.server.levels["max_connections"]
    limit = f" and allows {allowed:,.0f}" if allowed else ""
    return f"{now} The server has {connected:,.0f} connections{limit}."


def rate_dialog(view: View) -> NumberDialog:
    """Asks for transactions per second; 0 removes the limit."""
    now = view.status.rate
    facts = (
        f"{f'{now:,g} per second now' if now else 'No rate now: as many as the connections can do'}. "
        "Transactions that are due but not started are the backlog; 0 removes the rate."
    )
    hint = f"now {now:g}" if now else "for example 500"
    return NumberDialog("Rate: transactions per second", facts, hint, _rate_error, whole=False)


def _rate_error(number: float) -> str:
    return f"at most {MAX_RATE:,} per second" if number > MAX_RATE else ""


def weights_dialog(view: View) -> InputDialog[dict[str, float]]:
    """Asks for a weight per transaction, in order, or for some by name."""
    weights = view.status.weights
    now = format_weights(weights)
    facts = (
        f"{', '.join(f'{name} {weight:g}' for name, weight in weights.items())} now. Type all weights, in "
        f"this order, {now}, or some by name, {next(iter(weights))}=50. A transaction with weight 0 is not "
        "run."
    )
    return InputDialog(
        "Weights of the transactions",
        facts,
        f"now {now}",
        partial(parse_nonzero_weights, names=tuple(weights)),
    )


def parse_nonzero_weights(text: str, names: tuple[str, ...]) -> dict[str, float]:
    """Parse the weights. Raises UsageError with the reason for invalid ones."""
    weights = parse_weights(text, names)
    if set(weights) == set(names) and not any(weights.values()):
        raise UsageError("at least one transaction needs a weight above 0")
    return weights


MAX_MARK_LENGTH = 80


def mark_dialog(view: View) -> InputDialog[str]:
    """Asks for the text of a mark."""
    facts = "Adds a numbered line to all charts, with this text in the events and in the report."
    return InputDialog(
        "Mark", facts, "for example: index added", parse_mark, verb="marks", max_length=MAX_MARK_LENGTH
    )


def parse_mark(text: str) -> str:
    """Parse the text of a mark. Raises UsageError if it is empty."""
    if not text.strip():
        raise UsageError("type a text for the mark")
    return text.strip()


MAX_DELAY_LENGTH = 12


def delay_dialog(view: View) -> InputDialog[float]:
    """Asks for milliseconds per round trip; 0 removes the delay."""
    now = format_delay(view.status.client_delay_ms) if view.status.client_delay_ms else ""
    facts = (
        f"{now or 'No delay'} now. Delays the response to each statement, including BEGIN and COMMIT, "
        "like a network between client and server. 0 removes it."
    )
    hint = f"now {now}" if now else "for example 5ms"
    return InputDialog("Simulated network delay", facts, hint, parse_delay, max_length=MAX_DELAY_LENGTH)


def parse_delay(text: str) -> float:
    """Parse milliseconds. Raises UsageError with the reason for an invalid text."""
    delay_ms = parse_delay_ms(text)
    if delay_ms > MAX_CLIENT_DELAY_MS:
        raise UsageError(f"at most {format_delay(MAX_CLIENT_DELAY_MS)}")
    return delay_ms


_PLAN_FACTS = (
    "Consecutive stages: 16:30s holds 16 threads for 30 s, 1..128/60s rises linearly from 1 to 128, "
    "'1..128/60s doubling' by doubling; rate 200:30s is transactions per second. A manual change "
    "holds the plan, {key} resumes it."
)


def plan_dialog(view: View) -> InputDialog[Schedule]:
    """Asks for a plan, which starts at once and replaces any other."""
    plan = view.status.plan
    hint = f"now {format_schedule(plan.stages)}" if plan else "for example 8:30s,16:30s,64:1m"
    facts = _PLAN_FACTS.format(key=action_key(ACTIONS_BY_NAME["plan"], view))
    return InputDialog("Planned load", facts, hint, parse_schedule, verb="starts")


_PROBE_FACTS = (
    "Doubles the threads step by step until throughput stops growing, then refines; about 90 s. Press enter "
    "to start, or type objectives first: p95<20ms errors<1%. Start with rate to increase the rate instead. "
    "Screen {screen} shows the probe and its answer; {key} ends it. The previous load is then restored."
)


def probe_dialog(view: View) -> InputDialog[ProbeOrder]:
    """Asks for the objectives of a probe, which starts at once."""
    facts = _PROBE_FACTS.format(
        key=action_key(ACTIONS_BY_NAME["probe"], view),
        screen=tabs.tab_key(tabs.TABS_BY_NAME["saturation"], view),
    )
    return InputDialog(
        "Find the saturation point", facts, "for example p95<20ms", parse_probe_text, verb="starts"
    )


_TUNE_FACTS = (
    "Alternates each value with the current settings, shows which values are better, worse or without "
    "effect, and restores everything. Type topics or settings (durability, flushing, innodb_io_capacity), a "
    "time (10m), a tolerance (±2%), allow-risk; an empty field tests all for 10 min. {screen} shows the "
    "screening, {key} ends it."
)


def tune_dialog(view: View) -> InputDialog[TunePlan]:
    """Asks for the settings of a screening, which starts at once."""
    facts = _TUNE_FACTS.format(
        key=action_key(ACTIONS_BY_NAME["tune"], view),
        screen=tabs.tab_key(tabs.TABS_BY_NAME["tune"], view),
    )
    return InputDialog(
        "Tune: find the settings that matter",
        facts,
        "for example flushing 10m",
        parse_tune_text,
        verb="starts",
    )
