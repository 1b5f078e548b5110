"""What held the server up, and what changed first: conclusions from the readings of a black box.

The cause is the first of these that explains the time:

1. the server's process is stopped, or has ended;
2. a delay of all changes inside InnoDB: purge is behind, the redo log is full; not if the connection at the
   root of locks is idle, because one that executes may wait for this itself;
3. a lock, of a row or of a table or the server: the connection at the root, which does not wait itself; the
   log, if that connection waits for it in its commit;
4. many more connections than before; before the locks, if only few of them wait for one;
5. commits that wait for a log, slow writes;
6. many connections that do the same thing.

Who holds what is read by `observe.lock_waits`; where that infers the holder, the text says *probably*.
"""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from enum import StrEnum
from functools import cached_property
from itertools import groupby
from statistics import median
from typing import NamedTuple

import msgspec

from tuibench.base.units import pluralize, shorten
from tuibench.features.blackbox.frames import BlackBox, Frame, SessionRow
from tuibench.metrics.lock_graph import lock_graph
from tuibench.metrics.stalls import FULL_PERCENT, PURGE_SHARE, innodb_delay
from tuibench.metrics.wait_classes import ObservedConnection, WaitClass, wait_of
from tuibench.model.event import TroubleKind
from tuibench.model.server import LockKind, LockWait, OpenTransaction

LEAST_SHARE = 0.3
"""A cause is seen in at least this share of the readings of the time."""
BY_HAND_SECONDS, BY_HAND_SHARE = 20.0, 0.1
"""Without a trouble, the cause is looked for in this time before the request; it may be over by then."""
STORM_FACTOR, STORM_CONNECTIONS = 1.5, 15
"""Connections are a storm if they are so many times the usual number, and so many more."""
FLOOD_FACTOR = 3.0
"""A storm with so many more new connections than waiting ones is a cause and no result of their waits."""
SLOW_FACTOR, SLOW_MS = 4.0, 5.0
LOG_TEXT = "commits waited for the redo log or the binary log to be written"
STATEMENT_CHARACTERS = 90
MOST_LANES = 24


class Cause(StrEnum):
    """What held the server up."""

    STOPPED = "stopped"
    NO_ANSWER = "no answer"
    ROW_LOCK = "row lock"
    OTHER_LOCK = "other lock"
    CONNECTIONS = "connections"
    LOG = "log"
    REDO = "redo"
    PURGE = "purge"
    DISK = "disk"
    SAME_WORK = "same work"
    UNKNOWN = "unknown"


class Moment(msgspec.Struct, frozen=True):
    """Something that changed."""

    at_seconds: float
    text: str
    connection: int = 0
    """0 if it is about no single connection."""


class Diagnosis(msgspec.Struct, frozen=True, kw_only=True):
    """The conclusions."""

    cause: Cause
    text: str
    connection: int = 0
    """The connection at the root; 0 if there is none."""
    is_certain: bool = True
    """False if the holder of a lock is inferred."""
    blocked: int = 0
    """The most connections that waited at one moment."""
    first: str = ""
    """What changed first."""
    moments: tuple[Moment, ...] = ()
    """What changed, in the order of time."""


class LaneState(StrEnum):
    """What a connection does in a lane."""

    WAITS = "waits"
    RUNS = "runs"
    HOLDS = "holds"
    """Idle in an open transaction."""
    IDLE = "idle"
    ABSENT = "absent"
    """Not in the list: it does not exist, or is idle and one of the load."""
    UNKNOWN = "unknown"
    """The server did not answer."""


class Lane(NamedTuple):
    """A connection over the whole time."""

    connection: int
    name: str
    states: tuple[LaneState, ...]
    """For each frame."""
    statement: str
    """The latest statement that was seen."""


