"""What the users of a worker note down becomes counters and histograms."""

from tests.unit.load.programs import BEGIN, EXPLICIT, SELECT, UPDATE, program
from tuibench.load.recorder import OTHER, READ, WRITE, Recorder
from tuibench.workload.program import FlatStatement, flat_statements


def recorder() -> Recorder:
    return Recorder(flat_statements(program(EXPLICIT)))


def test_each_statement_has_the_kind_of_its_class() -> None:
    assert recorder().kinds == [OTHER, READ, WRITE, OTHER]


def test_statements_of_one_name_share_their_latencies() -> None:
    tables = [FlatStatement(SELECT.name, SELECT.cls, f"SELECT c FROM t{n}") for n in (1, 2)]
    both = Recorder(tables)
    both.latencies_us[0].append(100)
    both.latencies_us[1].append(300)
    _, statements = both.take()
    assert {name: (each.count, each.sum_us) for name, each in statements.items()} == {SELECT.name: (2, 400)}


def test_taking_empties_the_latencies_and_names_only_what_ran() -> None:
    noted = recorder()
    noted.latencies_us[2].append(70)
    noted.transactions_us.append(900)
    transactions, statements = noted.take()
    assert (transactions.sum_us, list(statements)) == (900, [UPDATE.name])
    transactions, statements = noted.take()
    assert (transactions.count, statements) == (0, {})


def test_questions_are_all_that_the_server_heard() -> None:
    noted = recorder()
    noted.tally[:] = [10, 4, 2]
    noted.unanswered = 3
    noted.failed(1213, answered=True)
    noted.failed(2013, answered=False)
    totals = noted.totals()
    assert (totals.queries, totals.questions) == (16, 16 + 3 + 1)
    assert totals.errors == {1213: 1, 2013: 1}


def test_totals_are_a_copy() -> None:
    noted = recorder()
    before = noted.totals()
    noted.failed(1213, answered=True)
    assert before.errors == {}
    assert BEGIN.name not in noted.take()[1]
