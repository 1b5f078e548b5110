"""Consistency conditions of the data sets, and their check.

A condition is a SELECT of the violating rows. To add a data set, add a function from the data set to its
conditions, and an entry in the table `CONDITIONS`.

- sysbench's tables: the conditions hold before and after any run whose DELETEs and INSERTs are paired. A
  transaction that was applied partly leaves a missing or duplicate row. (oltp_insert and oltp_delete change
  the number of rows; after them, `rows`, `gaps` and `beyond` show the difference.)
- TPC-C: conditions 1 to 12 of clause 3.3.2; 11 holds directly after loading only.

`<=>` treats two nulls as equal: a district that lost its last row differs from one that has it.

Conditions are checked concurrently, each in one snapshot, so that a running load does not affect the result.
"""

from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from typing import Any

import msgspec

from tuibench.base.errors import UsageError, did_you_mean
from tuibench.load.tables import abort_and_kill, check_tables_present, connect_to_tables, run_all
from tuibench.model.server import Target
from tuibench.mysql.connection import Connection
from tuibench.mysql.info import Manner, connect_with_defaults
from tuibench.workload.dataset import DataSet, data_set_of_load
from tuibench.workload.program import Program
from tuibench.workload.sbtest import Sbtest
from tuibench.workload.tpcc import Tpcc
from tuibench.workload.values import C_GROUPS, GROUP_DIGITS, PAD_GROUPS


class Condition(msgspec.Struct, frozen=True, kw_only=True):
    """A consistency condition: a SELECT of the rows that violate it."""

    name: str
    description: str
    differing: str
    """The SELECT, without ORDER BY and LIMIT: first the key, then the values that should be equal. All
    columns have names.
    """
    about: str = "row"
    """The noun for one row: district."""
    plural: str = ""
    """The plural of `about`."""
    only_after_load: bool = False
    """True if the condition does not hold after a run."""
    touched: str = ""
    """With `only_after_load`, a SELECT that returns a row after any run."""
    command: str = ""
    """Sent instead of `differing`: CHECK TABLE. Its rows end in OK or in an error, and it uses no
    snapshot.
    """

    def count(self, number: int) -> str:
        """The number with the noun: 1 district, 3 districts."""
        return f"{number:,} {self.about if number == 1 else self.plural or self.about + 's'}"


_ROW_COUNT = "SELECT '{table}' AS in_table, COUNT(*) AS rows_found FROM {table} HAVING rows_found <> {rows}"
_GAPS = """
SELECT '{table}' AS in_table, here.id + 1 AS missing_id FROM {table} AS here
LEFT JOIN {table} AS next_one ON next_one.id = here.id + 1
WHERE next_one.id IS NULL AND here.id BETWEEN 1 AND {rows} - 1
UNION ALL SELECT '{table}', 1 FROM (SELECT 1 AS one) AS first_one
WHERE NOT EXISTS (SELECT id FROM {table} WHERE id = 1)"""
_BEYOND = "SELECT '{table}' AS in_table, id FROM {table} WHERE id < 1 OR id > {rows}"
_DUPLICATES = "SELECT '{table}' AS in_table, id, COUNT(*) AS times FROM {table} GROUP BY id HAVING times > 1"
_TEXTS = """
SELECT '{table}' AS in_table, id, CHAR_LENGTH(c) AS length_of_c, CHAR_LENGTH(pad) AS length_of_pad
FROM {table} WHERE CHAR_LENGTH(c) <> {c} OR CHAR_LENGTH(pad) <> {pad}"""
_SUM = "COUNT(*) AS rows_{way}, COALESCE(BIT_XOR(CRC32(CONCAT(id, ':', k))), 0) AS sum_{way}"
_INDEX = f"""
SELECT '{{table}}' AS in_table, rows_by_table, rows_by_index, sum_by_table, sum_by_index
FROM (SELECT {_SUM.format(way="by_table")} FROM {{table}} USE INDEX ()) AS one
JOIN (SELECT {_SUM.format(way="by_index")} FROM {{table}} FORCE INDEX (k_{{number}})) AS other
WHERE rows_by_table <> rows_by_index OR sum_by_table <> sum_by_index"""  # noqa: S608 (the names are constants)


