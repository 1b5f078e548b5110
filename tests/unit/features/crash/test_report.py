"""The report of crashes: its sentences, its table, and its four formats."""

import json

import msgspec
import pytest

from tests.unit.features.crash.crash_examples import FAST, KNOWN, NONE, SAFE, crash, losing, report
from tuibench.features.crash.runner import crash_order
from tuibench.features.crash.text import FORMATS, crash_line, crash_text, loss_text, proof_text
from tuibench.model.findings import BinlogAgreement, CommitFates
from tuibench.model.sweep import SweepVariant


@pytest.mark.parametrize(
    ("fates", "words"),
    [
        (NONE, "lost: 0 acknowledged commits"),
        (losing(1, 0.02), "lost: 1 acknowledged commit (0.02 s)"),
        (losing(2147, 0.94), "lost: 2,147 acknowledged commits (0.94 s)"),
    ],
)
def test_a_loss_is_one_sentence(fates: CommitFates, words: str) -> None:
    assert loss_text(fates) == words


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


def test_the_sentences_name_the_worst() -> None:
    text = crash_text(KNOWN, "text")
    assert f"{SAFE}: lost: 0 acknowledged commits\n" in text
    assert f"{SAFE}: 0 of 2 crashes; at most 77.6 % of crashes lose something\n" in text
    assert f"{FAST}: 2.40 × the TPS, lost: 147 acknowledged commits (0.94 s), the most of 3 crashes\n" in text
    assert f"{FAST}: 3 of 3 crashes; at least 36.8 % of crashes lose something\n" in text
    assert "5 of 6" in text


@pytest.mark.parametrize(
    ("losing_crashes", "crashes", "words"),
    [
        (0, 1, "0 of 1 crash; at most 95.0 % of crashes lose something"),
        (0, 5, "0 of 5 crashes; at most 45.1 % of crashes lose something"),
        (0, 30, "0 of 30 crashes; at most 9.5 % of crashes lose something"),
        (30, 30, "30 of 30 crashes; at least 90.5 % of crashes lose something"),
        (28, 30, "28 of 30 crashes; 77.9 % to 99.2 % of crashes lose something"),
    ],
)
def test_crashes_are_counted_with_what_they_prove(losing_crashes: int, crashes: int, words: str) -> None:
    assert proof_text(losing_crashes, crashes) == words


def test_a_setting_that_a_kill_does_not_test_says_so() -> None:
    relaxed = "innodb_flush_log_at_trx_commit=2"
    tried = report(crash(SAFE, 1, 400.0), crash(relaxed, 1, 600.0))
    untried = "a loss of power (--power) was not tried"
    assert f"{relaxed}: 1.50 × the TPS, lost: 0 acknowledged commits; {untried}\n" in crash_text(
        tried, "text"
    )
    assert untried not in crash_text(msgspec.structs.replace(tried, is_power_loss=True), "text")
    assert untried not in crash_text(report(crash(SAFE, 1, 400.0)), "text")


def test_the_report_says_which_of_the_two_was_tried() -> None:
    killed = crash_text(KNOWN, "text")
    cut = crash_text(msgspec.structs.replace(KNOWN, is_power_loss=True), "text")
    assert "Tried: SIGKILL" in killed
    assert "Not tried: a loss of power" in killed
    assert "Tried: a loss of power" in cut
    assert "Not shown: direct writes without a flush survive (innodb_flush_method=O_DIRECT)" in cut
    assert "Not shown" not in killed
    assert "SIGKILL" not in cut


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
    assert len(json.loads(crash_text(KNOWN, "json"))["crashes"]) == 5


def test_settings_take_turns_in_alternating_order() -> None:
    variants = [SweepVariant(name=name) for name in "abc"]
    order = [(variant.name, repeat) for variant, repeat in crash_order(variants, 3)]
    assert "".join(name for name, _ in order) == "abccbaabc"
    assert [repeat for _, repeat in order] == [1, 1, 1, 2, 2, 2, 3, 3, 3]
