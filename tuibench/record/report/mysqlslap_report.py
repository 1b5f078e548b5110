"""mysqlslap's report and CSV, label for label, and additional lines.

Scripts parse the first two; formats are those of mysqlslap 1.0 (MariaDB 10.11). Times are truncated to
milliseconds, as in mysqlslap.
"""

from tuibench.model.counters import Counter
from tuibench.model.results.summary import OWN_QUERIES, SlapBenchmark

MS_PER_SECOND = 1000
GENERATED_BY_DEFAULT = "mixed"
"""mysqlslap's CSV has this for a user's own queries, too."""

FIGURES = (
    (Counter.COM_SELECT, "selects"),
    (Counter.COM_INSERT, "inserts"),
    (Counter.COM_UPDATE, "updates"),
    (Counter.INNODB_ROWS_READ, "rows read"),
    (Counter.ROW_LOCK_WAITS, "row lock waits"),
    (Counter.DATA_FSYNCS, "fsyncs by InnoDB"),
    (Counter.SLOW_QUERIES, "slow queries"),
)
"""Server counters that are reported if they grew, with their descriptions."""


def slap_report_text(done: SlapBenchmark) -> str:
    """mysqlslap's report of one benchmark, ending in an empty line."""
    average, least, most = _times(done)
    engine = [f"\tRunning for engine {done.engine}"] if done.engine else []
    lines = [
        "Benchmark",
        *engine,
        f"\tAverage number of seconds to run all queries: {average} seconds",
        f"\tMinimum number of seconds to run all queries: {least} seconds",
        f"\tMaximum number of seconds to run all queries: {most} seconds",
        f"\tNumber of clients running queries: {done.clients}",
        f"\tAverage number of queries per client: {done.queries_per_client}",
    ]
    return "\n".join(lines) + "\n\n"


def slap_csv_row(done: SlapBenchmark) -> str:
    """mysqlslap's row: engine, load type, average, minimum, maximum, clients, queries per client."""
    average, least, most = _times(done)
    load_type = GENERATED_BY_DEFAULT if done.load_type == OWN_QUERIES else done.load_type
    cells = (done.engine, load_type, average, least, most, done.clients, done.queries_per_client)
    return ",".join(map(str, cells)) + "\n"


def slap_extra_lines(done: SlapBenchmark) -> list[str]:
    """Figures that mysqlslap does not report: throughput, percentiles, errors, and server counters."""
    queries = done.queries
    who = f"{done.clients} clients" + (f", {done.engine}" if done.engine else "")
    lines = [
        f"{who}: {queries.per_second:,.0f} queries/s "
        f"({queries.read:,} reads, {queries.write:,} writes, {queries.other:,} other)"
    ]
    if latency := done.latency_ms:
        lines.append(
            f"  query latency: p50 {latency.p50:.2f}, p95 {latency.p95:.2f}, p99 {latency.p99:.2f}, "
            f"p99.9 {latency.p999:.2f}, max {latency.max:.2f} ms"
        )
    if done.errors:
        errors = ", ".join(f"{code} × {times}" for code, times in done.errors.items())
        lines.append(f"  errors by code: {errors}; queries retried: {done.retries}")
    counted = [f"{done.server[name]:,} {words}" for name, words in FIGURES if done.server.get(name)]
    if counted:
        lines.append(f"  the server counted: {', '.join(counted)}")
    return lines


def _times(done: SlapBenchmark) -> tuple[str, str, str]:
    """Average, minimum and maximum, each truncated to whole milliseconds as in mysqlslap."""
    each = [int(seconds * MS_PER_SECOND) for seconds in done.seconds]
    average = sum(each) // len(each)
    return _written(average), _written(min(each)), _written(max(each))


def _written(milliseconds: int) -> str:
    return f"{milliseconds // MS_PER_SECOND}.{milliseconds % MS_PER_SECOND:03}"