def sbtest_conditions(data: DataSet) -> tuple[Condition, ...]:
    """The conditions for tables of this size with these indexes."""
    if not isinstance(data, Sbtest):
        raise TypeError("the conditions of sbtest need sbtest's tables")
    rows = data.table_size
    found = [
        _for_each_table(data, "rows", f"each table has {rows:,} rows", _ROW_COUNT, "table"),
        _for_each_table(data, "gaps", f"no id from 1 to {rows:,} is missing", _GAPS, "gap"),
        _for_each_table(data, "beyond", f"no id is above {rows:,}, or below 1", _BEYOND, "row"),
        _for_each_table(data, "twice", "no duplicate id", _DUPLICATES, "id"),
        _for_each_table(data, "texts", "c and pad have their full length", _TEXTS, "row"),
    ]
    if data.create_secondary:
        found.append(_for_each_table(data, "index", "the index on k has the table's rows", _INDEX, "table"))
    found.append(
        Condition(
            name="server",
            description="CHECK TABLE reports no error",
            about="remark",
            differing="",
            command=f"CHECK TABLE {', '.join(data.table_names())}",
        )
    )
    return tuple(found)


def _for_each_table(data: Sbtest, name: str, description: str, differing: str, about: str) -> Condition:
    """The SELECT for all tables."""
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
    return Condition(name=name, description=description, about=about, differing="\nUNION ALL\n".join(each))