class Look:
    """A black box with what is derived of its readings."""

    def __init__(self, box: BlackBox) -> None:
        self.box = box
        self.frames = box.frames
        self.answered = [frame for frame in box.frames if not frame.gap]
        is_by_hand = not box.troubles
        self.least_share = BY_HAND_SHARE if is_by_hand else LEAST_SHARE
        self.start = box.start_seconds - (BY_HAND_SECONDS if is_by_hand else 0.0)
        self.end = max(box.end_seconds, self.start + 0.5)
        inside = [frame for frame in self.answered if self.start - 0.5 <= frame.at_seconds <= self.end]
        self.inside = inside or [
            frame for frame in self.answered if self.start - 3 <= frame.at_seconds <= self.end + 3
        ]
        self._rows: dict[int, SessionRow] = {}
        for frame in self.answered:
            for row in frame.sessions:
                self._rows[row.id] = row

    @cached_property
    def by_id(self) -> list[dict[int, SessionRow]]:
        """The rows of each frame by connection."""
        return [{row.id: row for row in frame.sessions} for frame in self.frames]

    def name(self, connection: int) -> str:
        """`connection 41 app@web3`."""
        row = self._rows.get(connection)
        if row is None or not row.user:
            return f"connection {connection}"
        host = row.host.rpartition(":")[0] or row.host
        who = f"{row.user}@{host}" if host else row.user
        return f"connection {connection} ({'the load, ' if row.is_ours else ''}{who})"

    def named_wait(self, row: SessionRow) -> bool:
        """True if the process list says that a connection waits for a lock other than that of a row."""
        seen = ObservedConnection(row.command, row.state)
        return wait_of(seen, self.box.flavour) is WaitClass.METADATA_LOCK

    def waiters(self, frame: Frame) -> dict[int, str]:
        """The connections that wait for a lock, and for which."""
        found = {
            wait.waiting: f"a {wait.kind}{' of ' * bool(wait.table)}{wait.table}" for wait in frame.waits
        }
        found |= {id: "a row lock" for id in frame.waiting if id not in found}
        for row in frame.sessions:
            if row.id not in found and self.named_wait(row):
                found[row.id] = row.state
        return found

    def last_statement(self, connection: int, until: float) -> str:
        """The latest statement of a connection that was seen; empty if none was."""
        for frame in reversed(self.answered):
            if frame.at_seconds <= until:
                row = next((row for row in frame.sessions if row.id == connection), None)
                if row is not None and row.statement:
                    return row.statement
        return ""

    def transaction(self, connection: int, frame: Frame) -> OpenTransaction | None:
        return next((each for each in frame.transactions if each.connection == connection), None)

    @cached_property
    def open_times(self) -> dict[int, list[tuple[float, float]]]:
        """The times in which each connection had an open transaction: a reading that lists one also says
        since when.
        """
        found: dict[int, list[tuple[float, float]]] = {}
        for frame in self.answered:
            for each in frame.transactions:
                span = frame.at_seconds - each.seconds, frame.at_seconds
                found.setdefault(each.connection, []).append(span)
        return found

    def transaction_start(self, connection: int) -> float | None:
        """When the transaction of a connection began that is open in the time: the server reports whole
        seconds, so the readings bound it from both sides.
        """
        bounds = [
            frame.at_seconds - each.seconds
            for frame in self.inside
            if (each := self.transaction(connection, frame)) is not None
        ]
        return min(bounds, default=None)


def diagnose(box: BlackBox) -> Diagnosis:
    """The conclusions from a black box."""
    look = Look(box)
    moments = list(_moments_of_all(look))
    found = next(
        (
            cause
            for judge in (_stopped, _flood, _delay, _locks, _storm, _silent, _log, _same_work, _unheld_locks)
            if (cause := judge(look))
        ),
        None,
    )
    if found is None:
        text = "the readings do not show what held the server up"
        found = _Found(Diagnosis(cause=Cause.UNKNOWN, text=text), [])
    begun = min((each.at_seconds for each in found.moments), default=-math.inf)
    is_lock = found.diagnosis.cause in (Cause.ROW_LOCK, Cause.OTHER_LOCK)
    # Connections of a busy load wait for each other at any time: that is no news before another cause.
    moments += [each for each in _first_to_wait(look) if is_lock or each.at_seconds >= begun]
    root = found.diagnosis.connection
    moments = sorted(
        {*moments, *found.moments}, key=lambda each: (each.at_seconds, not root or each.connection != root)
    )
    first = next((each.text for each in moments), "")
    return msgspec.structs.replace(found.diagnosis, first=first, moments=tuple(moments))


class _Found(NamedTuple):
    diagnosis: Diagnosis
    moments: list[Moment]
    added: float = 0.0
    """How many connections more than usual there are in a storm."""


