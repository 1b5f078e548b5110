"""sysbench's tests that are no mix of the others: their statements, options and variants."""

from collections import Counter
from collections.abc import Iterator

import pytest

from tests.tables import for_each
from tests.unit.workload.player import Player, Sent, nothing
from tuibench.base.errors import UsageError
from tuibench.workload import library
from tuibench.workload.dataset import build_data_set
from tuibench.workload.program import Program, flat_statements
from tuibench.workload.sql import StatementClass

SBTEST_OPTIONS = {"range_size": 100, "tables": 1, "table_size": 10_000, "auto_inc": True, "skip_trx": False}
SINGLE = {
    "oltp_update_index": "UPDATE sbtest{} SET k=k+1 WHERE id=?",
    "oltp_update_non_index": "UPDATE sbtest{} SET c=? WHERE id=?",
    "oltp_delete": "DELETE FROM sbtest{} WHERE id=?",
    "oltp_insert": "INSERT INTO sbtest{} (id, k, c, pad) VALUES (?, ?, ?, ?)",
}


def sysbenchs() -> Iterator[str]:
    """The profiles on sysbench's tables."""
    for name in library.available_profiles():
        if not name.startswith("classic.") and library.load_profile(name).data_set in ("sbtest", "bulk"):
            yield name


def program(name: str, **options: object) -> Program:
    return library.load_program(name, {"tables": 3, "table_size": 1000, **options})


def play(of: Program, connection: int = 0) -> list[Sent]:
    return Player(of, nothing, connection=connection).play()


@pytest.mark.parametrize("name", SINGLE)
def test_a_test_of_one_statement_sends_it_alone_to_every_table(name: str) -> None:
    of = program(name)
    player = Player(of, nothing)
    sent = [player.play() for _ in range(100)]
    assert {len(calls) for calls in sent} == {1}
    assert {calls[0].sql for calls in sent} == {SINGLE[name].format(table) for table in (1, 2, 3)}
    assert all(flat.cls is StatementClass.WRITE for flat in flat_statements(of))
    assert not of.transactions[0].explicit


@pytest.mark.parametrize(
    ("name", "option"),
    [("oltp_update_index", "index_updates"), ("oltp_update_non_index", "non_index_updates")],
)
def test_updates_are_done_as_often_as_their_option_says(name: str, option: str) -> None:
    """sysbench loops over the option here too, on one table for all of them."""
    sent = play(program(name, **{option: 4}))
    assert len(sent) == 4
    assert len({call.sql for call in sent}) == 1
    assert len({call.values for call in sent}) > 1


@pytest.mark.parametrize("name", ["oltp_point_select", "oltp_delete"])
def test_point_select_and_delete_know_only_one_statement(name: str) -> None:
    assert len(play(program(name, point_selects=5))) == 1


def test_an_insert_is_text_and_lets_the_server_number_it() -> None:
    of = program("oltp_insert")
    ((_, _, (first, k, c, pad)),) = play(of)
    assert (first, len(c), len(pad)) == (0, 119, 59)
    assert 1 <= k <= 1000
    assert not any(flat.prepared for flat in flat_statements(of))
    assert not of.empty


def test_without_auto_inc_an_insert_brings_a_number_of_its_own() -> None:
    """And prepare makes empty tables, as sysbench does, for they might hold the number already."""
    of = program("oltp_insert", auto_inc="off", threads=4)
    ids: list[int] = []
    for connection in range(6):
        player = Player(of, nothing, connection=connection)
        ids += [player.play()[0].values[0] for _ in range(500)]
    assert len(set(ids)) == len(ids)
    assert min(ids) < -(2**30)
    assert max(ids) > 2**30
    assert all(-(2**31) <= number < 2**31 for number in ids)
    assert build_data_set(of).size("sbtest1") == 0
    assert build_data_set(of).prepare_command("oltp_insert").endswith("--table-size=1000 --auto-inc=off")


def test_random_points_are_in_one_statement() -> None:
    of = program("select_random_points")
    ((_, sql, values),) = play(of)
    assert sql == f"SELECT id, k, c, pad FROM sbtest1 WHERE k IN ({', '.join('?' * 10)})"
    assert len(set(values)) > 1
    assert len(play(program("select_random_points", random_points=3))[0].values) == 3


def test_random_ranges_are_in_one_statement() -> None:
    ((_, sql, values),) = play(program("select_random_ranges"))
    assert sql == f"SELECT count(k) FROM sbtest1 WHERE {' OR '.join(['k BETWEEN ? AND ?'] * 10)}"
    assert all(last - first == 5 for first, last in zip(values[::2], values[1::2], strict=True))
    ((_, sql, values),) = play(program("select_random_ranges", number_of_ranges=1, delta=9))
    assert sql == "SELECT count(k) FROM sbtest1 WHERE k BETWEEN ? AND ?"
    assert values[1] - values[0] == 9


@pytest.mark.parametrize("name", ["select_random_points", "select_random_ranges"])
def test_each_connection_reads_its_own_part_of_the_keys(name: str) -> None:
    """sysbench shares table_size out to the threads; a connection beyond them has an earlier one's part."""
    given = {"delta": 0} if name == "select_random_ranges" else {}
    of = program(name, threads=4, rand_type="uniform", **given)
    for connection in range(6):
        player = Player(of, nothing, connection=connection)
        keys = [key for _ in range(200) for key in player.play()[0].values]
        part = connection % 4
        assert (min(keys), max(keys)) == (250 * part, 250 * part + 250)