_DELIVERED_AMOUNT = """
LEFT JOIN (
  SELECT o_w_id, o_d_id, o_c_id, SUM(ol_amount) AS delivered FROM orders
  JOIN order_line ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id
  WHERE ol_delivery_d IS NOT NULL GROUP BY o_w_id, o_d_id, o_c_id
) AS o ON o_w_id = c_w_id AND o_d_id = c_d_id AND o_c_id = c_id"""
TPCC_CONDITIONS = {
    ("1", "warehouse", "W_YTD = ΣD_YTD"): """
SELECT w_id, w_ytd, sum_d_ytd FROM warehouse
LEFT JOIN (SELECT d_w_id, SUM(d_ytd) AS sum_d_ytd FROM district GROUP BY d_w_id) AS d ON d_w_id = w_id
WHERE NOT w_ytd <=> sum_d_ytd""",
    ("2", "district", "D_NEXT_O_ID − 1 = max(O_ID) = max(NO_O_ID)"): """
SELECT d_w_id, d_id, d_next_o_id, max_o_id, max_no_o_id FROM district
LEFT JOIN (SELECT o_w_id, o_d_id, MAX(o_id) AS max_o_id FROM orders GROUP BY o_w_id, o_d_id) AS o
  ON o_w_id = d_w_id AND o_d_id = d_id
LEFT JOIN (SELECT no_w_id, no_d_id, MAX(no_o_id) AS max_no_o_id FROM new_order GROUP BY no_w_id, no_d_id) AS n
  ON no_w_id = d_w_id AND no_d_id = d_id
WHERE NOT d_next_o_id - 1 <=> max_o_id OR (max_no_o_id IS NOT NULL AND max_no_o_id <> d_next_o_id - 1)""",
    ("3", "district", "max(NO_O_ID) − min(NO_O_ID) + 1 = rows of new_order"): """
SELECT no_w_id, no_d_id, MIN(no_o_id) AS min_no_o_id, MAX(no_o_id) AS max_no_o_id,
  COUNT(*) AS rows_of_new_order
FROM new_order GROUP BY no_w_id, no_d_id HAVING MAX(no_o_id) - MIN(no_o_id) + 1 <> COUNT(*)""",
    ("4", "district", "ΣO_OL_CNT = rows of order_line, per district"): """
SELECT d_w_id, d_id, sum_o_ol_cnt, rows_of_order_line FROM district
LEFT JOIN (SELECT o_w_id, o_d_id, SUM(o_ol_cnt) AS sum_o_ol_cnt FROM orders GROUP BY o_w_id, o_d_id) AS o
  ON o_w_id = d_w_id AND o_d_id = d_id
LEFT JOIN (
  SELECT ol_w_id, ol_d_id, COUNT(*) AS rows_of_order_line FROM order_line GROUP BY ol_w_id, ol_d_id
) AS l ON ol_w_id = d_w_id AND ol_d_id = d_id
WHERE NOT sum_o_ol_cnt <=> rows_of_order_line""",
    ("5", "order", "O_CARRIER_ID is null ⇔ row in new_order"): """
SELECT o_w_id, o_d_id, o_id, o_carrier_id, no_o_id FROM orders
LEFT JOIN new_order ON no_w_id = o_w_id AND no_d_id = o_d_id AND no_o_id = o_id
WHERE (o_carrier_id IS NULL) <> (no_o_id IS NOT NULL)
UNION ALL
SELECT no_w_id, no_d_id, o_id, o_carrier_id, no_o_id FROM new_order
LEFT JOIN orders ON no_w_id = o_w_id AND no_d_id = o_d_id AND no_o_id = o_id WHERE o_id IS NULL""",
    ("6", "order", "O_OL_CNT = its rows of order_line"): """
SELECT o_w_id, o_d_id, o_id, o_ol_cnt, rows_of_order_line FROM orders
LEFT JOIN (
  SELECT ol_w_id, ol_d_id, ol_o_id, COUNT(*) AS rows_of_order_line FROM order_line
  GROUP BY ol_w_id, ol_d_id, ol_o_id
) AS l ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id
WHERE NOT o_ol_cnt <=> rows_of_order_line""",
    ("7", "order line", "OL_DELIVERY_D is null ⇔ O_CARRIER_ID is null"): """
SELECT ol_w_id, ol_d_id, ol_o_id, ol_number, ol_delivery_d, o_id, o_carrier_id FROM order_line
LEFT JOIN orders ON o_w_id = ol_w_id AND o_d_id = ol_d_id AND o_id = ol_o_id
WHERE o_id IS NULL OR (ol_delivery_d IS NULL) <> (o_carrier_id IS NULL)""",
    ("8", "warehouse", "W_YTD = ΣH_AMOUNT"): """
SELECT w_id, w_ytd, sum_h_amount FROM warehouse
LEFT JOIN (SELECT h_w_id, SUM(h_amount) AS sum_h_amount FROM history GROUP BY h_w_id) AS h ON h_w_id = w_id
WHERE NOT w_ytd <=> sum_h_amount""",
    ("9", "district", "D_YTD = ΣH_AMOUNT"): """
SELECT d_w_id, d_id, d_ytd, sum_h_amount FROM district
LEFT JOIN (
  SELECT h_w_id, h_d_id, SUM(h_amount) AS sum_h_amount FROM history GROUP BY h_w_id, h_d_id
) AS h ON h_w_id = d_w_id AND h_d_id = d_id
WHERE NOT d_ytd <=> sum_h_amount""",
    ("10", "customer", "C_BALANCE = ΣOL_AMOUNT of delivered lines − ΣH_AMOUNT"): f"""
SELECT c_w_id, c_d_id, c_id, c_balance, delivered, paid FROM customer{_DELIVERED_AMOUNT}
LEFT JOIN (
  SELECT h_c_w_id, h_c_d_id, h_c_id, SUM(h_amount) AS paid FROM history GROUP BY h_c_w_id, h_c_d_id, h_c_id
) AS h ON h_c_w_id = c_w_id AND h_c_d_id = c_d_id AND h_c_id = c_id
WHERE NOT c_balance <=> COALESCE(delivered, 0) - COALESCE(paid, 0)""",  # noqa: S608
    ("12", "customer", "C_BALANCE + C_YTD_PAYMENT = ΣOL_AMOUNT of delivered lines"): f"""
SELECT c_w_id, c_d_id, c_id, c_balance, c_ytd_payment, delivered FROM customer{_DELIVERED_AMOUNT}
WHERE NOT c_balance + c_ytd_payment <=> COALESCE(delivered, 0)""",  # noqa: S608
}
"""All conditions but the eleventh. A row has the name, the noun for a violating row, the description, and the
SELECT.
"""


