"""Settings: every name that is used is known, and a durability setting is one entry."""

import re
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.ticks import server_tick
from tests.tui.support import script
from tests.unit.model.test_counters import PACKAGE, literals
from tests.unit.record.steady import steady
from tests.unit.tui.views import text
from tuibench.metrics.series.commit_cost import CostLedger
from tuibench.model.counters import Counter
from tuibench.model.message import Status
from tuibench.model.server import Flavour
from tuibench.model.settings import (
    COMMIT_ROLES,
    CostFigure,
    ServerVariable,
    SettingGroup,
    SettingState,
    SettingTopic,
)
from tuibench.record.files.loading import load_run
from tuibench.record.files.run import StatusAt
from tuibench.record.run_report import run_markdown
from tuibench.tui.panels.server.durability import durability_panel, durability_panel_height
from tuibench.tui.screens.durability import durability_choices
from tuibench.tui.view import View, initial_view
from tuibench.tuning.catalogue import privileges, setting_lookup
from tuibench.tuning.catalogue.setting import OFF, ON, FlavourSupport, Setting, ValueKind

KNOWN = {*setting_lookup.SETTINGS_BY_NAME, *ServerVariable}
NAME = re.compile(r"(?<![\w.'*])(?:innodb_[a-z_]+|sync_[a-z_]+|sql_log_[a-z]+|binlog_order_[a-z]+)(?![\w*])")
NO_SETTINGS = {
    "innodb_metrics": "a table of information_schema",
    "innodb_sys_tablespaces": "a table of information_schema",
    "innodb_tablespaces": "a table of information_schema",
}
ALIASES = PACKAGE / "tuning" / "catalogue" / "setting_lookup.py"
PATTERNS = PACKAGE / "observe" / "environment.py"
"""Names here are patterns of what is recorded, whatever a server has."""


def unknown(paths: list[Path]) -> list[str]:
    return [
        f"{path.name}:{line}: {name}"
        for path in paths
        for line, literal in literals(path)
        for name in NAME.findall(literal)
        if name not in KNOWN and name not in NO_SETTINGS
    ]


def test_every_setting_that_is_used_is_in_the_table() -> None:
    assert unknown([path for path in PACKAGE.rglob("*.py") if path not in (ALIASES, PATTERNS)]) == []


def test_a_name_that_is_no_setting_would_be_found(tmp_path: Path) -> None:
    path = tmp_path / "costs.py"
    path.write_text('COSTED = ("innodb_doublewrite", "innodb_redo_log")\n')
    assert unknown([path]) == ["costs.py:1: innodb_redo_log"]


THIRD = Setting(
    name="innodb_third_setting_that_matters",
    group=SettingGroup.DURABILITY,
    topic=SettingTopic.DURABILITY,
    kind=ValueKind.SWITCH,
    supported=(FlavourSupport(Flavour.MARIADB),),
    meanings={ON: "the third log is flushed", OFF: "the third log is lost"},
    otherwise="unknown",
    offered=(ON, OFF),
    safe=(ON,),
    risk="The third log is lost.",
    needs=privileges.GLOBAL_VARIABLE,
    counters=(Counter.OS_LOG_FSYNCS,),
    roles=COMMIT_ROLES,
    cost=CostFigure.REDO_LOG,
    short_name="third",
)
"""An entry of the catalogue, and nothing besides it."""


def third(value: str = OFF) -> SettingState:
    return setting_lookup.setting_state(THIRD, script.SERVER, value, value)


def with_third(value: str = OFF) -> Status:
    status = script.status()
    return replace(status, settings=(*status.settings, third(value)))


@pytest.fixture
def view() -> View:
    ledger = CostLedger()
    for second in range(3):
        grown = {str(Counter.OS_LOG_FSYNCS): 20.0, str(Counter.LSN_CURRENT): 40960.0}
        reading = server_tick(growth=grown, completed=10) if second else server_tick()
        ledger.add(reading, with_third().settings)
    return initial_view(replace(script.hello(60, with_third()), costs=ledger.costs))


def test_the_panel_has_a_line_for_it_with_its_cost(view: View) -> None:
    rows = text(durability_panel(view, 118, durability_panel_height(view))).splitlines()
    assert len(rows) == 3
    assert rows[2].split()[:2] == ["third", "OFF"]
    assert rows[2].endswith("2.00 fsyncs/trx, 4 KiB redo")


def test_the_dialog_offers_its_values(view: View) -> None:
    group = durability_choices(view)[-1]
    assert group.heading == f"{THIRD.name}, now {OFF}"
    assert [(choice.label.split()[0], choice.current) for choice in group.choices] == [
        (ON, False),
        (OFF, True),
    ]
    assert [choice.proposal.at_risk for choice in group.choices] == [False, True]


def test_it_raises_the_alarm(view: View) -> None:
    assert view.at_risk
    assert not initial_view(script.hello(60, with_third(ON))).at_risk


def test_reports_list_it(tmp_path: Path) -> None:
    run = load_run(steady(tmp_path, "a"))
    assert run.environment is not None
    environment = replace(run.environment, variables={**run.environment.variables, THIRD.name: OFF})
    states = (StatusAt(elapsed_seconds=0.0, status=with_third()),)
    run = replace(run, environment=environment, states=states)
    assert f"| {THIRD.name} | OFF |" in run_markdown(run).partition("## Environment")[2]
