"""What each operation costs: the resources for one query and one transaction, over the last seconds."""

from collections.abc import Sequence
from itertools import pairwise

from tuibench.metrics.series.cost_wording import resource_text
from tuibench.metrics.series.operation_cost import operation_cost, resource_use, total_use
from tuibench.model.measurements.operation_cost import OperationCost, Resource, ResourceUse
from tuibench.model.measurements.sample import Sample
from tuibench.tui.text.spans import TextLine, TextSpan, pad_line, shorten
from tuibench.tui.view import View

WINDOW_SAMPLES = 10
"""Server and load are read at different moments of a tick: over so many ticks that is no matter."""

_NAME, _VALUE = 22, 16


def operation_cost_panel(view: View, width: int, height: int) -> list[TextLine]:
    """A row for each resource: for a query, for a transaction, and why it is missing."""
    use = recent_use(view.recent)
    cost = operation_cost(use)
    heading = (
        TextSpan(f"{'COST OF AN OPERATION':<{_NAME}}", "title"),
        TextSpan(f"{'per query':>{_VALUE}}{'per transaction':>{_VALUE}}", "muted"),
    )
    note = f"over the last {WINDOW_SAMPLES} samples; a query is every statement, a transaction a commit"
    rows = [
        _row(resource, use, cost, width)
        for resource in Resource
        if resource is not Resource.HOST_CPU or resource in use.used
    ]
    lines = [heading, *rows, (), (TextSpan(note, "muted"),)]
    return [pad_line(line, width) for line in lines][:height]


def recent_use(samples: Sequence[Sample]) -> ResourceUse:
    """What was used over the newest samples."""
    newest = samples[-WINDOW_SAMPLES - 1 :]
    return total_use(resource_use(before, after) for before, after in pairwise(newest))


def _row(resource: Resource, use: ResourceUse, cost: OperationCost, width: int) -> TextLine:
    query, transaction = cost.per_query.get(resource), cost.per_transaction.get(resource)
    cells = "".join(f"{resource_text(resource, value):>{_VALUE}}" for value in (query, transaction))
    why = "" if transaction is not None else "no transactions"
    if query is None:
        why = "no queries" if resource in use.used else resource.facts.why
    room = width - _NAME - 2 * _VALUE - 3
    return (
        TextSpan(f"{resource.facts.label:<{_NAME}}", "muted"),
        TextSpan(cells, "strong" if query is not None else "muted"),
        TextSpan(f"   {shorten(why, room)}" if why and room > 8 else "", "muted"),
    )
