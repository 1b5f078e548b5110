"""One row a run, with what else moves the result: machine, network, binary log, size of the data."""

from tuibench import units
from tuibench.model.sweep import TPS, CellResult, Sweep, Variant
from tuibench.record.grid import Grid
from tuibench.record.sweep_summary import label, number

COLUMNS = (
    "CPU", "Mem", "Ping", "Binlog", "Threads", "Table Size", "Files Size", "CPU Used", "Mem Used",
    TPS, "QPS", "ERR", "Latency",
)  # fmt: skip

NOTES = (
    "CPU Used, Mem Used: the server's process, the former as a share of its host; Latency: 95th percentile",
)
WITHOUT_BINLOG = {"off", "0", "false", "no"}


def grid(sweep: Sweep) -> Grid:
    """The runs that count, in the order they ended. What is the same in all of them has no column before."""
    plan = sweep.record.plan
    shown = {
        "Profile": len(plan.cases) > 1,
        "Settings": len(plan.variants) > 1,
        "Run": plan.repeats > 1,
    }
    before = tuple(name for name, is_shown in shown.items() if is_shown)
    rows = []
    for result in sweep.done:
        cell = result.cell
        words = {"Profile": cell.case.name, "Settings": label(cell.variant), "Run": str(cell.repeat)}
        rows.append((*(words[name] for name in before), *_row(sweep, result)))
    return Grid(
        title="", header=(*before, *_columns(sweep)), rows=tuple(rows), words=len(before), notes=NOTES
    )


def _columns(sweep: Sweep) -> tuple[str, ...]:
    """TPS is called by the name that the profiles have for what they are about."""
    names = " or ".join(dict.fromkeys(result.headline for result in sweep.done))
    return tuple(names or TPS if column == TPS else column for column in COLUMNS)


def _row(sweep: Sweep, result: CellResult) -> tuple[str, ...]:
    cell, figures = result.cell, result.figures
    if figures is None:
        return (units.DASH,) * len(COLUMNS)
    return (
        units.count(result.cores),
        units.data(result.memory_total_bytes),
        units.milliseconds(ping_ms(sweep)),
        "on" if has_binlog(sweep, cell.variant) else "off",
        str(cell.threads),
        cell.case.size,
        units.data(files_bytes(sweep, cell.case.data)),
        units.percent(figures.cpu_server),
        units.data(figures.memory_server_bytes),
        number(figures.headline),
        number(figures.qps),
        f"{figures.errors:,.0f}",
        units.milliseconds(figures.p95_ms),
    )


def ping_ms(sweep: Sweep) -> float | None:
    """A round trip, with the make-believe network of the plan; None if it is not known."""
    known = sweep.record.surroundings.ping_ms
    return None if known is None else known + sweep.record.plan.base.client_delay_ms


def has_binlog(sweep: Sweep, variant: Variant) -> bool:
    """True if what the load writes goes to the binary log."""
    told = variant.settings.get("sql_log_bin", "on").lower()
    return sweep.record.surroundings.binlog and told not in WITHOUT_BINLOG


def files_bytes(sweep: Sweep, data: str) -> int | None:
    """The size of the files of a case's tables, before its cells ran."""
    return next((one.files_bytes for one in sweep.data if one.data == data), None)
