"""Callers of a load: how long they wait for a transaction, and what they do when it takes longer.

With a deadline, a transaction is good if it ends in time, counted from its intended start, and late
otherwise. A caller that has waited that long may send its transaction again: a further attempt, which comes
due after a pause. The earlier attempt stays where it is, in the queue or in flight. Each attempt is counted
as a transaction of its own, with its own intended start and deadline; `resent` counts those after the first.

    attempts 3, back-off 50ms,x2, deadline 200ms
    due at 0 ──> not ended at 200 ms ──> due again at 250 ms ──> not ended at 450 ms ──> due again at 550 ms

The retry budget limits further attempts to a share of the first ones. The breaker opens when at least a share
of the attempts of a second did not end in time; while it is open, everything that comes due is abandoned at
once. Both belong to a worker.
"""

import re
from enum import StrEnum

import msgspec

from tuibench.base.errors import UsageError
from tuibench.model.option import NUMBER, check_range, parse_duration, plain_number
from tuibench.model.schedule import format_delay, format_duration, parse_delay_ms

MAX_DEADLINE_MS = 3_600_000.0
MAX_BACKOFF_MS = 600_000.0
MAX_FACTOR = 10.0
MAX_BREAKER_SECONDS = 3600.0
MOST_ATTEMPTS = 100
OFF = "off"


class QueueOrder(StrEnum):
    """Which transaction that waits is started next: the oldest, the newest, or the oldest that would still
    end in time. Older ones are abandoned.
    """

    FIFO = "fifo"
    LIFO = "lifo"
    SHED = "shed"


class OnDeadline(StrEnum):
    """What becomes of a statement that runs when the deadline has passed: the server goes on with it, or
    ends it after as much time as the deadline.
    """

    LEAVE = "leave"
    KILL = "kill"


class Backoff(msgspec.Struct, frozen=True):
    """The pause before a further attempt."""

    first_ms: float = 0.0
    """Before the second attempt."""
    factor: float = 1.0
    """The pause before each later attempt is so many times the one before."""
    jitter: bool = False
    """True for a random share (0 to 1) of the pause, so that callers do not come back together."""

    def __str__(self) -> str:
        factor = f",x{plain_number(self.factor)}" if self.factor != 1 else ""
        return f"{format_delay(self.first_ms)}{factor}{',jitter' * self.jitter}"


class Breaker(msgspec.Struct, frozen=True):
    """A circuit breaker."""

    percent: float
    """It opens if at least this share of the attempts of a second did not end in time."""
    seconds: float
    """How long it stays open."""

    def __str__(self) -> str:
        return f"{plain_number(self.percent)}%,{format_duration(self.seconds)}"


class CallerPolicy(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the callers of a load do. The plan's options of the same names explain each field."""

    deadline_ms: float = 0.0
    """0 for none."""
    attempts: int = 1
    """The first one included."""
    backoff: Backoff = Backoff()
    queue: QueueOrder = QueueOrder.FIFO
    retry_budget: float | None = None
    """Percent of the first attempts; None without a limit."""
    breaker: Breaker | None = None
    on_deadline: OnDeadline = OnDeadline.LEAVE

    @property
    def follows_attempts(self) -> bool:
        """True if it matters whether a single attempt ends in time."""
        return bool(self.deadline_ms) and (self.attempts > 1 or self.breaker is not None)


def check_policy(policy: CallerPolicy, *, users: int = 0) -> None:
    """Raises UsageError for options that need another one, or exclude it."""
    needing = {
        "--attempts": policy.attempts > 1,
        "--queue=shed": policy.queue is QueueOrder.SHED,
        "--retry-budget": policy.retry_budget is not None,
        "--breaker": policy.breaker is not None,
        "--on-deadline=kill": policy.on_deadline is OnDeadline.KILL,
    }
    for name, is_set in needing.items():
        if is_set and not policy.deadline_ms:
            raise UsageError(f"{name} needs a deadline", "for example --deadline=200ms")
    if users and (policy.attempts > 1 or policy.breaker is not None):
        raise UsageError(
            "--users excludes --attempts and --breaker: a user waits for its transaction", "use a --rate"
        )


def time_limit_statements(policy: CallerPolicy, *, was_limited: bool = False) -> tuple[str, ...]:
    """The statement by which a connection has its statements ended after the deadline; none without a limit.
    After a limit, the server's own.

    MariaDB ends every statement (`max_statement_time`, in s), MySQL only SELECT (`max_execution_time`, in
    ms). The comments are code for one of them each: MariaDB reads none of MySQL 5.7 and later.
    """
    seconds, milliseconds = "DEFAULT", "DEFAULT"
    if policy.on_deadline is OnDeadline.KILL and policy.deadline_ms:
        # 0 is no limit.
        whole_ms = max(1, round(policy.deadline_ms))
        seconds, milliseconds = f"{whole_ms / 1000:.6g}", str(whole_ms)
    elif not was_limited:
        return ()
    return (
        f"SET SESSION /*M!100101 max_statement_time={seconds} */ "
        f"/*!50708 max_execution_time={milliseconds} */",
    )


def parse_deadline(text: str) -> float:
    """Parse a deadline to milliseconds. Raises UsageError for anything else."""
    return check_range("the deadline in ms", parse_delay_ms(text), 0, MAX_DEADLINE_MS)


def format_deadline(milliseconds: float) -> str:
    return format_delay(milliseconds) if milliseconds else "0"


def parse_backoff(text: str) -> Backoff:
    """Parse `50ms,x2,jitter`; all but the time may be missing. Raises UsageError for anything else."""
    first, *rest = (part.strip() for part in text.split(","))
    first_ms = check_range("the back-off in ms", parse_delay_ms(first), 0, MAX_BACKOFF_MS)
    factor, jitter = 1.0, False
    for part in rest:
        if found := re.fullmatch(rf"[x×]({NUMBER})", part):
            factor = check_range("the factor of a back-off", float(found[1]), 1, MAX_FACTOR)
        elif part == "jitter":
            jitter = True
        else:
            raise UsageError(f"'{part}' is no part of a back-off", "TIME[,xFACTOR][,jitter]: 50ms,x2,jitter")
    return Backoff(first_ms, factor, jitter)


def _parse_percent(text: str, what: str) -> float:
    found = re.fullmatch(rf"({NUMBER})\s*%", text.strip())
    if found is None:
        raise UsageError(f"'{text}' is not a percentage", "for example 10%")
    return check_range(f"{what} in %", float(found[1]), 0, 1000)


def parse_retry_budget(text: str) -> float | None:
    """Parse `10%`, or off. Raises UsageError for anything else."""
    return None if text.strip() == OFF else _parse_percent(text, "the retry budget")


def format_retry_budget(percent: float | None) -> str:
    return OFF if percent is None else f"{plain_number(percent)}%"


def parse_breaker(text: str) -> Breaker | None:
    """Parse `50%,5s`, or off. Raises UsageError for anything else."""
    if text.strip() == OFF:
        return None
    percent, comma, time = text.partition(",")
    if not comma:
        raise UsageError(
            f"'{text}' is not a breaker", "a share that fails, and how long it stays open: 50%,5s"
        )
    share = check_range("the share of a breaker in %", _parse_percent(percent, "the breaker"), 1, 100)
    seconds = check_range("the time of a breaker", parse_duration(time), 0.001, MAX_BREAKER_SECONDS)
    return Breaker(share, seconds)


def format_breaker(breaker: Breaker | None) -> str:
    return OFF if breaker is None else str(breaker)
