"""What must hold in sysbench's tables, before and after any run whose DELETEs and INSERTs come in pairs.

A transaction of which one half stayed shows as a row that is missing or stands twice. (oltp_insert and
oltp_delete change the number of rows by intent: after them, `rows`, `gaps` and `beyond` tell by how many.)
"""

from tuibench.load.conditions.base import Condition
from tuibench.workload.datasets import DataSet
from tuibench.workload.datasets.sbtest import Sbtest
from tuibench.workload.values import C_GROUPS, GROUP_DIGITS, PAD_GROUPS

_ROWS = "SELECT '{table}' AS in_table, COUNT(*) AS rows_found FROM {table} HAVING rows_found <> {rows}"
_GAPS = """
SELECT '{table}' AS in_table, here.id + 1 AS missing_id FROM {table} AS here
LEFT JOIN {table} AS next_one ON next_one.id = here.id + 1
WHERE next_one.id IS NULL AND here.id BETWEEN 1 AND {rows} - 1
UNION ALL SELECT '{table}', 1 FROM (SELECT 1 AS one) AS first_one
WHERE NOT EXISTS (SELECT id FROM {table} WHERE id = 1)"""
_BEYOND = "SELECT '{table}' AS in_table, id FROM {table} WHERE id < 1 OR id > {rows}"
_TWICE = "SELECT '{table}' AS in_table, id, COUNT(*) AS times FROM {table} GROUP BY id HAVING times > 1"
_TEXTS = """
SELECT '{table}' AS in_table, id, CHAR_LENGTH(c) AS length_of_c, CHAR_LENGTH(pad) AS length_of_pad
FROM {table} WHERE CHAR_LENGTH(c) <> {c} OR CHAR_LENGTH(pad) <> {pad}"""
_SUM = "COUNT(*) AS rows_{way}, COALESCE(BIT_XOR(CRC32(CONCAT(id, ':', k))), 0) AS sum_{way}"
_INDEX = f"""
SELECT '{{table}}' AS in_table, rows_by_table, rows_by_index, sum_by_table, sum_by_index
FROM (SELECT {_SUM.format(way="by_table")} FROM {{table}} USE INDEX ()) AS one
JOIN (SELECT {_SUM.format(way="by_index")} FROM {{table}} FORCE INDEX (k_{{number}})) AS other
WHERE rows_by_table <> rows_by_index OR sum_by_table <> sum_by_index"""  # noqa: S608 (names of ours)


def conditions(data: DataSet) -> tuple[Condition, ...]:
    """Those that hold for tables of this size, made with these indexes."""
    if not isinstance(data, Sbtest):
        raise TypeError("sbtest's conditions are for sbtest's tables")
    rows = data.table_size
    found = [
        _over(data, "rows", f"each table has {rows:,} rows", _ROWS, "table"),
        _over(data, "gaps", f"no id from 1 to {rows:,} is missing", _GAPS, "gap"),
        _over(data, "beyond", f"no id is above {rows:,}, or below 1", _BEYOND, "row"),
        _over(data, "twice", "no id stands twice", _TWICE, "id"),
        _over(data, "texts", "c and pad have all their characters", _TEXTS, "row"),
    ]
    if data.create_secondary:
        found.append(_over(data, "index", "the index on k has the table's rows", _INDEX, "table"))
    found.append(_checked_by_server(data))
    return tuple(found)


def _over(data: Sbtest, name: str, says: str, differing: str, about: str) -> Condition:
    """The same asked of every table."""
    each = (
        differing.format(
            table=table,
            number=table.removeprefix("sbtest"),
            rows=data.table_size,
            c=C_GROUPS * (GROUP_DIGITS + 1) - 1,
            pad=PAD_GROUPS * (GROUP_DIGITS + 1) - 1,
        ).strip()
        for table in data.table_names()
    )
    return Condition(name=name, says=says, about=about, differing="\nUNION ALL\n".join(each))


def _checked_by_server(data: Sbtest) -> Condition:
    return Condition(
        name="server",
        says="CHECK TABLE finds nothing wrong",
        about="remark",
        differing="",
        command=f"CHECK TABLE {', '.join(data.table_names())}",
    )
