"""Result of `tuibench cluster check` for one host."""

import msgspec


class HostCheck(msgspec.Struct, frozen=True, kw_only=True):
    """One host. `problem` is the reason why it cannot take part, empty if it can; `notes` are differences to
    this host.

    `server_ms` is the time of a login to the server, None if none was tried or it failed. `native` is the
    version of the native engine, empty without it. `descriptors` is the limit of open files per process.
    """

    name: str
    version: str = ""
    python: str = ""
    cores: int = 0
    descriptors: int = 0
    native: str = ""
    clock_offset_ms: float | None = None
    clock_error_ms: float | None = None
    round_trip_ms: float | None = None
    server_ms: float | None = None
    problem: str = ""
    remedy: str = ""
    notes: tuple[str, ...] = ()