def _moments_of_all(look: Look) -> Iterator[Moment]:
    """The beginning and the end of what went wrong, and what everybody sees."""
    words = {
        TroubleKind.STALL: ("commits stop", "commits continue"),
        TroubleKind.OUTAGE: ("the server stops answering", "the server answers again"),
        TroubleKind.GUARD: ("the guard is broken", ""),
        TroubleKind.LIMIT: ("a limit is crossed", ""),
    }
    for trouble in look.box.troubles:
        begins, ends = words[trouble.kind]
        yield Moment(trouble.start_seconds, begins)
        if ends and trouble.end_seconds > trouble.start_seconds:
            yield Moment(trouble.end_seconds, ends)
    for key, level, words_of in (
        ("checkpoint_age_percent", FULL_PERCENT, "the redo log is {:.0f} % full"),
        ("purge_lag_percent", 100 * PURGE_SHARE, "innodb_max_purge_lag delays changes {:.0f} % of the time"),
        ("throttled", 20.0, "the server's control group is throttled {:.0f} % of the time"),
    ):
        for figures in look.box.figures:
            value = figures.values.get(key, 0.0)
            if value >= level and figures.at_seconds >= look.start - 30:
                yield Moment(figures.at_seconds, words_of.format(value))
                break


def _first_to_wait(look: Look) -> Iterator[Moment]:
    """The first of the connections that waited for long, from the beginning of that wait."""
    if waiting := _waiting_since(look):
        connection = min(waiting, key=lambda id: waiting[id])
        frame = next(frame for frame in look.answered if frame.at_seconds == waiting[connection])
        what = _what(look.waiters(frame)[connection])
        yield Moment(waiting[connection], f"{look.name(connection)} is the first to wait: {what}", connection)


def _what(state: str) -> str:
    """The lock that a state names: Waiting for table metadata lock."""
    return state[:1].lower() + state[1:] if state.startswith("Waiting") else state


# 1. The process


def _stopped(look: Look) -> _Found | None:
    near = [
        frame
        for frame in look.frames
        if look.start - 3 <= frame.at_seconds <= look.end + 1 and frame.threads is not None
    ]
    stopped = [
        frame
        for frame in near
        if frame.threads and 2 * frame.threads.get("stopped", 0) > sum(frame.threads.values())
    ]
    if not stopped:
        return None
    most = max(frame.threads.get("stopped", 0) for frame in stopped if frame.threads)
    at = _silent_since(look, stopped[0].at_seconds)
    text = (
        f"the server's process was stopped: {pluralize(most, 'thread')} in state T, by a signal (SIGSTOP) "
        "or a debugger"
    )
    moment = Moment(at, f"the server's process is stopped: {pluralize(most, 'thread')} in state T")
    return _Found(Diagnosis(cause=Cause.STOPPED, text=text), [moment])


def _silent_since(look: Look, at: float) -> float:
    """The end of the last answer before a time."""
    silent = [frame.at_seconds for frame in look.frames if frame.gap and frame.at_seconds <= at]
    first = at
    for seconds in reversed(silent):
        if any(seconds < frame.at_seconds < first for frame in look.answered):
            break
        first = seconds
    return first


def _silent(look: Look) -> _Found | None:
    silent = [frame for frame in look.frames if frame.gap and look.start - 3 <= frame.at_seconds <= look.end]
    if not silent or len(silent) < look.least_share * (len(look.inside) + len(silent)):
        return None
    reasons = Counter(frame.gap for frame in silent).most_common(1)
    text = f"the server did not answer: {reasons[0][0]}"
    moment = Moment(silent[0].at_seconds, f"the server does not answer: {silent[0].gap}")
    return _Found(Diagnosis(cause=Cause.NO_ANSWER, text=text), [moment])


# 2. Delays inside InnoDB


def _delay(look: Look) -> _Found | None:
    figures = [each.values for each in look.box.figures if look.start - 2 <= each.at_seconds <= look.end + 1]
    purge = max((each.get("purge_lag_percent", 0.0) for each in figures), default=0.0) / 100
    age = max((each.get("checkpoint_age_percent", 0.0) for each in figures), default=0.0)
    text = innodb_delay(purge, age)
    root = next(iter(_roots(look)), None)
    # A connection that works, too, is idle in a reading now and then.
    is_idle = [
        row.command == "Sleep"
        for frame in look.inside
        for row in frame.sessions
        if root is not None and row.id == root.connection
    ]
    if not text or (is_idle and sum(is_idle) >= len(is_idle) / 2):
        return None
    cause = Cause.PURGE if purge >= PURGE_SHARE else Cause.REDO
    return _Found(Diagnosis(cause=cause, text=text), [])


