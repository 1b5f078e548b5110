"""One reader for the configuration file: its sections, and nothing else."""

from pathlib import Path

import pytest

from tuibench import config
from tuibench.errors import UsageError


def test_a_section_that_is_not_there_is_empty(tuibench_home: Path) -> None:
    assert config.read_section("keys") == {}
    config.config_file().parent.mkdir()
    config.config_file().write_text("[presets.night]\nsettings = { sync_binlog = 0 }\n[keys]\npause = 'o'\n")
    assert config.read_section("keys") == {"pause": "o"}
    assert config.read_section("screen") == {}


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("[key]\n", "c.toml: key: unknown key (did you mean 'keys'?)"),
        ("keys = 'p'\n", 'c.toml: keys: lines of action = "key", not text'),
        ("screen = 3\n", "c.toml: screen: lines of option = value, not a number"),
    ],
)
def test_faults_are_named(text: str, fault: str) -> None:
    with pytest.raises(UsageError) as caught:
        config.parse_config(text, "c.toml", text.split(" ")[0].strip("[]\n"))
    assert str(caught.value) == fault
