"""What a black box shows: causes, order, lanes, and what strangers write."""

import gzip
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from tuibench.base.document import write_text
from tuibench.base.errors import RunError, UsageError
from tuibench.features.blackbox.diagnosis import Cause, LaneState, diagnose, lanes
from tuibench.features.blackbox.frames import (
    BlackBox,
    Frame,
    SampleFigures,
    SessionRow,
    box_numbers,
    innodb_excerpt,
    read_box,
    write_box,
)
from tuibench.features.blackbox.page import blocks, page
from tuibench.features.blackbox.sampler import SEPARATOR, SampledRows, frame_of, thread_states
from tuibench.model.event import Trouble, TroubleKind
from tuibench.model.server import Flavour, LockKind, LockWait, OpenTransaction
from tuibench.observe.kept_files import KeptFiles

START, END = 100.0, 104.0
EVIL = "x\x1b[2J<script>alert(1)</script>\u202e"


def row(id: int, command: str = "Query", state: str = "", statement: str = "", at: float = 0.1) -> SessionRow:
    return SessionRow(id, command, round(1000 * at), state, statement, "app", f"web{id}:4711")


def wait(waiting: int, blocking: int, kind: LockKind = LockKind.ROW) -> LockWait:
    return LockWait(
        waiting=waiting, blocking=blocking, waiting_is_ours=True, blocking_is_ours=False,
        table="db.t", seconds=1, waiting_statement="UPDATE t", blocking_statement="",
        kind=kind,
    )  # fmt: skip


def box(of: Callable[[float], Frame], *, since: float = 60.0, flavour: Flavour = Flavour.MARIADB) -> BlackBox:
    """Readings every 0.2 s from `since` to 110 s."""
    times = [since + 0.2 * number for number in range(round((110 - since) / 0.2))]
    return BlackBox(
        number=1, flavour=flavour, reasons=("stall of 4.0 s",),
        troubles=(Trouble(TroubleKind.STALL, START, END),), start_seconds=START, end_seconds=END,
        frames=tuple(replace(of(at), at_seconds=at) for at in times),
    )  # fmt: skip


def frame(*sessions: SessionRow, **known: object) -> Frame:
    return Frame(at_seconds=0.0, sessions=sessions, connections=len(sessions), **known)  # type: ignore[arg-type]


def within(at: float) -> bool:
    return START <= at < END


def idle_holder(at: float) -> Frame:
    """41 begins at 97.3 s; 8 and 9 wait for it, 7 waits for 8."""
    if at < 97.3:
        return frame(row(41, "Sleep", at=at - 60), row(8), row(9))
    holder = row(41, "Sleep", at=at - 97.5)
    if at < 98.3:
        return frame(holder, row(8), row(9))
    opened = OpenTransaction(connection=41, seconds=int(at - 97.3), rows_locked=3, rows_changed=3)
    if not within(at):
        return frame(holder, row(8), row(9), transactions=(opened,))
    waits = (wait(8, 41), wait(9, 41), wait(7, 8))
    return frame(holder, row(7), row(8), row(9), transactions=(opened,), waiting=(7, 8, 9), waits=waits)


def test_the_root_of_row_locks_is_the_one_that_does_not_wait() -> None:
    found = diagnose(box(idle_holder))
    assert (found.cause, found.connection, found.blocked) == (Cause.ROW_LOCK, 41, 3)
    assert "idle in its transaction since 2." in found.text
    assert "app@web41" in found.text
    assert found.first == "connection 41 (app@web41) begins a transaction"
    assert 96.3 <= found.moments[0].at_seconds <= 97.4
    texts = [each.text for each in found.moments]
    assert texts[-1] == "commits continue"
    assert [each.at_seconds for each in found.moments] == sorted(each.at_seconds for each in found.moments)


