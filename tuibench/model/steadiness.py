"""How steady the throughput of a run was."""

import msgspec


class Stall(msgspec.Struct, frozen=True):
    """A stretch with next to no throughput, in seconds from the start of the run."""

    start_seconds: float
    end_seconds: float
    tps: float

    @property
    def seconds(self) -> float:
        return self.end_seconds - self.start_seconds


class Steadiness(msgspec.Struct, frozen=True, kw_only=True):
    """TPS of single seconds (of ticks, where those are longer), and all stalls in the order of time.

    `variation` is the coefficient of variation, standard deviation over mean; None without throughput. Pauses
    are left out.
    """

    p1: float
    p50: float
    p99: float
    variation: float | None
    longest_stall_seconds: float
    stalls: tuple[Stall, ...]