# 3. Locks


class _Root(NamedTuple):
    connection: int
    score: int
    """Readings × blocked connections."""
    wait: LockWait
    """The first wait for it."""
    is_probable: bool
    since_seconds: float


def _roots(look: Look) -> list[_Root]:
    """The connections that others wait for in a good part of the time and that do not wait themselves, the
    one that blocks most first.
    """
    score: Counter[int] = Counter()
    times: Counter[int] = Counter()
    certain: Counter[int] = Counter()
    first: dict[int, tuple[LockWait, float]] = {}
    read = [frame for frame in look.inside if frame.waits]
    for frame in read:
        for root in lock_graph(frame.waits):
            score[root.id] += len(root.branches)
            times[root.id] += 1
            certain[root.id] += not root.is_probable
            for branch in root.branches:
                if branch.wait.blocking == root.id:
                    first.setdefault(root.id, (branch.wait, frame.at_seconds))
    return [
        _Root(id, points, first[id][0], not certain[id], first[id][1])
        for id, points in score.most_common()
        if id in first and times[id] >= look.least_share * len(read)
    ]


def _locks(look: Look) -> _Found | None:
    """The lock that connections wait for, with the connection at its root."""
    blocked = _blocked(look)
    if not blocked:
        return None
    roots = _roots(look)
    if not roots:
        return None
    root = roots[0]
    wait, is_row = root.wait, root.wait.kind is LockKind.ROW
    if is_row and _commits(look, root.connection):
        text = f"{LOG_TEXT}; {pluralize(blocked, 'connection')} waited for the row locks of such commits"
        return _Found(Diagnosis(cause=Cause.LOG, text=text, blocked=blocked), [])
    waiting = _waiting_since(look)
    since = min([root.since_seconds, *waiting.values()])
    moments, words = _account(look, root.connection, since)
    of = f" of {wait.table}" if wait.table else ""
    held = "probably held" if root.is_probable else "held"
    what = "row locks" if is_row else f"a {wait.kind}"
    queue = next(
        (
            id
            for id in sorted(waiting, key=lambda id: waiting[id])
            if not is_row and any(each.blocking == id for frame in look.inside for each in frame.waits)
        ),
        0,
    )
    behind = ""
    if queue:
        said = shorten(look.last_statement(queue, look.end), STATEMENT_CHARACTERS)
        behind = f"; the first in the queue is {look.name(queue)}: {said}"
        moments.append(Moment(waiting[queue], f"{look.name(queue)} waits for {what}: {said}", queue))
    text = (
        f"{look.name(root.connection)} {held} {what}{of}{words}: {pluralize(blocked, 'connection')} waited"
        f"{behind}"
    )
    return _Found(
        Diagnosis(
            cause=Cause.ROW_LOCK if is_row else Cause.OTHER_LOCK,
            text=text,
            connection=root.connection,
            is_certain=not root.is_probable,
            blocked=blocked,
        ),
        moments,
    )


def _commits(look: Look, connection: int) -> bool:
    """True if a connection is seen in its commit, waiting for a log, most of the time that others wait."""
    classes = [
        wait_of(ObservedConnection(row.command, row.state), look.box.flavour)
        for frame in look.inside
        if frame.waits
        for row in frame.sessions
        if row.id == connection
    ]
    return 2 * sum(each in (WaitClass.COMMIT, WaitClass.BINARY_LOG) for each in classes) > len(classes)


def _waiting_since(look: Look) -> dict[int, float]:
    """When each connection that waited for long began to, as the readings show it."""
    waiting = [(frame.at_seconds, look.waiters(frame)) for frame in look.answered]
    inside = [now for at, now in waiting if look.start - 0.5 <= at <= look.end]
    counts = Counter(id for now in inside for id in now)
    lasting = {id for id, count in counts.items() if count >= max(2, look.least_share * len(inside))}
    found: dict[int, float] = {}
    for at, now in reversed(waiting):
        if at > look.end:
            continue
        for id in [*lasting]:
            if id in now:
                found[id] = at
            elif id in found and at < look.start:
                lasting.discard(id)
    return found


def _blocked(look: Look) -> int:
    """The most connections that waited for locks at one moment; 0 if none waited for long."""
    waiting = [look.waiters(frame) for frame in look.inside]
    lasting = Counter(id for now in waiting for id in now)
    is_long = max(lasting.values(), default=0) >= look.least_share * len(waiting)
    return max(map(len, waiting)) if waiting and is_long else 0