@pytest.mark.parametrize(
    ("state", "cause"), [("Commit", Cause.LOG), ("Updating", Cause.ROW_LOCK), ("User sleep", Cause.ROW_LOCK)]
)
def test_a_lock_that_is_held_by_a_commit_is_the_logs(state: str, cause: Cause) -> None:
    """A slow disk: most of the load waits for the rows of the few that commit."""

    def slow(at: float) -> Frame:
        holder = row(41, state=state, statement="UPDATE t", at=0.1)
        if not within(at):
            return frame(holder, row(8), row(9))
        waiting = [row(id, state="Updating", statement="UPDATE t", at=at - START) for id in (7, 8, 9)]
        waits = tuple(wait(id, 41) for id in (7, 8, 9))
        return frame(holder, *waiting, waiting=(7, 8, 9), waits=waits)

    found = diagnose(box(slow))
    assert (found.cause, found.blocked) == (cause, 3)
    assert found.connection == (0 if cause is Cause.LOG else 41)


def test_the_lanes_show_who_holds_and_who_waits() -> None:
    one = box(idle_holder)
    first, *others = lanes(one, diagnose(one))
    assert first.connection == 41
    assert {each.connection for each in others} == {7, 8, 9}
    middle = next(place for place, each in enumerate(one.frames) if each.at_seconds > 102)
    assert first.states[middle] is LaneState.HOLDS
    assert others[0].states[middle] is LaneState.WAITS
    # The list has transactions only once they are a second old.
    early = next(place for place, each in enumerate(one.frames) if each.at_seconds > 98.0)
    assert first.states[early] is LaneState.HOLDS
    assert first.states[0] is LaneState.IDLE


def stopped(at: float) -> Frame:
    if not within(at):
        return frame(row(8), threads={"sleeping": 20, "running": 2})
    return frame(gap="no answer for 1.0 s", threads={"stopped": 22})


def test_a_stopped_process_is_seen_in_its_threads() -> None:
    found = diagnose(box(stopped))
    assert found.cause is Cause.STOPPED
    assert "22 threads in state T" in found.text


def silent(at: float) -> Frame:
    return frame(gap="lost connection") if within(at) else frame(row(8))


def test_a_server_without_answer_is_told_with_the_reason() -> None:
    found = diagnose(box(silent))
    assert (found.cause, "lost connection" in found.text) == (Cause.NO_ANSWER, True)


def ddl(at: float) -> Frame:
    """5 reads for long; 6 wants to alter the table; 7 to 9 queue behind it."""
    reader = row(5, statement="SELECT slow FROM t", at=at - 90)
    if not within(at):
        return frame(reader, row(7), row(8)) if at > 90 else frame(row(7), row(8))
    state = "Waiting for table metadata lock"
    queue = [row(id, state=state, statement="SELECT 1 FROM t", at=at - START) for id in (7, 8, 9)]
    alter = row(6, state=state, statement="ALTER TABLE t ADD x INT", at=at - 99.9)
    waits = (wait(6, 5, LockKind.METADATA), *(wait(id, 6, LockKind.METADATA) for id in (7, 8, 9)))
    return frame(reader, alter, *queue, waits=waits)


def test_ddl_behind_a_long_statement_names_both() -> None:
    found = diagnose(box(ddl))
    assert (found.cause, found.connection, found.blocked) == (Cause.OTHER_LOCK, 5, 4)
    assert "SELECT slow FROM t" in found.text
    assert "the first in the queue is connection 6 (app@web6): ALTER TABLE" in found.text
    assert "starts SELECT slow" in found.first


def storm(at: float) -> Frame:
    count = 10 if at < 99 else 300
    return replace(frame(*(row(id, statement="SELECT 1") for id in range(10))), connections=count)


def test_a_storm_is_told_with_its_numbers() -> None:
    found = diagnose(box(storm))
    assert (found.cause, found.text) == (Cause.CONNECTIONS, "connections went from 10 to 300")
    assert found.first == found.text


def test_waits_of_a_busy_load_are_not_what_changed_first_in_a_storm() -> None:
    def busy(at: float) -> Frame:
        made = replace(storm(at), waiting=(3,)) if at > 97 else storm(at)
        return replace(made, connections=10 if at < 99 else 300)

    found = diagnose(box(busy))
    assert (found.cause, found.first) == (Cause.CONNECTIONS, "connections went from 10 to 300")