def test_a_bulk_insert_fills_a_table_of_its_own() -> None:
    of = library.load_program("bulk_insert", {"threads": 3, "rows_per_insert": 4})
    assert of.tables == ("sbtest1", "sbtest2", "sbtest3")
    for connection in range(3):
        player = Player(of, nothing, connection=connection)
        first, second = player.play()[0], player.play()[0]
        assert first.sql == f"INSERT INTO sbtest{connection + 1} VALUES(?,?),(?,?),(?,?),(?,?)"
        assert first.values == (1, 1, 2, 2, 3, 3, 4, 4)
        assert second.values == (5, 5, 6, 6, 7, 7, 8, 8)


def test_a_connection_beyond_the_tables_brings_other_rows() -> None:
    of = library.load_program("bulk_insert", {"threads": 2, "rows_per_insert": 1})
    added = play(of, connection=2)[0]
    assert (added.sql, added.values) == (play(of)[0].sql, (500_000_001, 500_000_001))


def test_a_bulk_inserts_tables_are_sysbenchs() -> None:
    spec = build_data_set(library.load_program("bulk_insert", {"threads": 2, "mysql_storage_engine": "aria"}))
    assert spec.create_sql("sbtest2").split("\n") == [
        "CREATE TABLE sbtest2 (",
        "  id INTEGER NOT NULL,",
        "  k INTEGER DEFAULT '0' NOT NULL,",
        "  PRIMARY KEY (id)) ENGINE=aria",
    ]
    assert (spec.size("sbtest2"), spec.index_sql("sbtest2")) == (0, "")
    assert spec.describe() == "2 empty tables"
    assert spec.cleanup_command("bulk_insert") == "tuibench cleanup bulk_insert --threads=2"
    assert spec.prepare_command("bulk_insert") == (
        "tuibench prepare bulk_insert --threads=2 --mysql-storage-engine=aria"
    )


@pytest.mark.parametrize(
    ("variant", "base", "range_size"),
    [
        ("oltp_read_write.range100", "oltp_read_write", 100),
        ("oltp_read_write.range10000", "oltp_read_write", 10_000),
        ("oltp_read_only.range10", "oltp_read_only", 10),
        ("oltp_read_only.range10000", "oltp_read_only", 10_000),
    ],
)
def test_a_variant_is_another_with_other_defaults(variant: str, base: str, range_size: int) -> None:
    assert play(program(variant)) == play(program(base, range_size=range_size))
    assert library.load_program(variant).options["range_size"] == range_size
    assert library.load_program(variant, {"range-size": 7}).options["range_size"] == 7


@for_each("name", (name for name in sysbenchs() if name != "bulk_insert"))
def test_every_test_has_sysbenchs_common_options(name: str) -> None:
    options = library.load_program(f"{name}.lua").options
    assert {**SBTEST_OPTIONS, "range_size": options["range_size"]} == {
        key: options[key] for key in SBTEST_OPTIONS
    }


@pytest.mark.parametrize(
    ("name", "option", "default", "wrong"),
    [
        ("select_random_points", "random_points", 10, "random-point"),
        ("select_random_ranges", "number_of_ranges", 10, "number-of-range"),
        ("select_random_ranges", "delta", 5, "dleta"),
        ("bulk_insert", "mysql_storage_engine", "", "mysql-storage-engin"),
    ],
)
def test_own_options_have_sysbenchs_names(name: str, option: str, default: object, wrong: str) -> None:
    assert library.load_program(name).options[option] == default
    with pytest.raises(UsageError) as error:
        library.load_program(name, {wrong: 1})
    assert error.value.hint == f"did you mean '--{option.replace('_', '-')}'?"


def test_bulk_insert_has_no_options_of_the_other_tests() -> None:
    with pytest.raises(UsageError, match="unknown option --table-size"):
        library.load_program("bulk_insert", {"table_size": 10})


def test_too_many_placeholders_are_reported_before_the_server_refuses() -> None:
    of = library.load_program("select_random_points", {"random_points": 10_000})
    assert len(play(of)[0].values) == 10_000
    with pytest.raises(UsageError, match="too large"):
        library.load_program("select_random_points", {"random_points": 10_001})


@for_each("name", sysbenchs())
def test_a_seed_gives_the_same_statements_whatever_the_number_of_workers(name: str) -> None:
    """Connections are dealt out to workers; each makes its generators from program, seed and number alone."""
    of = library.load_program(name, {"threads": 8})
    streams = {}
    for workers in (1, 3, 8):
        found = {}
        for worker in range(workers):
            for connection in range(worker, 8, workers):
                player = Player(of, nothing, seed=5, connection=connection)
                found[connection] = [player.play() for _ in range(3)]
        streams[workers] = found
    assert streams[1] == streams[3] == streams[8]
    assert Counter(map(repr, streams[1].values())).most_common(1)[0][1] == 1 or name == "bulk_insert"
