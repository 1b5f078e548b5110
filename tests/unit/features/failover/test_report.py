"""The report of failovers: its sentences, its table, and its four formats."""

import json

import msgspec
import pytest

from tests.unit.features.failover.failover_examples import KNOWN, NONE, failover, report
from tuibench.base.errors import UsageError
from tuibench.features.failover.modes import Mode, parse_modes
from tuibench.features.failover.text import FORMATS, failover_line, failover_text


def test_a_failover_is_one_line() -> None:
    strange = msgspec.structs.replace(NONE, unexplained=2)
    assert failover_line(failover("async", 1, 1000.0, commits=strange, phantoms=1)) == (
        "1,000 TPS; lost: 0 acknowledged commits; 1 phantom; 4 of unknown fate, 1 of them committed; "
        "2 committed without a COMMIT; the old source has 3 errant transactions; 0.8 s without a commit"
    )
    assert failover_line(KNOWN.failovers[4]).endswith("1,200 commits without a replica; no commit any more")


def rows(text: str, title: str) -> dict[str, str]:
    """The rows of a section's table, by mode."""
    lines = text.partition(f"{title}\n")[2].splitlines()[1:]
    found = ((line.split()[0], " ".join(line.split()[1:])) for line in lines[: lines.index("")])
    return {mode: values for mode, values in found if mode in set(Mode)}


def test_the_tables_have_throughput_beside_loss_and_fit_a_small_terminal() -> None:
    text = failover_text(KNOWN, "text")
    assert rows(text, "Gain and loss") == {
        "async": "1,000 1.00 23 (16–30) 22 (14–30) 8 (2)",
        "semisync": "400 0.40 45 (0–90) 0 8 (2)",
        "semisync-after-commit": "500 0.50 0 6 (5–7) 8 (2)",
    }
    assert rows(text, "The old source and the outage") == {
        "async": "26 (20–31) 6 (+3) 0.8 1.2",
        "semisync": "3 600 (0–1,200) 1 never 1.2",
        "semisync-after-commit": "6 (5–8) 0 1 0.8 1.2",
    }
    tables = [line for line in text.splitlines() if line.startswith("  ") and ":" not in line]
    assert max(map(len, tables)) < 80
    assert max(map(len, text.splitlines())) <= 120


def test_the_sentences_say_what_a_mode_loses_and_what_that_proves() -> None:
    text = failover_text(KNOWN, "text")
    for line in (
        "async: lost: 30 acknowledged commits (0.025 s), the most of 2 failovers",
        "async: 2 of 2 failovers; at least 22.4 % of failovers lose something",
        "semisync: 0.40 × the TPS, lost: 90 acknowledged commits (0.5 s), the most of 2 failovers",
        "semisync: the semi-sync timeout passed in 1 of 2: 1,200 commits acknowledged without a replica, as"
        " in async",
        "semisync-after-commit: 0 of 2 failovers; at most 77.6 % of failovers lose something",
        "semisync-after-commit: others had read commits that are gone and were never acknowledged, in 2 of 2;"
        " up to 7",
    ):
        assert f"{line}\n" in text
    assert "6 of 7" in text
    assert "async: others" not in text, "its phantoms were acknowledged, so they are lost commits"


def test_lag_is_said_and_that_a_group_has_none() -> None:
    assert "they receive everything 0.02 s late (--lag)\n" in failover_text(KNOWN, "text")
    grouped = report(failover("async", 1, 9.0), failover("group", 1, 5.0))
    assert "0.02 s late (--lag), but not in a group\n" in failover_text(grouped, "text")
    prompt = msgspec.structs.replace(KNOWN, lag_seconds=0.0)
    assert "none but their own\n" in failover_text(prompt, "text")


def test_the_report_says_how_the_source_died() -> None:
    killed = failover_text(KNOWN, "text")
    cut = failover_text(msgspec.structs.replace(KNOWN, is_power_loss=True), "text")
    assert "Tried: SIGKILL of the source's process" in killed
    assert "Tried: a loss of power of the source's disk" in cut
    assert "SIGKILL" not in cut


def test_every_format_has_every_failover() -> None:
    assert set(FORMATS) == {"text", "markdown", "html", "json"}
    markdown, page = failover_text(KNOWN, "markdown"), failover_text(KNOWN, "html")
    assert markdown.count("| async |") == page.count("async</td>") == 4
    assert len(json.loads(failover_text(KNOWN, "json"))["failovers"]) == 6


def test_modes_are_read_in_their_order() -> None:
    assert parse_modes("group, async") == (Mode.GROUP, Mode.ASYNC)
    for text, words in (("async,async", "given twice"), ("sync", "one of async, semisync"), ("", "commas")):
        with pytest.raises(UsageError, match=words):
            parse_modes(text)