def commits(at: float) -> Frame:
    state = "Commit" if within(at) else ""
    return frame(*(row(id, state=state, statement="COMMIT") for id in range(6)), threads={"in disk wait": 3})


def test_commits_that_wait_for_a_log() -> None:
    found = diagnose(box(commits))
    assert (found.cause, "3 threads of the server in disk wait" in found.text) == (Cause.LOG, True)


def test_a_full_redo_log() -> None:
    one = box(lambda at: frame(row(8, statement="UPDATE t")))
    figures = tuple(
        SampleFigures(float(at), {"checkpoint_age_percent": 97.0 if at > 98 else 40.0})
        for at in range(60, 110)
    )
    found = diagnose(replace(one, figures=figures))
    assert (found.cause, found.first) == (Cause.REDO, "the redo log is 97 % full")


def test_a_purge_that_is_behind() -> None:
    """Executing connections that hold row locks are delayed themselves; an idle one is to blame."""
    figures = tuple(
        SampleFigures(float(at), {"purge_lag_percent": 80.0 if at > 98 else 0.0}) for at in range(60, 110)
    )
    found = diagnose(replace(box(lambda at: frame(row(8, statement="UPDATE t"))), figures=figures))
    assert (found.cause, "innodb_max_purge_lag" in found.text) == (Cause.PURGE, True)
    assert found.first == "innodb_max_purge_lag delays changes 80 % of the time"
    assert diagnose(replace(box(idle_holder), figures=figures)).cause is Cause.ROW_LOCK

    def busy_holder(at: float) -> Frame:
        found = idle_holder(at)
        if round(at * 10) % 3 == 0:
            return found
        rows = tuple(replace(each, command="Query") for each in found.sessions)
        return replace(found, sessions=rows)

    assert diagnose(replace(box(busy_holder), figures=figures)).cause is Cause.PURGE, "seldom idle"


def test_the_same_statement_on_many_connections() -> None:
    def busy(at: float) -> Frame:
        ids = range(20) if within(at) else range(2)
        return frame(*(row(id, state="Sending data", statement="SELECT hot FROM t") for id in ids))

    found = diagnose(replace(box(busy), frames=tuple(replace(f, connections=20) for f in box(busy).frames)))
    assert (found.cause, "20 connections executed the same statement" in found.text) == (
        Cause.SAME_WORK,
        True,
    )


def test_a_lock_without_a_known_holder_is_still_a_lock() -> None:
    def busy(at: float) -> Frame:
        ids = range(20) if within(at) else range(2)
        state = "Waiting for table metadata lock"
        return frame(*(row(id, state=state, statement="SELECT c FROM t") for id in ids))

    found = diagnose(replace(box(busy), frames=tuple(replace(f, connections=20) for f in box(busy).frames)))
    assert (found.cause, found.connection) == (Cause.OTHER_LOCK, 0)
    assert "Waiting for table metadata lock" in found.text


def test_nothing_is_invented() -> None:
    found = diagnose(box(lambda at: frame(row(8))))
    assert (found.cause, found.connection) == (Cause.UNKNOWN, 0)
    assert diagnose(replace(box(silent), frames=())).cause is Cause.UNKNOWN


@pytest.mark.parametrize("planted", [idle_holder, stopped, silent, ddl, storm, commits])
def test_foreign_text_harms_neither_terminal_nor_page(planted: Callable[[float], Frame]) -> None:
    def spoiled(at: float) -> Frame:
        made = planted(at)
        rows = tuple(
            msgspec.structs.replace(each, statement=EVIL, user=EVIL, host=EVIL, state=each.state or EVIL)
            for each in made.sessions
        )
        waits = tuple(msgspec.structs.replace(each, table=EVIL) for each in made.waits)
        return replace(made, sessions=rows, waits=waits, innodb=EVIL)

    one = replace(box(spoiled), reasons=(EVIL,), events=((99.0, EVIL),), gaps=(EVIL,))
    text, html = write_text(blocks(one)), page(one, EVIL)
    for written in (text, html):
        assert "\x1b" not in written
        assert "\u202e" not in written
    assert "<script>alert" not in html


