"""Texts of a price list: a sentence for each price, the tornado table, what a faster service would bring."""

from collections.abc import Callable, Iterator

from tuibench.base import units
from tuibench.base.document import (
    Bar,
    Block,
    Cell,
    Document,
    Section,
    Shape,
    Table,
    Text,
    section,
    write_markdown,
    write_text,
)
from tuibench.model.prices import SERVICE_LABELS, Estimate, Price, PriceList, Service
from tuibench.record.recorder import pretty_json

TITLE = "Prices"
MOST_GAIN = 1000.0
BETTER = {
    Service.FSYNC: "a disk that syncs in {target} instead of {now}",
    Service.PAGE_READ: "a disk that reads a page in {target} instead of {now}",
    Service.PAGE_WRITE: "a disk that writes a page in {target} instead of {now}",
    Service.ROUND_TRIP: "a round trip of {target} instead of {now}",
}
METHOD = (
    "A service took the step longer, in alternation with its present time, in windows of {window:g} s and "
    "random order; intervals are 95 %, Student's t of the cycles. Prices hold for this load: with more "
    "connections, one flush serves several commits.",
    "What a faster service would bring is the slope, carried on below the present time; at most means that "
    "the account of time has no more of it to save.",
)


def price_sentence(price: Price) -> str:
    """What one more millisecond costs; empty without a price."""
    cost = price.cost_percent
    if cost is None:
        return ""
    name = SERVICE_LABELS[price.service]
    if cost.includes(0):
        bound = max(abs(cost.low), abs(cost.high))
        return f"one more ms of {name} costs no TPS that can be told from noise: at most {bound:.2g} %"
    return f"one more ms of {name} costs {cost.value:.2g} % of TPS ({cost.low:.2g}..{cost.high:.2g})"


def gain_sentence(price: Price) -> str:
    """What a faster service would bring; empty if that is not known."""
    gain, target_ms, now_ms = price.gain_percent, price.target_ms, price.now_ms
    if gain is None or target_ms is None or now_ms is None:
        return ""
    better = BETTER[price.service].format(target=f"{target_ms:g} ms", now=f"{units.significant(now_ms)} ms")
    if gain.includes(0):
        text = f"{better} would bring nothing that can be told from noise"
    else:
        text = f"{better} would bring {_signed(gain)}, if the slope holds down there"
    most = price.most_percent
    if most is None:
        return text
    return f"{text}; {'but ' if most < gain.low else ''}at most {_plain(most)} %"


def _signed(estimate: Estimate) -> str:
    low, high = (_plain(edge).removeprefix("+") for edge in (estimate.low, estimate.high))
    return f"{_plain(estimate.value)} % ({low}..{high})"


def _plain(percent: float) -> str:
    """A gain in percent; more than tenfold is not worth a number that nobody can expect."""
    return (
        "more than +1,000"
        if percent > MOST_GAIN
        else f"{percent:+,.0f}"
        if abs(percent) >= 1
        else f"{percent:+.1f}"
    )


def _interval(estimate: Estimate | None) -> str:
    return (
        units.DASH if estimate is None else f"{estimate.value:.3g} ({estimate.low:.3g}..{estimate.high:.3g})"
    )


def prices_table(found: PriceList) -> Table:
    """The prices, the dearest first, with bars of the TPS that a millisecond costs."""
    costs = [price.cost_percent for price in found.prices if price.cost_percent is not None]
    most = units.axis_maximum(max([5.0, *(abs(edge) for cost in costs for edge in (cost.low, cost.high))]))
    return Table(
        header=("one more ms of", "", "TPS %", "p95 ms", "pairs"),
        rows=tuple(_price_row(price, most) for price in found.prices if price.cost_percent is not None),
        words=2,
    )


def _price_row(price: Price, most: float) -> tuple[Cell, ...]:
    cost = price.cost_percent
    assert cost is not None  # noqa: S101
    fallen = Estimate(-cost.value, -cost.high, -cost.low)
    bar = Bar(fallen.low, fallen.value, fallen.high, most)
    name = SERVICE_LABELS[price.service]
    return name, bar, _interval(fallen), _interval(price.p95_ms), str(price.pairs)


def services_table(found: PriceList) -> Table:
    """How long each service takes at present, how often, and its share of a transaction by both accounts."""
    return Table(
        header=("service", "now ms", "per trx", "step ms", "time %", "slope %"),
        rows=tuple(
            (
                SERVICE_LABELS[price.service],
                units.DASH if price.now_ms is None else units.significant(price.now_ms),
                units.significant(price.per_transaction),
                f"{price.step_ms:g}" if price.step_ms else units.DASH,
                units.DASH if price.account_percent is None else f"{price.account_percent:.0f}",
                _interval(price.slope_percent),
            )
            for price in found.prices
        ),
    )


def head_line(found: PriceList) -> str:
    return (
        f"{units.pluralize(found.threads, 'connection')}, {found.tps:,.0f} TPS, "
        f"{found.transaction_ms:.3g} ms a transaction"
    )


def answer(found: PriceList) -> str:
    """The dearest price, and what less of it would bring."""
    first = next(iter(found.prices), None)
    parts = [] if first is None else [price_sentence(first), gain_sentence(first)]
    return "; ".join(filter(None, parts)) or found.ended or "no price could be measured"


def _remarks(found: PriceList) -> Iterator[str]:
    for price in found.prices:
        for text in (price_sentence(price), gain_sentence(price)):
            if text:
                yield text
        if price.note:
            yield f"{SERVICE_LABELS[price.service]}: {price.note}"
    if found.ended:
        yield f"ended early: {found.ended}"


def prices_blocks(found: PriceList) -> Iterator[Block | Section]:
    yield Text((head_line(found),))
    if found.has_prices:
        yield prices_table(found)
    if found.prices:
        yield services_table(found)
    yield Text(tuple(_remarks(found)), Shape.LIST)
    yield Text(tuple(line.format(window=found.window_seconds) for line in METHOD))


def prices_document(found: PriceList) -> Document:
    return Document(title="What a millisecond costs", sections=(section(TITLE, *prices_blocks(found)),))


def _as_page(found: PriceList) -> str:
    from tuibench.report.html_plots import document_page

    return document_page(prices_document(found))


FORMATS: dict[str, Callable[[PriceList], str]] = {
    "text": lambda found: write_text(tuple(prices_blocks(found))),
    "markdown": lambda found: write_markdown(prices_document(found)),
    "html": _as_page,
    "json": lambda found: pretty_json(found).decode(),
}