def _unheld_locks(look: Look) -> _Found | None:
    """Locks with changing holders, or unknown ones."""
    if not (blocked := _blocked(look)):
        return None
    text = f"{pluralize(blocked, 'connection')} waited for locks, and no single connection held them"
    return _Found(Diagnosis(cause=Cause.ROW_LOCK, text=text, blocked=blocked), [])


def _account(look: Look, connection: int, at: float) -> tuple[list[Moment], str]:
    """What the holder of a lock did: the moments, and the words that follow its name."""
    frame = next((each for each in look.inside if each.at_seconds >= at), None)
    row = next((each for each in frame.sessions if each.id == connection), None) if frame else None
    begun = look.transaction_start(connection)
    if begun is not None:
        # The server reports whole seconds. It has held the lock since before the first wait.
        begun = max(min(begun, at, look.start), begun - 1)
    statement = shorten(look.last_statement(connection, at), STATEMENT_CHARACTERS)
    moments, words = [], ""
    if begun is not None:
        moments.append(Moment(begun, f"{look.name(connection)} begins a transaction", connection))
        words = f", in a transaction since {_relative(begun, look.start)}"
    if row is not None and row.command == "Sleep":
        ended = frame.at_seconds - row.elapsed_ms / 1000 if frame else at
        of = " in its transaction" if begun is not None else ""
        if begun is None or ended > begun:
            moments.append(Moment(ended, f"{look.name(connection)} goes idle{of}", connection))
        since = words.removeprefix(", in a transaction") or f" since {_relative(ended, look.start)}"
        words = f", idle{of}{since}"
    elif row is not None and row.statement:
        ran = frame.at_seconds - row.elapsed_ms / 1000 if frame else at
        words += f", while it executed {shorten(row.statement, STATEMENT_CHARACTERS)}"
        said = shorten(row.statement, STATEMENT_CHARACTERS)
        moments.append(Moment(ran, f"{look.name(connection)} starts {said}", connection))
        return moments, words
    if statement:
        words += f" (its last statement that was seen: {statement})"
    return moments, words


def _relative(at: float, zero: float) -> str:
    """A time relative to the trouble's beginning."""
    return f"{abs(at - zero):.1f} s {'before' if at <= zero else 'after'} it began"


# 4 to 6


def _flood(look: Look) -> _Found | None:
    """A storm of connections of which few wait for locks, so that it is not the result of a lock."""
    storm = _storm(look)
    waiting = max((len(look.waiters(frame)) for frame in look.inside), default=0)
    return storm if storm is not None and storm.added > FLOOD_FACTOR * waiting else None


