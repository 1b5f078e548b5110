"""What a cell measured, from its summary and its samples. Pure."""

from collections.abc import Callable, Iterable, Sequence
from statistics import fmean
from typing import TypeVar

from tuibench.model.sample import Sample
from tuibench.model.summary import Summary
from tuibench.model.sweep import Figures

Part = TypeVar("Part")


def figures_of(summary: Summary, samples: Sequence[Sample]) -> Figures:
    """The figures of a run; `samples` are those of its measured time."""
    servers = [sample.server for sample in samples if sample.server is not None]
    hosts = [sample.host for sample in samples if sample.host is not None]
    tps = summary.transactions.per_second
    latency, counted = summary.latency_ms, summary.reconciliation
    questions = None if counted.questions_server is None else counted.questions_server - counted.own
    return Figures(
        headline=summary.headline.value if summary.headline else tps,
        tps=tps,
        qps=summary.queries.per_second,
        avg_ms=latency.avg if latency else None,
        p95_ms=latency.p95 if latency else None,
        errors=summary.errors.total,
        retries=summary.retries,
        slow_queries=summary.server.deltas.get("Slow_queries"),
        open_tables=_most(servers, lambda server: server.open_tables),
        questions_per_second=None if questions is None else questions / (summary.seconds or 1e-9),
        cpu_server=_mean(hosts, lambda host: host.cpu_server),
        cpu_tuibench=_mean(hosts, lambda host: host.cpu_tuibench),
        cpu_total=_mean(hosts, lambda host: host.cpu_total),
        memory_server_bytes=_most(hosts, lambda host: host.memory_server_bytes),
        memory_used_bytes=_most(hosts, lambda host: host.memory_used_bytes),
    )


def _known(parts: Iterable[Part], figure: Callable[[Part], float | None]) -> list[float]:
    return [value for part in parts if (value := figure(part)) is not None]


def _mean(parts: Iterable[Part], figure: Callable[[Part], float | None]) -> float | None:
    values = _known(parts, figure)
    return fmean(values) if values else None


def _most(parts: Iterable[Part], figure: Callable[[Part], float | None]) -> float | None:
    return max(_known(parts, figure), default=None)