def test_a_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    one = box(idle_holder)
    write_box(tmp_path, one)
    write_box(tmp_path, replace(one, number=12))
    assert box_numbers(tmp_path.iterdir()) == [1, 12]
    assert read_box(tmp_path, 1) == one
    assert read_box(tmp_path).number == 12
    with pytest.raises(UsageError, match="has no black box 3"):
        read_box(tmp_path, 3)


def test_damage_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="has no black box"):
        read_box(tmp_path)
    whole = gzip.compress(msgspec.json.encode(box(idle_holder)))
    for damaged in (b"", whole[:-20], b"x" + whole, gzip.compress(b'{"number": "x"}')):
        (tmp_path / "blackbox-1.json.gz").write_bytes(damaged)
        with pytest.raises(RunError, match="damaged"):
            read_box(tmp_path)


def test_a_record_that_no_session_keeps_is_refused(tmp_path: Path) -> None:
    one = box(idle_holder)
    for strange in (
        replace(one, reasons=()),
        replace(one, frames=one.frames[::-1]),
        replace(one, start_seconds=1e17),
        replace(one, events=((-1e12, "x"),)),
    ):
        write_box(tmp_path, strange)
        with pytest.raises(RunError, match=r"is damaged: it"):
            read_box(tmp_path)
    write_box(tmp_path, replace(one, frames=()))
    assert read_box(tmp_path).frames == ()


def test_rows_are_parsed_and_strange_ones_left_out() -> None:
    def line(*parts: object) -> str:
        return SEPARATOR.join(map(str, parts))

    reading = SampledRows(
        1.5,
        (
            line(7, "1234.5", "Query", "updating", "app", "web:1", f"UPDATE t{SEPARATOR}SET x"),
            line("LOCK WAIT", 7, 3, 4, 5),
            line("RUNNING", 9, 30, 1, 0),
            line(8, "x"),
            "",
            "²",
        ),
        load=((7, 7),),
        connections=3,
    )
    made = frame_of(reading)
    assert made.sessions == (
        SessionRow(7, "Query", 1234, "updating", f"UPDATE t{SEPARATOR}SET x", "app", "web:1", True),
    )
    assert [(each.connection, each.seconds, each.is_ours) for each in made.transactions] == [
        (7, 3, True),
        (9, 30, False),
    ]
    assert made.waiting == (7,)


STATUS = """
=====================================
2026-11-28 INNODB MONITOR OUTPUT
=====================================
-----------------
BACKGROUND THREAD
-----------------
srv_master_thread loops: 1
------------
TRANSACTIONS
------------
Trx id counter 12
History list length 99
---TRANSACTION 11, ACTIVE 3 sec
MySQL thread id 5, query id 9 localhost app
UPDATE accounts SET secret = 'hidden'
--------
FILE I/O
--------
Pending flushes (fsync): 1
"""


def test_innodbs_status_is_kept_without_statements() -> None:
    kept = innodb_excerpt(STATUS)
    assert "History list length 99" in kept
    assert "Pending flushes" in kept
    assert "hidden" not in kept


def test_the_threads_of_a_process_by_state(tmp_path: Path) -> None:
    for tid, state in ((10, "R"), (11, "S"), (12, "T"), (13, "D")):
        folder = tmp_path / "7" / "task" / str(tid)
        folder.mkdir(parents=True)
        (folder / "stat").write_text(f"{tid} (a) b) {state} 1 1")
    files = KeptFiles()
    for _ in range(2):
        found = thread_states(7, files, str(tmp_path))
        assert found == {"running": 1, "sleeping": 1, "stopped": 1, "in disk wait": 1}
    assert thread_states(8, files, str(tmp_path)) is None
