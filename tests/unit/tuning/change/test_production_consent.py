"""A yes is remembered for its server, and for no other."""

from pathlib import Path

import pytest

from tuibench.errors import TuibenchError
from tuibench.tuning.change.production_consent import (
    CONSENT_OPTION,
    ConsentRecord,
    ProductionConsent,
    ProductionError,
)

YES = ConsentRecord(identity="box:3306:/data/", at=1.0, signs=("a replica",))


def test_a_yes_is_remembered_privately(tmp_path: Path) -> None:
    path = tmp_path / "state" / "servers.jsonl"
    assert not ProductionConsent(path).is_given(YES.identity)
    ProductionConsent(path).give(YES)
    assert ProductionConsent(path).is_given(YES.identity)
    assert not ProductionConsent(path).is_given("box:3307:/data/")
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_broken_line_counts_for_nothing(tmp_path: Path) -> None:
    path = tmp_path / "servers.jsonl"
    path.write_bytes(b'{"identity":"other"\n\xff\xfe\n')
    ProductionConsent(path).give(YES)
    assert ProductionConsent(path).is_given(YES.identity)
    assert not ProductionConsent(path).is_given("other")


def test_an_unwritable_folder_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(TuibenchError, match="cannot store the consent"):
        ProductionConsent(tmp_path / "file" / "servers.jsonl").give(YES)


def test_the_refusal_says_what_was_seen_and_what_to_do() -> None:
    error = ProductionError("db1:3306", ("2 replicas attached", "others at work"))
    assert "db1:3306 looks like a production server: 2 replicas attached; others at work" in error.message
    assert CONSENT_OPTION in error.hint
