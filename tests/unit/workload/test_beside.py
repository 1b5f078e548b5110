"""The anomaly meter beside another load: one program, one data set."""

import pytest

from tuibench.base.errors import UsageError
from tuibench.workload.dataset import build_data_set, data_set_of_load
from tuibench.workload.library import load_program
from tuibench.workload.program import weights_of

OF_METER = weights_of(load_program("anomalies"))
BESIDE = {"with_anomalies": "", "anomaly-share": "20", "anomaly_fix": "for-update", "anomaly_rows": "7"}


def test_the_meters_share_is_that_of_all_transactions() -> None:
    program = load_program("oltp_read_write", {"tables": 2, **BESIDE})
    weights = weights_of(program)
    meter = sum(weights[name] for name in OF_METER)
    assert meter / sum(weights.values()) == pytest.approx(0.2)
    assert weights["increment"] / weights["relief"] == pytest.approx(
        OF_METER["increment"] / OF_METER["relief"]
    )
    assert program.options["tables"] == 2
    assert any("FOR UPDATE" in each.sql[0] for each in program.transactions[1].steps[2].statements)


def test_a_deck_keeps_its_exact_mix() -> None:
    weights = weights_of(load_program("tpcc", {"with_anomalies": "on"}))
    own = {name: weight for name, weight in weights.items() if name not in OF_METER}
    alone = weights_of(load_program("tpcc"))
    times = own["delivery"] / alone["delivery"]
    assert own == {name: weight * times for name, weight in alone.items()}
    assert all(weight == int(weight) > 0 for weight in weights.values())
    assert 1 - sum(own.values()) / sum(weights.values()) == pytest.approx(0.05, rel=0.05)


def test_the_tables_are_those_of_both() -> None:
    program = load_program("oltp_read_write", {"tables": 2, "table_size": 50, **BESIDE})
    both, load = build_data_set(program), data_set_of_load(program)
    assert set(both.table_names()) > set(load.table_names())
    assert (both.size("sbtest2"), both.size("anomaly_counter")) == (50, 7)
    assert all(both.chunk_rows(table) for table in both.table_names())
    assert both.TALLY is not None
    assert load.TALLY is None
    assert both.prepare_command("oltp_read_write").endswith(" --with-anomalies --anomaly-rows=7")
    assert all(both.is_table_name(table) and both.columns(table) for table in both.table_names())
    assert {"sbtest2", "anomaly_counter"} <= both.size_checks().keys()


@pytest.mark.parametrize(
    ("profile", "options", "message"),
    [
        ("anomalies", {"with_anomalies": ""}, "cannot be used with anomalies"),
        ("oltp_read_only", {"with_anomalies": "perhaps"}, "--with-anomalies"),
        ("oltp_read_only", {"with_anomalies": "", "anomaly_share": "99"}, "--anomaly-share"),
        ("oltp_read_only", {"with_anomalies": "", "anomaly_fixes": "none"}, "--anomaly-fixes"),
        ("oltp_read_only", {"anomaly_fix": "none"}, "--anomaly-fix"),
    ],
)
def test_what_is_impossible_is_refused(profile: str, options: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        load_program(profile, options)


def test_off_is_as_if_it_were_not_given() -> None:
    assert load_program("oltp_read_only", {"with_anomalies": "off"}) == load_program("oltp_read_only")
