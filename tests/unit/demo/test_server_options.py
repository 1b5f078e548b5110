"""The server's command line."""

import resource
from pathlib import Path

import pytest

from tests.unit.demo.conftest import make_spec
from tuibench.demo import setup
from tuibench.demo.layout import DirectoryLayout
from tuibench.model.server import Flavour

LAYOUT = DirectoryLayout(Path("/b/d"))


@pytest.mark.parametrize("flavour", list(Flavour))
def test_no_option_file_first_and_the_callers_options_last(flavour: Flavour) -> None:
    command = setup.server_command(make_spec(flavour, options=("--sync-binlog=0",)), LAYOUT, 3307)
    assert command[1] == "--no-defaults"
    assert command[-1] == "--sync-binlog=0"
    assert command.index("--sync-binlog=1") < len(command) - 1


@pytest.mark.parametrize("flavour", list(Flavour))
def test_no_password(flavour: Flavour) -> None:
    spec = make_spec(flavour)
    assert spec.password not in " ".join(setup.server_command(spec, LAYOUT, 3307))


def test_few_open_files_leave_half_for_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("resource.getrlimit", lambda _: (1024, 4096))
    command = setup.server_command(make_spec(), LAYOUT, 3307)
    assert {"--open-files-limit=4096", "--max-connections=2048"} <= set(command)


def test_unlimited_files_are_no_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("resource.getrlimit", lambda _: (256, resource.RLIM_INFINITY))
    assert setup.open_files_limit() == setup.MAX_OPEN_FILES


def test_a_user_without_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 4_000_000_001)
    assert setup.user_option() == []