def tpcc_conditions(data: DataSet) -> tuple[Condition, ...]:
    """All twelve conditions, for the data set's number of loaded orders."""
    if not isinstance(data, Tpcc):
        raise TypeError("TPC-C's conditions are for TPC-C's tables")
    found = [
        Condition(name=name, about=about, description=description, differing=differing)
        for (name, about, description), differing in TPCC_CONDITIONS.items()
    ]
    return (*found[:-1], _undelivered_after_load(data), found[-1])


def _undelivered_after_load(data: Tpcc) -> Condition:
    """Undelivered orders after a load: the oldest one and the new ones, because deliveries and payments
    change other rows.
    """
    delivered = data.sizes.delivered
    return Condition(
        name="11",
        description=f"rows of orders − rows of new_order = {delivered}, per district, right after the load",
        about="district",
        only_after_load=True,
        touched=f"""
SELECT d_id FROM district
LEFT JOIN (SELECT no_w_id, no_d_id, MIN(no_o_id) AS oldest FROM new_order GROUP BY no_w_id, no_d_id) AS n
  ON no_w_id = d_w_id AND no_d_id = d_id
WHERE d_next_o_id <> {data.customers + 1} OR d_ytd <> {data.customers * 10}
  OR NOT oldest <=> {delivered + 1}""",  # noqa: S608
        differing=f"""
SELECT d_w_id, d_id, rows_of_orders, rows_of_new_order FROM district
LEFT JOIN (SELECT o_w_id, o_d_id, COUNT(*) AS rows_of_orders FROM orders GROUP BY o_w_id, o_d_id) AS o
  ON o_w_id = d_w_id AND o_d_id = d_id
LEFT JOIN (
  SELECT no_w_id, no_d_id, COUNT(*) AS rows_of_new_order FROM new_order GROUP BY no_w_id, no_d_id
) AS n ON no_w_id = d_w_id AND no_d_id = d_id
WHERE COALESCE(rows_of_orders, 0) - COALESCE(rows_of_new_order, 0) <> {delivered}""",  # noqa: S608
    )


CONDITIONS: dict[str, Callable[[DataSet], tuple[Condition, ...]]] = {
    "sbtest": sbtest_conditions,
    "tpcc": tpcc_conditions,
}


PARALLEL_CHECKS = 4
"""Number of concurrent connections; few, because the server has other work."""


class ConditionOutcome(StrEnum):
    """The status of a condition. Conditions that hold only directly after loading may be skipped."""

    HOLDS = "holds"
    BROKEN = "broken"
    SKIPPED = "skipped"


class ConditionResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a condition: the number of violating rows, and an example with its columns."""

    condition: str
    description: str
    outcome: ConditionOutcome
    differing: int = 0
    """The number of violating rows."""
    example: dict[str, str | None] = {}
    """A violating row, by column."""
    message: str = ""


def conditions_of(program: Program) -> tuple[Condition, ...]:
    """The conditions of a program's data set. Raises UsageError if it has none."""
    name = program.data_set
    if name not in CONDITIONS:
        raise UsageError(
            f"there are no consistency conditions for the tables of {name}",
            did_you_mean(name, CONDITIONS),
        )
    return CONDITIONS[name](data_set_of_load(program))


CheckProgress = Callable[[int, int, tuple[str, ...]], object]
"""Called with the number of completed conditions, the number of all, and the names of those in progress."""


