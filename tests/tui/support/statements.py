"""A report of statements, before and after a change."""

from tuibench.model.server import StatementDetail, StatementFigures, StatementReport, StatementRow

ROWS = (
    StatementRow(
        key="sbtest ab12",
        text="EXECUTE SELECT `c` FROM `sbtest1` WHERE `id` = ?",
        source="digest",
        now=StatementFigures(
            calls=3520, total_ms=410.0, p95_ms=0.288, rows_examined=3520, lock_ms=3.3, cpu_ms=200.0
        ),
        before=StatementFigures(calls=1200, total_ms=132.0, p95_ms=0.251),
    ),
    StatementRow(
        key="sbtest cd34",
        text="COMMIT",
        source="digest",
        now=StatementFigures(calls=680, total_ms=245.0, p95_ms=1.82),
        before=StatementFigures(calls=270, total_ms=2916.0, p95_ms=22.9),
    ),
    StatementRow(
        key="client commit", text="commit", source="client", now=StatementFigures(calls=697, total_ms=1220.0)
    ),
)
REPORT = StatementReport(
    seconds=5.0,
    rows=ROWS,
    before_seconds=4.0,
    change="preset unsafe: flush_log 1 → 0, sync_binlog 1 → 0",
    gaps=("digests that begin with EXECUTE are prepared statements",),
)
DETAIL = StatementDetail(
    key="sbtest ab12",
    statement="SELECT c FROM sbtest1 WHERE id=? AND k BETWEEN ? AND ?",
    plan=(
        ("id", "select_type", "table", "type", "possible_keys", "key", "ref", "rows", "filtered", "Extra"),
        ("1", "SIMPLE", "sbtest1", "const", "PRIMARY,k_1", "PRIMARY", "const", "1", "100.0", "Using where"),
    ),
    note="the plan is for 1 as each value, because the values are not known; others may have another plan",
)
"""The first of the rows in full."""
