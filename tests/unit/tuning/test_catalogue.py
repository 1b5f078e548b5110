"""The catalogue's words and limits, and the presets over it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuibench.errors import UsageError
from tuibench.model.server import Flavour
from tuibench.tuning import catalogue, presets
from tuibench.tuning.catalogue import BY_NAME, SETTINGS

FLUSH_LOG = BY_NAME["innodb_flush_log_at_trx_commit"]
SYNC_BINLOG = BY_NAME["sync_binlog"]


@pytest.mark.parametrize("name", ["sync_binlog", "SYNC_BINLOG", " sync-binlog "])
def test_a_setting_is_found_however_it_is_spelled(name: str) -> None:
    assert catalogue.find(name) is SYNC_BINLOG


@pytest.mark.parametrize(
    ("name", "hint"),
    [("sync_binlgo", "did you mean sync_binlog?"), ("version", "known: innodb_flush_log_at_trx_commit")],
)
def test_an_unknown_setting_names_the_nearest(name: str, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        catalogue.find(name)
    assert caught.value.hint.startswith(hint)


@given(st.sampled_from(SETTINGS), st.sampled_from(Flavour), st.integers(-(10**30), 10**30))
def test_a_number_is_taken_within_the_limits_and_answered_with_the_nearest_outside(
    setting: catalogue.Setting, flavour: Flavour, number: int
) -> None:
    limits = setting.limits[flavour]
    if limits.low <= number <= limits.high:
        assert catalogue.validate(setting, flavour, f" {number} ") == str(number)
        return
    with pytest.raises(UsageError) as caught:
        catalogue.validate(setting, flavour, str(number))
    assert f"{limits.low} to {limits.high}" in caught.value.message
    nearest = caught.value.hint.removeprefix("the nearest is ")
    assert catalogue.validate(setting, flavour, nearest) == nearest


@pytest.mark.parametrize("text", ["", "off", "1.5", "1_0", "0x1", "1; DROP TABLE t", "٣"])
def test_what_is_not_a_whole_number_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="whole numbers from 0 to 3"):
        catalogue.validate(FLUSH_LOG, Flavour.MARIADB, text)


def test_three_is_mariadbs_own() -> None:
    assert catalogue.validate(FLUSH_LOG, Flavour.MARIADB, "3") == "3"
    with pytest.raises(UsageError) as caught:
        catalogue.validate(FLUSH_LOG, Flavour.MYSQL, "3")
    assert caught.value.hint == "the nearest is 2"


@pytest.mark.parametrize(
    ("setting", "value", "at_risk", "words"),
    [
        (FLUSH_LOG, "0", True, "lost in any crash"),
        (FLUSH_LOG, "1", False, "no commit is lost"),
        (FLUSH_LOG, "2", True, "if the host crashes"),
        (FLUSH_LOG, "3", False, "no commit is lost"),
        (SYNC_BINLOG, "0", True, "left to the OS"),
        (SYNC_BINLOG, "1", False, "no event is lost"),
        (SYNC_BINLOG, "250", True, "every 250 commits"),
    ],
)
def test_values_in_words(setting: catalogue.Setting, value: str, at_risk: bool, words: str) -> None:
    state = catalogue.state(setting, value, "1")
    assert state.at_risk is at_risk
    assert words in state.meaning
    assert state.changed is (value != "1")
    assert list(state.choices) == list(setting.offered)


def test_a_setting_that_the_server_lacks_says_nothing_of_a_value() -> None:
    state = catalogue.state(SYNC_BINLOG, "", "", "MySQL 4 has no such variable")
    assert (state.meaning, state.at_risk, state.changed) == ("", False, False)
    assert state.unavailable == "MySQL 4 has no such variable"


@pytest.mark.parametrize(
    ("flavour", "version", "setting", "needed"),
    [
        (Flavour.MARIADB, (10, 4, 30), SYNC_BINLOG, ("SUPER",)),
        (Flavour.MARIADB, (10, 11, 19), SYNC_BINLOG, ("BINLOG ADMIN", "SUPER")),
        (Flavour.MARIADB, (10, 11, 19), FLUSH_LOG, ("SUPER",)),
        (Flavour.MYSQL, (5, 7, 44), SYNC_BINLOG, ("SUPER",)),
        (Flavour.MYSQL, (9, 7, 4), FLUSH_LOG, ("SYSTEM_VARIABLES_ADMIN", "SUPER")),
    ],
)
def test_privileges_by_flavour_and_version(
    flavour: Flavour, version: tuple[int, ...], setting: catalogue.Setting, needed: tuple[str, ...]
) -> None:
    assert setting.privileges(flavour, version) == needed


def test_presets_are_valid_on_both_flavours_and_only_durable_is_safe() -> None:
    for preset in presets.preset_states():
        risky = [catalogue.find(name).at_risk(value) for name, value in preset.values.items()]
        assert any(risky) is (preset.name != "durable")
        assert preset.risk.endswith(".")
        for name, value in preset.values.items():
            for flavour in Flavour:
                assert catalogue.validate(catalogue.find(name), flavour, value) == value


def test_an_unknown_preset_names_the_nearest() -> None:
    with pytest.raises(UsageError, match="did you mean unsafe"):
        presets.find("unsave")
    assert presets.find(" Unsafe ").name == "unsafe"
