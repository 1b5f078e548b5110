"""`tuibench check sbtest`: holds after a run, and each condition is broken by what it is about."""

import pytest

from tests.integration.support.commands import ask, tuibench
from tests.validation import check_valid
from tuibench.load import conditions
from tuibench.model.server import Target
from tuibench.servers.server import PrivateServer
from tuibench.workload import library
from tuibench.workload.dataset import build_data_set

SIZE = ("--tables=2", "--table-size=500")
DAMAGE = {
    "rows": "DELETE FROM sbtest2 WHERE id = 17",
    "gaps": "UPDATE sbtest2 SET id = 999 WHERE id = 250",
    "beyond": "UPDATE sbtest1 SET id = 0 WHERE id = 500",
    "texts": "UPDATE sbtest1 SET pad = 'half' WHERE id = 3",
}
REPAIR = (
    "INSERT INTO sbtest2 SELECT 17, k, c, pad FROM sbtest1 WHERE id = 17",
    "UPDATE sbtest2 SET id = 250 WHERE id = 999",
    "UPDATE sbtest1 SET id = 500 WHERE id = 0",
    "UPDATE sbtest1 AS t JOIN sbtest2 AS o ON o.id = 4 SET t.pad = o.pad WHERE t.id = 3",
)


def broken(target: Target, *words: str) -> dict[str, str]:
    """The conditions that do not hold, with what is told of them."""
    done = tuibench("check", "sbtest", "--format=json", *SIZE, *words, target=target)
    verdicts = check_valid("check", done.out)
    assert {each["condition"] for each in verdicts} >= {*DAMAGE, "twice", "index", "server"}
    found = {each["condition"]: each["message"] for each in verdicts if each["outcome"] == "broken"}
    assert done.code == bool(found)
    return found


@pytest.mark.one_flavour
async def test_all_conditions_hold_after_a_run_and_each_is_broken_by_its_damage(
    tables: PrivateServer,
) -> None:
    target = tables.target
    done = tuibench("run", "oltp_read_write", *SIZE, "--threads=8", "--events=300", "--time=0", target=target)
    assert done.code == 0, done.err
    assert broken(target) == {}
    await ask(target, *DAMAGE.values())
    found = broken(target)
    await ask(target, *REPAIR)
    assert found == {
        "rows": "1 table: in_table sbtest2, rows_found 499",
        "gaps": found["gaps"],
        "beyond": found["beyond"],
        "texts": "1 row: in_table sbtest1, id 3, length_of_c 119, length_of_pad 4",
    }
    assert found["gaps"].startswith("3 gaps: in_table sbtest")
    assert found["beyond"].startswith("2 rows: in_table sbtest")
    assert broken(target) == {}


async def test_duplicate_ids_are_reported_where_no_key_forbids_them(any_tables: PrivateServer) -> None:
    target = any_tables.target
    await ask(target, "CREATE TABLE keyless LIKE sbtest1", "ALTER TABLE keyless MODIFY id INT NOT NULL")
    await ask(target, "ALTER TABLE keyless DROP PRIMARY KEY, ADD KEY (id)", "RENAME TABLE sbtest1 TO kept")
    await ask(target, "INSERT INTO keyless SELECT * FROM kept", "RENAME TABLE keyless TO sbtest1")
    try:
        assert broken(target) == {}
        await ask(target, "INSERT INTO sbtest1 SELECT * FROM kept WHERE id IN (5, 6)")
        found = broken(target)
    finally:
        await ask(target, "DROP TABLE sbtest1", "RENAME TABLE kept TO sbtest1")
    assert set(found) == {"rows", "twice"}
    assert found["twice"].startswith("2 ids: in_table sbtest1")


@pytest.mark.parametrize(
    ("hint", "key"), [("USE INDEX ()", {None, "PRIMARY"}), ("FORCE INDEX (k_1)", {"k_1"})]
)
async def test_the_table_and_its_index_are_read_apart(
    tables: PrivateServer, hint: str, key: set[str | None]
) -> None:
    program = library.load_program("oltp_read_write", {"tables": 1, "table_size": 500})
    (index,) = (
        each for each in conditions.sbtest_conditions(build_data_set(program)) if each.name == "index"
    )
    (part,) = (part for part in index.differing.split("(SELECT")[1:] if hint in part)
    sql = "SELECT" + part[: part.index(") AS o")]
    rows = await ask(
        tables.target,
        f"EXPLAIN FORMAT=TRADITIONAL {sql}" if "MySQL" in str(tables.binary) else f"EXPLAIN {sql}",
    )
    assert {row[6 if len(row) > 10 else 5] for row in rows} <= key
