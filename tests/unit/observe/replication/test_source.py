"""What a source knows of its replicas."""

import pytest

from tuibench.observe.replication.source import FoundReplica, LogPosition, behind, found_replicas


def test_a_replica_that_reports_its_address() -> None:
    rows = [{"Server_Id": 2, "Host": "db2", "Port": 3307, "Source_Id": 1}]
    assert found_replicas(rows, ["10.0.0.9:4711"]) == (FoundReplica("db2:3307", "db2", 3307),)


def test_one_that_does_not_is_where_its_connection_comes_from() -> None:
    rows = [{"Server_id": 2, "Host": "", "Port": 3306}, {"Server_id": 3, "Host": "", "Port": 3307}]
    assert [each.name for each in found_replicas(rows, ["10.0.0.9:1", "10.0.0.9:2"])] == [
        "10.0.0.9:3306",
        "10.0.0.9:3307",
    ]


def test_with_connections_from_several_hosts_it_has_a_name_only() -> None:
    rows = [{"Server_Id": 2, "Host": "", "Port": 3306}]
    assert found_replicas(rows, ["10.0.0.9:1", "10.0.0.8:2"]) == (FoundReplica("server 2", "", 3306),)
    assert found_replicas(rows, []) == (FoundReplica("server 2", "", 3306),)


@pytest.mark.parametrize(
    ("replayed", "bytes_behind"),
    [
        (LogPosition("log.2", 90), 10 + 100 + 7),
        (LogPosition("log.3", 100), 7),
        (LogPosition("log.4", 7), 0),
        (LogPosition("log.1", 0), None),
    ],
)
def test_bytes_over_several_files(replayed: LogPosition, bytes_behind: int | None) -> None:
    sizes = {"log.2": 100, "log.3": 100, "log.4": 50}
    assert behind(replayed, LogPosition("log.4", 7), sizes) == bytes_behind


def test_a_position_beyond_the_end_is_unknown() -> None:
    assert behind(LogPosition("b", 1), LogPosition("a", 1), {"a": 5, "b": 5}) is None
