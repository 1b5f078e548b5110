"""Specification of a session."""

from typing import NamedTuple

import msgspec

from tuibench.model.plan import GRACE_SECONDS, RunPlan
from tuibench.model.server import Target


class Address(NamedTuple):
    """Address to listen on; port 0 is any free port."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class ReplicaChoice(msgspec.Struct, frozen=True, kw_only=True):
    """The replicas to read: the named ones, and with `find` those that the server lists. None by default."""

    targets: tuple[Target, ...] = ()
    find: bool = False

    @property
    def is_wanted(self) -> bool:
        return self.find or bool(self.targets)


class SessionSpec(msgspec.Struct, frozen=True, kw_only=True):
    """One run on one server.

    `session` is its name, `run_directory` the folder of its record. `inherit_fds` are descriptors that its
    guardian must also hold open: a private server lives as long as a process holds its pipe.
    `private_server` is the directory of a private server, with whose end the run ends; empty for others.
    `control` are the descriptors by which it may be killed and started again, None if it may not.
    `yes_this_server` allows changes of settings although the server looks like production. `drain_seconds` is
    how long transactions in flight may take at the end before they are abandoned. `metrics_at` is the address
    of its metrics for Prometheus, None for none. `replicas` are the plan's replicas, with their logins.
    """

    session: str
    plan: RunPlan
    target: Target
    run_directory: str
    inherit_fds: tuple[int, ...] = ()
    private_server: str = ""
    control: tuple[int, int] | None = None

    yes_this_server: bool = False
    drain_seconds: float = 2.0
    metrics_at: Address | None = None
    replicas: ReplicaChoice = ReplicaChoice()

    @property
    def pass_fds(self) -> tuple[int, ...]:
        """The descriptors that the session's process needs."""
        return self.inherit_fds + (self.control or ())


class ServiceSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A session to be served on a socket.

    `grace_seconds` is how long it continues without a viewer, None for no limit.
    """

    session: SessionSpec
    socket: str
    grace_seconds: float | None = GRACE_SECONDS


class Launched(msgspec.Struct, frozen=True, kw_only=True):
    """The reply of a starting service: its socket, or (with an exit code) the reason why it cannot run."""

    socket: str = ""
    message: str = ""
    hint: str = ""
    exit_code: int = 0
