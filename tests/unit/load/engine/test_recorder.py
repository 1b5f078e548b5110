"""What the users of a worker note down becomes counters and histograms."""

from tests.unit.load.programs import BEGIN, EXPLICIT, SELECT, UPDATE, program
from tuibench.errors import ConnectionLostError, SQLError
from tuibench.load.engine.recorder import OTHER, READ, WRITE, LatencyRecorder
from tuibench.workload.program.program import FlatStatement, flat_statements


def recorder() -> LatencyRecorder:
    return LatencyRecorder(flat_statements(program(EXPLICIT)), [EXPLICIT.name])


def test_each_statement_has_the_kind_of_its_class() -> None:
    assert recorder().kinds == [OTHER, READ, WRITE, OTHER]


def test_statements_of_one_name_share_their_latencies() -> None:
    tables = [FlatStatement(SELECT.name, SELECT.cls, f"SELECT c FROM t{n}") for n in (1, 2)]
    both = LatencyRecorder(tables, ["only"])
    both.latencies_us[0].append(100)
    both.latencies_us[1].append(300)
    statements = both.take().statements
    assert {name: (each.count, each.sum_us) for name, each in statements.items()} == {SELECT.name: (2, 400)}


def test_taking_empties_the_latencies_and_names_only_what_ran() -> None:
    noted = recorder()
    noted.latencies_us[2].append(70)
    noted.response_us[0].append(8000)
    noted.service_us.append(7000)
    taken = noted.take()
    assert (taken.response.count, taken.service.count, list(taken.statements)) == (1, 1, [UPDATE.name])
    taken = noted.take()
    assert (taken.response.count, taken.service.count, taken.statements) == (0, 0, {})


def test_transactions_of_several_kinds_are_kept_apart_and_together() -> None:
    noted = LatencyRecorder([], ["new", "old", "never"])
    noted.response_us[0].append(1000)
    noted.response_us[1] += [4000, 7000]
    taken = noted.take()
    assert (taken.response.count, taken.response.sum_us) == (3, 12_000)
    kinds = {name: (each.count, each.sum_us) for name, each in taken.by_transaction.items()}
    assert kinds == {"new": (1, 1000), "old": (2, 11_000)}
    assert noted.take().by_transaction == {}


def test_a_single_kind_is_not_kept_twice() -> None:
    noted = recorder()
    noted.response_us[0].append(1000)
    assert noted.take().by_transaction == {}


def test_questions_are_all_statements_that_the_server_received() -> None:
    noted = recorder()
    noted.tally[:] = [10, 4, 2]
    noted.other_questions = 3
    noted.failed(SQLError(1213, "deadlock"))
    noted.failed(ConnectionLostError(2013, "connection lost"))
    totals = noted.totals()
    assert (totals.queries, totals.questions) == (16, 16 + 3 + 1)
    assert totals.errors == {1213: 1, 2013: 1}


def test_totals_are_a_copy() -> None:
    noted = recorder()
    before = noted.totals()
    noted.failed(SQLError(1213, "deadlock"))
    assert before.errors == {}
    assert BEGIN.name not in noted.take().statements
