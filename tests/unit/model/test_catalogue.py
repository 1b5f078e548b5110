"""Tables of the model: counters, settings, SQL errors, plans of tune."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

import tuibench
from tests.ticks import server_tick
from tests.tui.support import script
from tests.unit.record.steady import steady
from tests.unit.tui.views import text
from tuibench.base.errors import UsageError
from tuibench.metrics.costs import CostLedger
from tuibench.metrics.figures import FIGURES
from tuibench.model.counters import CUMULATIVE_NAMES, SAMPLED_NAMES, Counter, Unit, first_known
from tuibench.model.message import Status
from tuibench.model.server import ERROR_NAMES, IGNORED_ERRORS, Flavour, error_text
from tuibench.model.settings import (
    COMMIT_ROLES,
    CostFigure,
    ServerVariable,
    SettingGroup,
    SettingState,
    SettingTopic,
)
from tuibench.model.tune import OPERATORS_BUDGET, TunePlan, parse_tune_text
from tuibench.record.reader import load_run
from tuibench.report.run_report import run_markdown
from tuibench.tui.panels.server import durability_panel, durability_panel_height
from tuibench.tui.screens.load_dialogs import durability_choices
from tuibench.tui.view import View, initial_view
from tuibench.tuning import catalogue
from tuibench.tuning.catalogue import SETTINGS
from tuibench.tuning.setting import GLOBAL_VARIABLE, OFF, ON, FlavourSupport, Setting, ValueKind

# The table of counters: complete, unambiguous, and the only place that spells a counter's name.


PACKAGE = Path(tuibench.__file__).parent
TABLE = PACKAGE / "model" / "counters.py"
FAMILIES = (
    "Aborted|Binlog|Bytes|Com|Created|Handler|Innodb|Open|Opened|Prepared|Rows|Select|Slow|Sort|Table|Threads"
)
COUNTER_NAME = re.compile(rf"\b(?:{FAMILIES})_[a-z_]+\b|\b(?:performance_schema|innodb_metrics)\.binlog_\w+")


def literals(path: Path, pattern: re.Pattern[str]) -> Iterator[tuple[int, str]]:
    """String literals with their lines; docstrings and other bare strings are prose.

    A file that nowhere has the pattern is not parsed.
    """
    text = path.read_text()
    if not pattern.search(text):
        return
    tree = ast.parse(text)
    prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose:
            yield node.lineno, node.value


def copies(paths: Iterator[Path]) -> list[str]:
    return [
        f"{path.name}:{line}: {name}"
        for path in paths
        for line, text in literals(path, COUNTER_NAME)
        for name in COUNTER_NAME.findall(text)
    ]


def test_no_other_file_spells_a_counter() -> None:
    assert copies(path for path in PACKAGE.rglob("*.py") if path != TABLE) == []


def test_a_copy_would_be_found(tmp_path: Path) -> None:
    (tmp_path / "copy.py").write_text('"""Com_select in prose."""\nROW = ("Commits", "Com_commit")\n')
    assert copies(tmp_path.rglob("*.py")) == ["copy.py:2: Com_commit"]


def test_exported_counters_are_cumulative_and_have_a_name_each() -> None:
    exported = [counter for counter in Counter if counter.facts.metric]
    assert {str(counter) for counter in exported} <= CUMULATIVE_NAMES
    assert len({counter.facts.metric for counter in exported}) == len(exported)
    for counter in exported:
        ends_in = {Unit.BYTES: "_bytes", Unit.MILLISECONDS: "_seconds"}.get(counter.facts.unit, "")
        assert counter.facts.metric.endswith(ends_in), counter


def test_a_setting_points_at_recorded_counters() -> None:
    for each in SETTINGS:
        assert set(each.counters) <= SAMPLED_NAMES, each.name


def test_the_first_counter_that_the_server_has() -> None:
    names = (Counter.OS_LOG_FSYNCS, Counter.DATA_FSYNCS)
    assert first_known(names, {"Innodb_data_fsyncs": 9, "Innodb_os_log_fsyncs": 0}) == 0
    assert first_known(names, {"Innodb_data_fsyncs": 9}) == 9
    assert first_known(names, {}) is None


# Settings: every name that is used is known, and a durability setting is one entry.


KNOWN = {*catalogue.SETTINGS_BY_NAME, *ServerVariable}
NAME = re.compile(r"(?<![\w.'*])(?:innodb_[a-z_]+|sync_[a-z_]+|sql_log_[a-z]+|binlog_order_[a-z]+)(?![\w*])")
NO_SETTINGS = {
    "innodb_data_file": "a file of the performance schema",
    "innodb_log_file": "a file of the performance schema",
    "sync_dirty": "a function of the kernel",
    "innodb_metrics": "a table of information_schema",
    "innodb_sys_tablespaces": "a table of information_schema",
    "innodb_tablespaces": "a table of information_schema",
}
ALIASES = PACKAGE / "tuning" / "catalogue.py"
PATTERNS = PACKAGE / "observe" / "host_facts.py"
"""Names here are patterns of what is recorded, whatever a server has."""


def unknown(paths: list[Path]) -> list[str]:
    return [
        f"{path.name}:{line}: {name}"
        for path in paths
        for line, literal in literals(path, NAME)
        for name in NAME.findall(literal)
        if name not in KNOWN and name not in NO_SETTINGS and name not in FIGURES
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
    needs=GLOBAL_VARIABLE,
    counters=(Counter.OS_LOG_FSYNCS,),
    roles=COMMIT_ROLES,
    cost=CostFigure.REDO_LOG,
    short_name="third",
)
"""An entry of the catalogue, and nothing besides it."""


def third(value: str = OFF) -> SettingState:
    return catalogue.setting_state(THIRD, script.SERVER, value, value)


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
    heading, choices = durability_choices(view)[-1]
    assert heading == f"{THIRD.name}, now {OFF}"
    assert [(choice.label.split()[0], choice.current) for choice in choices] == [
        (ON, False),
        (OFF, True),
    ]
    assert [choice.proposal.at_risk for choice in choices] == [False, True]


def test_it_raises_the_alarm(view: View) -> None:
    assert view.at_risk
    assert not initial_view(script.hello(60, with_third(ON))).at_risk


def test_reports_list_it(tmp_path: Path) -> None:
    run = load_run(steady(tmp_path, "a"))
    assert run.environment is not None
    environment = replace(run.environment, variables={**run.environment.variables, THIRD.name: OFF})
    states = ((0.0, with_third()),)
    run = replace(run, environment=environment, states=states)
    assert f"| {THIRD.name} | OFF |" in run_markdown(run).partition("## Environment")[2]


# Plain names of errors.


def test_the_errors_that_are_retried_by_default_are_those_of_sysbench() -> None:
    assert IGNORED_ERRORS == (1213, 1020, 1205, 1412)
    assert set(IGNORED_ERRORS) <= set(ERROR_NAMES)


def test_a_code_is_followed_by_its_name() -> None:
    assert error_text("1213") == "1213 deadlock"
    assert error_text("1062") == "1062"


# What an operator types to start a screening.


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", TunePlan(budget_seconds=OPERATORS_BUDGET)),
        ("30m", TunePlan(budget_seconds=1800.0)),
        ("flushing,durability 90s", TunePlan(budget_seconds=90.0, only=("flushing", "durability"))),
        (
            "innodb_io_capacity ±5% allow-risk",
            TunePlan(
                budget_seconds=OPERATORS_BUDGET,
                only=("innodb_io_capacity",),
                tolerance_percent=5.0,
                allow_risk=True,
            ),
        ),
    ],
)
def test_words_in_any_order(text: str, expected: TunePlan) -> None:
    assert parse_tune_text(text) == expected
    assert parse_tune_text(" ".join(reversed(text.split()))).budget_seconds == expected.budget_seconds


@pytest.mark.parametrize("text", ["a-b", "10", "10%%", "±x%"])
def test_what_means_nothing_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_tune_text(text)