def _storm(look: Look) -> _Found | None:
    levels = [(frame.at_seconds, float(frame.connections)) for frame in look.answered]
    levels += [
        (each.at_seconds, each.values["threads_connected"])
        for each in look.box.figures
        if "threads_connected" in each.values
    ]
    levels.sort()
    usual = [level for at, level in levels if at < look.start - 5]
    usual = usual or [level for _, level in levels[: len(levels) // 3]]
    now = [level for at, level in levels if look.start - 5 <= at <= look.end + 1]
    if not usual or not now:
        return None
    base, most = median(usual), max(now)
    if most < STORM_FACTOR * base or most - base < STORM_CONNECTIONS:
        return None
    level = base + 0.3 * (most - base)
    at = next(at for at, connections in levels if connections >= level)
    peak = max(look.answered, key=lambda frame: frame.connections)
    usual_ids = {row.id for frame in look.answered if frame.at_seconds < at for row in frame.sessions}
    who = Counter(
        f"{row.user}@{row.host.rpartition(':')[0] or row.host}"
        for row in peak.sessions
        if row.id not in usual_ids and row.user
    ).most_common(1)
    of = f", most of them of {who[0][0]}" if who else ""
    text = f"connections went from {base:.0f} to {most:.0f}{of}"
    return _Found(Diagnosis(cause=Cause.CONNECTIONS, text=text), [Moment(at, text)], most - base)


def _log(look: Look) -> _Found | None:
    figures = [each.values for each in look.box.figures if look.start - 2 <= each.at_seconds <= look.end + 1]
    before = [each.values for each in look.box.figures if each.at_seconds < look.start - 2]
    busy = Counter(
        wait
        for frame in look.inside
        for row in frame.sessions
        if row.command != "Sleep"
        and (wait := wait_of(ObservedConnection(row.command, row.state), look.box.flavour)) is not None
    )
    logs = busy[WaitClass.COMMIT] + busy[WaitClass.BINARY_LOG]
    disk = max((frame.threads.get("in disk wait", 0) for frame in look.inside if frame.threads), default=0)
    if busy and 2 * logs > busy.total():
        at_disk = f"; {pluralize(disk, 'thread')} of the server in disk wait" if disk else ""
        text = f"{LOG_TEXT}{at_disk}"
        return _Found(Diagnosis(cause=Cause.LOG, text=text), [])
    writes = [each["disk_write_ms"] for each in figures if "disk_write_ms" in each]
    usual = [each["disk_write_ms"] for each in before if "disk_write_ms" in each]
    if writes and usual and max(writes) >= max(SLOW_MS, SLOW_FACTOR * median(usual)):
        text = f"a write to the disk took {max(writes):.0f} ms, {median(usual):.1f} ms before"
        return _Found(Diagnosis(cause=Cause.DISK, text=text), [])
    return None


def _same_work(look: Look) -> _Found | None:
    """Many connections that execute the same statement at the same time, more than before."""

    def counts(frames: Sequence[Frame]) -> dict[str, float]:
        found: Counter[str] = Counter()
        for frame in frames:
            found.update(row.statement for row in frame.sessions if row.command != "Sleep" and row.statement)
        return {text: count / max(len(frames), 1) for text, count in found.items()}

    now = counts(look.inside)
    if not now:
        return None
    usual = counts([frame for frame in look.answered if frame.at_seconds < look.start - 5])
    text, level = max(now.items(), key=lambda each: each[1] - usual.get(each[0], 0.0))
    if level - usual.get(text, 0.0) < 1:
        return None
    states = Counter(
        row.state for frame in look.inside for row in frame.sessions if row.statement == text and row.state
    )
    usual_state = states.most_common(1)[0][0] if states else ""
    state = f" ({usual_state})" if usual_state else ""
    said = shorten(text, STATEMENT_CHARACTERS)
    most = max(
        sum(row.statement == text and row.command != "Sleep" for row in frame.sessions)
        for frame in look.inside
    )
    before = f"{usual.get(text, 0.0):.1f} on average before"
    words = f"{pluralize(most, 'connection')} executed the same statement{state}, {before}: {said}"
    # A short wait may end before the graph of lock waits is read; then its holder is not known.
    is_lock = wait_of(ObservedConnection("Query", usual_state), look.box.flavour) is WaitClass.METADATA_LOCK
    return _Found(Diagnosis(cause=Cause.OTHER_LOCK if is_lock else Cause.SAME_WORK, text=words), [])


# Lanes


def lanes(box: BlackBox, found: Diagnosis) -> list[Lane]:
    """The connection at the root first, then those that waited, the longest first."""
    look = Look(box)
    waiting = [look.waiters(frame) for frame in box.frames]
    waited = Counter(id for now in waiting for id in now)
    chosen = [found.connection] if found.connection else []
    chosen += [id for id, _ in waited.most_common(MOST_LANES) if id != found.connection]
    chosen += [each.connection for each in found.moments if each.connection not in (0, *chosen)]
    return [
        Lane(
            id,
            look.name(id),
            tuple(
                _state(look, frame, rows, now, id)
                for frame, rows, now in zip(box.frames, look.by_id, waiting, strict=True)
            ),
            look.last_statement(id, look.end + 1),
        )
        for id in chosen[:MOST_LANES]
    ]


def _state(
    look: Look, frame: Frame, rows: dict[int, SessionRow], waiting: dict[int, str], connection: int
) -> LaneState:
    row = rows.get(connection)
    if frame.gap:
        return LaneState.UNKNOWN
    if connection in waiting:
        return LaneState.WAITS
    if row is None:
        return LaneState.ABSENT
    if row.command != "Sleep":
        return LaneState.RUNS
    is_open = any(start <= frame.at_seconds <= end for start, end in look.open_times.get(connection, ()))
    return LaneState.HOLDS if is_open else LaneState.IDLE


def spans(lane: Lane) -> Iterator[tuple[LaneState, int, int]]:
    """The states of a lane with their first and last frame."""
    for state, each in groupby(enumerate(lane.states), key=lambda pair: pair[1]):
        places = [place for place, _ in each]
        yield state, places[0], places[-1]