async def check_consistency(
    target: Target,
    program: Program,
    *,
    after_load: bool | None = None,
    progress: CheckProgress | None = None,
) -> tuple[ConditionResult, ...]:
    """Checks each condition of the program's data set.

    `after_load` is True if no run has changed the tables since loading, None to detect it. Raises RunError if
    tables are missing or belong to another data set. On failure or cancellation, the queries are killed.
    """
    conditions = conditions_of(program)
    first = await connect_to_tables(target, program)
    try:
        await check_tables_present(first, program)
    finally:
        await first.close()
    asking = _ConditionChecker(conditions, after_load, progress or (lambda *_: None))
    connections: list[Connection] = []
    try:
        for _ in range(min(PARALLEL_CHECKS, len(conditions))):
            connections.append(await connect_with_defaults(target, manner=Manner.WORKS))
        await run_all(asking.ask(connection) for connection in connections)
    except BaseException:
        await abort_and_kill(target, connections)
        raise
    for connection in connections:
        await connection.close()
    return asking.verdicts


class _ConditionChecker:
    """The conditions that are left to check; each connection takes the next one."""

    def __init__(
        self,
        conditions: Sequence[Condition],
        after_load: bool | None,
        report: CheckProgress,
    ) -> None:
        self._conditions = conditions
        self._waiting: Iterator[Condition] = iter(conditions)
        self._after_load = after_load
        self._report = report
        self._under_way: list[str] = []
        self._found: dict[str, ConditionResult] = {}

    @property
    def verdicts(self) -> tuple[ConditionResult, ...]:
        """The results in the order of the conditions, once all are complete."""
        return tuple(self._found[condition.name] for condition in self._conditions)

    async def ask(self, connection: Connection) -> None:
        """Checks one condition after another until none is left."""
        await connection.execute("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        for condition in self._waiting:
            self._under_way.append(condition.name)
            self._report_progress()
            await connection.execute("START TRANSACTION WITH CONSISTENT SNAPSHOT")
            self._found[condition.name] = await check_condition(connection, condition, self._after_load)
            self._under_way.remove(condition.name)
        self._report_progress()

    def _report_progress(self) -> None:
        self._report(len(self._found), len(self._conditions), tuple(self._under_way))


async def check_condition(
    connection: Connection, condition: Condition, after_load: bool | None = None
) -> ConditionResult:
    if condition.only_after_load and after_load is None:
        after_load = not await connection.query(f"{condition.touched} LIMIT 1")
    if condition.only_after_load and not after_load:
        return _result(condition, ConditionOutcome.SKIPPED, message="holds directly after loading only")
    if condition.command:
        # The rows of a command end in OK or in an error.
        rows = await connection.query_named(condition.command)
        wrong = [row for row in rows if str(list(row.values())[-1]) != "OK"]
        return _broken(condition, len(wrong), wrong[0]) if wrong else _result(condition)
    found = await connection.query_named(f"{condition.differing} LIMIT 1")
    if not found:
        return _result(condition)
    counted = await connection.query(f"SELECT COUNT(*) FROM ({condition.differing}) AS differing")  # noqa: S608
    return _broken(condition, int(counted[0][0]), found[0])


def _broken(condition: Condition, differing: int, example: dict[str, object]) -> ConditionResult:
    values = {column: None if value is None else str(value) for column, value in example.items()}
    shown = ", ".join(f"{column} {'null' if value is None else value}" for column, value in values.items())
    return _result(
        condition,
        ConditionOutcome.BROKEN,
        differing=differing,
        example=values,
        message=f"{condition.count(differing)}: {shown}",
    )


def _result(
    condition: Condition, outcome: ConditionOutcome = ConditionOutcome.HOLDS, **found: Any
) -> ConditionResult:
    return ConditionResult(
        condition=condition.name, description=condition.description, outcome=outcome, **found
    )
