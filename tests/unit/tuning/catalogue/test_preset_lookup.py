"""The user's presets: read strictly, and what is wrong is named by file, key and nearest name."""

from pathlib import Path

import msgspec
import pytest

from tests.unit.tuning.fakes import INFO
from tuibench.errors import UsageError
from tuibench.model.server import Flavour
from tuibench.model.settings import PresetState
from tuibench.tuning.catalogue import preset_lookup
from tuibench.tuning.catalogue.preset_lookup import BUILTIN_PRESETS

NIGHT = """
[presets.night]
settings = { sync_binlog = 0, long_query_time = 0.5, slow_query_log = true, innodb_buffer_pool_size = "1G" }
risk = "The latest of the binary log."
"""
MYSQL = msgspec.structs.replace(INFO, flavour=Flavour.MYSQL, version="9.7.4")


def test_user_presets_follow_the_built_in_ones(tuibench_home: Path) -> None:
    assert preset_lookup.all_presets() == BUILTIN_PRESETS
    folder = tuibench_home / "config"
    folder.mkdir()
    (folder / "config.toml").write_text(NIGHT)
    *ours, night = preset_lookup.all_presets()
    assert tuple(ours) == BUILTIN_PRESETS
    assert (night.name, night.risk) == ("night", "The latest of the binary log.")
    (here,) = preset_lookup.presets_for_server([night], MYSQL)
    assert here.values == {
        "sync_binlog": "0",
        "long_query_time": "0.500000",
        "slow_query_log": "ON",
        "innodb_buffer_pool_size": "1073741824",
    }


def test_a_setting_that_this_server_lacks_keeps_its_value_for_the_one_that_has_it() -> None:
    preset = PresetState(name="x", values={"binlog_order_commits": "off"}, risk="")
    assert preset_lookup.presets_for_server([preset], INFO)[0].values == {"binlog_order_commits": "off"}
    assert preset_lookup.presets_for_server([preset], MYSQL)[0].values == {"binlog_order_commits": "OFF"}


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("[presets", "c.toml: not valid TOML: "),
        ("[preset.x]", "c.toml: preset: unknown key (did you mean 'presets'?)"),
        ("presets = 3", "c.toml: presets: a table for each preset, not a number"),
        ("[presets.unsafe]\nsettings = {sync_binlog = 1}", "c.toml: presets.unsafe: unsafe is built in"),
        ("[presets.'Two Words']", "c.toml: presets.Two Words: a preset's name is small letters"),
        ("[presets.x]\nsetings = {}", "c.toml: presets.x.setings: unknown key (did you mean 'settings'?)"),
        ("[presets.x]\nrisk = 'r'", "c.toml: presets.x: object missing required field `settings`"),
        ("presets.x = 1", "c.toml: presets.x: expected `object`, got `int`"),
        ("[presets.x]\nsettings = {}", "c.toml: presets.x.settings: a preset has at least one setting"),
        ("[presets.x]\nsettings = {sync_binlog = [1]}", "c.toml: presets.x.settings: expected "),
        ("[presets.x]\nsettings = {sync_binlog = 0}\nrisk = 1", "c.toml: presets.x.risk: expected `str`"),
        (
            "[presets.x]\nsettings = {sync_binlgo = 0}",
            "c.toml: presets.x.settings.sync_binlgo: 'sync_binlgo' is not a setting that tuibench changes "
            "(did you mean 'sync_binlog'?)",
        ),
        (
            "[presets.x]\nsettings = {innodb_flush_log_at_trx_commit = 7}",
            "c.toml: presets.x.settings.innodb_flush_log_at_trx_commit: innodb_flush_log_at_trx_commit takes "
            "whole numbers from 0 to 2 on MySQL, not '7' (the nearest is 2)",
        ),
    ],
)
def test_faults_are_named(tmp_path: Path, text: str, fault: str) -> None:
    (tmp_path / "c.toml").write_text(text)
    with pytest.raises(UsageError) as caught:
        preset_lookup.all_presets(tmp_path / "c.toml")
    assert str(caught.value).removeprefix(f"{tmp_path}/").startswith(fault)


def test_a_file_that_cannot_be_read_is_said(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.mkdir()
    with pytest.raises(UsageError, match=r"cannot read the configuration .*config.toml"):
        preset_lookup.all_presets(path)
