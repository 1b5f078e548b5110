"""Cost of an operation: the resources that a query and a transaction use, on server and client.

`Resource` is the table of measured resources, with name, unit and source.
"""

from enum import StrEnum
from typing import Self

import msgspec


class ResourceUnit(StrEnum):
    """A resource's unit."""

    MICROSECONDS = "µs"
    BYTES = "bytes"
    COUNT = "count"


class ResourceFacts(msgspec.Struct, frozen=True):
    """One row of the table. `why` is the usual reason for a missing value."""

    name: str
    label: str
    unit: ResourceUnit
    why: str


_HOST = (
    "the server's process cannot be read: screen 4 shows the reason; on another host "
    "--host-metrics=ssh:HOST helps"
)
_COUNTER = "not counted by this server"
_US, _BYTES, _COUNT = ResourceUnit.MICROSECONDS, ResourceUnit.BYTES, ResourceUnit.COUNT


class Resource(StrEnum):
    """All resources that are measured."""

    facts: ResourceFacts

    def __new__(cls, facts: ResourceFacts) -> Self:
        member = str.__new__(cls, facts.name)
        member._value_ = facts.name
        member.facts = facts
        return member

    SERVER_CPU = ResourceFacts("server_cpu_us", "server CPU", _US, _HOST)
    HOST_CPU = ResourceFacts(
        "host_cpu_us", "CPU of its host", _US, "known only for another host without figures of its processes"
    )
    CLIENT_CPU = ResourceFacts("client_cpu_us", "client CPU", _US, "no load, or its host cannot be read")
    VOLUNTARY_SWITCHES = ResourceFacts("voluntary_switches", "voluntary switches", _COUNT, _HOST)
    INVOLUNTARY_SWITCHES = ResourceFacts("involuntary_switches", "involuntary switches", _COUNT, _HOST)
    DISK_READS = ResourceFacts("disk_reads", "InnoDB reads", _COUNT, _COUNTER)
    DISK_READ_BYTES = ResourceFacts("disk_read_bytes", "disk read", _BYTES, _HOST)
    DISK_WRITES = ResourceFacts("disk_writes", "InnoDB writes", _COUNT, _COUNTER)
    DISK_WRITTEN_BYTES = ResourceFacts("disk_written_bytes", "disk written", _BYTES, _HOST)
    FSYNCS = ResourceFacts("log_fsyncs", "log fsyncs", _COUNT, _COUNTER)
    REDO_BYTES = ResourceFacts("redo_bytes", "redo", _BYTES, _COUNTER)
    BINLOG_BYTES = ResourceFacts("binlog_bytes", "binlog", _BYTES, "not counted, or the binary log is off")
    NETWORK_BYTES = ResourceFacts("network_bytes", "network", _BYTES, _COUNTER)


class ResourceUse(msgspec.Struct, frozen=True, kw_only=True):
    """Resources used in an interval, by the operations done in it. An unknown resource is absent.

    `transactions` and `queries` are those over which each resource was measured: a gap in the host's figures
    is not a gap in the counters.
    """

    used: dict[str, float] = {}
    transactions: dict[str, float] = {}
    queries: dict[str, float] = {}


class OperationCost(msgspec.Struct, frozen=True, kw_only=True):
    """Resources per transaction and per query, by the names of `Resource`; an unknown resource is absent."""

    per_transaction: dict[str, float] = {}
    per_query: dict[str, float] = {}
