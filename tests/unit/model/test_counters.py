"""The table of counters: complete, unambiguous, and the only place that spells a counter's name."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import tuibench
from tuibench.model.counters import CUMULATIVE_NAMES, GAUGE_NAMES, SAMPLED_NAMES, Counter, Unit, first_known
from tuibench.tuning.catalogue.setting_lookup import SETTINGS

PACKAGE = Path(tuibench.__file__).parent
TABLE = PACKAGE / "model" / "counters.py"
FAMILIES = (
    "Aborted|Binlog|Bytes|Com|Created|Handler|Innodb|Open|Opened|Prepared|Rows|Select|Slow|Sort|Table|Threads"
)
COUNTER_NAME = re.compile(rf"\b(?:{FAMILIES})_[a-z_]+\b|\b(?:performance_schema|innodb_metrics)\.binlog_\w+")


def literals(path: Path) -> Iterator[tuple[int, str]]:
    """String literals with their lines; docstrings and other bare strings are prose."""
    tree = ast.parse(path.read_text())
    prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose:
            yield node.lineno, node.value


def copies(paths: Iterator[Path]) -> list[str]:
    return [
        f"{path.name}:{line}: {name}"
        for path in paths
        for line, text in literals(path)
        for name in COUNTER_NAME.findall(text)
    ]


def test_no_other_file_spells_a_counter() -> None:
    assert copies(path for path in PACKAGE.rglob("*.py") if path != TABLE) == []


def test_a_copy_would_be_found(tmp_path: Path) -> None:
    (tmp_path / "copy.py").write_text('"""Com_select in prose."""\nROW = ("Commits", "Com_commit")\n')
    assert copies(tmp_path.rglob("*.py")) == ["copy.py:2: Com_commit"]


def test_a_counter_has_one_way_to_be_recorded() -> None:
    assert CUMULATIVE_NAMES
    assert GAUGE_NAMES
    assert not CUMULATIVE_NAMES & GAUGE_NAMES


def test_exported_counters_are_cumulative_and_have_a_name_each() -> None:
    exported = [counter for counter in Counter if counter.facts.metric]
    assert {str(counter) for counter in exported} <= CUMULATIVE_NAMES
    assert len({counter.facts.metric for counter in exported}) == len(exported)
    for counter in exported:
        ends_in = {Unit.BYTES: "_bytes", Unit.MILLISECONDS: "_seconds"}.get(counter.facts.unit, "")
        assert counter.facts.metric.endswith(ends_in), counter


def test_a_setting_points_at_recorded_counters() -> None:
    for setting in SETTINGS:
        assert set(setting.counters) <= SAMPLED_NAMES, setting.name


def test_the_first_counter_that_the_server_has() -> None:
    names = (Counter.OS_LOG_FSYNCS, Counter.DATA_FSYNCS)
    assert first_known(names, {"Innodb_data_fsyncs": 9, "Innodb_os_log_fsyncs": 0}) == 0
    assert first_known(names, {"Innodb_data_fsyncs": 9}) == 9
    assert first_known(names, {}) is None
