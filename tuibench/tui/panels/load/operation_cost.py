"""Cost of operations: the resources per query and per transaction, over the last seconds."""

from collections.abc import Sequence

from tuibench.metrics.series.cost_messages import resource_text
from tuibench.metrics.series.operation_cost import operation_cost, resource_use, total_use
from tuibench.model.measurements.operation_cost import OperationCost, Resource, ResourceUse
from tuibench.model.measurements.sample import Sample
from tuibench.tui.text.spans import TextLine, TextSpan, pad_line, wrap_text
from tuibench.tui.view import View

WINDOW_SAMPLES = 10
"""Samples averaged. Over these, the different read times of server and load are negligible."""

_NAME, _VALUE = 22, 18


def operation_cost_panel(view: View, width: int, height: int) -> list[TextLine]:
    """One row per resource: per query, per transaction. Notes give the reason for a missing figure."""
    use = recent_use(view.recent)
    cost = operation_cost(use)
    heading = (
        TextSpan(f"{'COST OF AN OPERATION':<{_NAME}}", "title"),
        TextSpan(f"{'per query':>{_VALUE}}{'per transaction':>{_VALUE}}", "muted"),
    )
    listed = [resource for resource in Resource if resource is not Resource.HOST_CPU or resource in use.used]
    reasons = {resource: _missing_reason(resource, use, cost) for resource in listed}
    notes = [reason for reason in dict.fromkeys(reasons.values()) if reason]
    rows = [_row(resource, cost, notes, reasons[resource]) for resource in listed]
    span = f"Over the last {WINDOW_SAMPLES} samples. A query is any statement, a transaction a commit."
    lines = [heading, *rows, (), *_note_lines(notes, width), *_wrapped(span, width)]
    return [pad_line(line, width) for line in lines][:height]


def recent_use(samples: Sequence[Sample]) -> ResourceUse:
    """Resource usage over the newest samples."""
    return total_use(resource_use(sample.tick) for sample in samples[-WINDOW_SAMPLES:])


def _missing_reason(resource: Resource, use: ResourceUse, cost: OperationCost) -> str:
    """Why a figure of the row is missing; empty if none is."""
    if resource not in cost.per_query:
        return "no queries" if resource in use.used else resource.facts.why
    return "" if resource in cost.per_transaction else "no transactions"


def _row(resource: Resource, cost: OperationCost, notes: Sequence[str], reason: str) -> TextLine:
    query, transaction = cost.per_query.get(resource), cost.per_transaction.get(resource)
    cells = "".join(f"{resource_text(resource, value):>{_VALUE}}" for value in (query, transaction))
    return (
        TextSpan(f"{resource.facts.label:<{_NAME}}", "muted"),
        TextSpan(cells, "strong" if query is not None else "muted"),
        TextSpan(f" [{notes.index(reason) + 1}]" if reason else "", "muted"),
    )


def _note_lines(notes: Sequence[str], width: int) -> list[TextLine]:
    texts = (f"[{number}] {note}" for number, note in enumerate(notes, 1))
    return [line for text in texts for line in _wrapped(text, width)]


def _wrapped(text: str, width: int) -> list[TextLine]:
    return [(TextSpan(part, "muted"),) for part in wrap_text(text, width)]
