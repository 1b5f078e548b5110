"""The report of crashes: its sentences, its table, and its four formats."""

import json

import msgspec
import pytest

from tests.validation import check_valid
from tuibench.crash.ledger import BinlogAgreement, CommitFates, Crash, CrashReport
from tuibench.crash.runner import crash_order
from tuibench.crash.text import FORMATS, crash_line, crash_text, loss_text
from tuibench.model.sweep import SweepVariant

NONE = CommitFates(acknowledged=1200, lost=0, lost_seconds=0.0, unknown=2, unknown_committed=1, unexplained=0)
AGREES = BinlogAgreement(only_in_binlog=0, only_in_tables=0)


def crash(setting: str, repeat: int, tps: float, fates: CommitFates = NONE, **changes: object) -> Crash:
    found = Crash(
        setting=setting,
        repeat=repeat,
        values={"innodb_flush_log_at_trx_commit": setting.partition("=")[2], "sync_binlog": "1"},
        tps=tps,
        ledger_share=0.04,
        commits=fates,
        accepts_seconds=1.25,
        first_commit_seconds=1.3,
        recovered_seconds=2.75,
        binlog=AGREES,
    )
    return msgspec.structs.replace(found, **changes)


def losing(lost: int, seconds: float) -> CommitFates:
    return msgspec.structs.replace(NONE, lost=lost, lost_seconds=seconds)


SAFE, FAST = "innodb_flush_log_at_trx_commit=1", "innodb_flush_log_at_trx_commit=0"


def report(*crashes: Crash) -> CrashReport:
    return CrashReport(
        server="MariaDB 10.11.19",
        profile="oltp_write_only",
        data="4 × 100,000 rows",
        threads=8,
        seconds=5.0,
        limited="",
        seed=3,
        planned=6,
        crashes=crashes,
    )


KNOWN = report(
    crash(SAFE, 1, 400.0),
    crash(FAST, 1, 1000.0, losing(147, 0.94), binlog=BinlogAgreement(only_in_binlog=147, only_in_tables=0)),
    crash(FAST, 2, 1400.0, losing(12, 0.013), recovered_seconds=None),
    crash(SAFE, 2, 600.0),
    crash(FAST, 3, 1200.0, losing(90, 0.5)),
)


@pytest.mark.parametrize(
    ("fates", "words"),
    [
        (NONE, "lost: 0 acknowledged commits"),
        (losing(1, 0.02), "lost: 1 acknowledged commit (0.02 s)"),
        (losing(2147, 0.94), "lost: 2,147 acknowledged commits (0.94 s)"),
    ],
)
def test_a_loss_is_one_sentence(fates: CommitFates, words: str) -> None:
    assert loss_text(crash(FAST, 1, 1000.0, fates)) == words


def test_a_crash_is_one_line() -> None:
    strange = msgspec.structs.replace(losing(5, 0.1), unexplained=2)
    assert crash_line(crash(FAST, 1, 1000.0, strange, recovered_seconds=None)) == (
        "1,000 TPS; lost: 5 acknowledged commits (0.1 s); 2 of unknown fate, 1 of them committed; "
        "2 committed without a COMMIT; accepts connections after 1.2 s; 90 % of the TPS not reached"
    )


def test_the_table_has_gain_beside_loss() -> None:
    lines = crash_text(KNOWN, "text").splitlines()
    rows = {line.split()[0]: " ".join(line.split()[1:]) for line in lines if line.startswith("  innodb")}
    assert rows[SAFE] == "500 1.00 0 0 4 (2) 1.2 1.3 2.8 agrees"
    assert rows[FAST] == "1,200 2.40 90 (12–147) 0.5 (0.0–0.9) 6 (3) 1.2 1.3 2.8 147 more"
    assert max(map(len, lines)) <= 140


def test_the_sentences_name_the_worst_and_what_was_tried() -> None:
    text = crash_text(KNOWN, "text")
    assert f"{SAFE}: lost: 0 acknowledged commits in 2 crashes\n" in text
    assert f"{FAST}: lost: 147 acknowledged commits (0.94 s), the most of 3 crashes\n" in text
    assert "Tried: SIGKILL" in text
    assert "Not tried: a loss of power" in text
    assert "5 of 6" in text


def test_a_replica_that_is_ahead_or_behind_has_to_be_set_up_anew() -> None:
    behind = report(crash(SAFE, 1, 1.0, binlog=BinlogAgreement(only_in_binlog=0, only_in_tables=1)))
    assert f"{FAST}: the tables lost 147 transactions of the binary log" in crash_text(KNOWN, "text")
    assert f"{SAFE}: the binary log lacks 1 transaction of the tables" in crash_text(behind, "text")
    assert f"{SAFE}: binary log and tables agree" in crash_text(KNOWN, "text")


def test_without_a_binary_log_the_report_says_why() -> None:
    text = crash_text(report(crash(SAFE, 1, 1.0, binlog=None, binlog_note="off")), "text")
    assert " off\n" in text
    assert "Binary log and replicas" not in text


def test_every_format_has_every_crash() -> None:
    assert set(FORMATS) == {"text", "markdown", "html", "json"}
    markdown, page = crash_text(KNOWN, "markdown"), crash_text(KNOWN, "html")
    assert markdown.count(f"| {FAST} |") == page.count(f"{FAST}</td>") == 4
    assert "<h2>All crashes</h2>" in page
    check_valid("crash", crash_text(KNOWN, "json"))
    assert len(json.loads(crash_text(KNOWN, "json"))["crashes"]) == 5


def test_settings_take_turns_in_alternating_order() -> None:
    variants = [SweepVariant(name=name) for name in "abc"]
    order = [(variant.name, repeat) for variant, repeat in crash_order(variants, 3)]
    assert "".join(name for name, _ in order) == "abccbaabc"
    assert [repeat for _, repeat in order] == [1, 1, 1, 2, 2, 2, 3, 3, 3]
