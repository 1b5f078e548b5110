"""Texts of costs per operation, the same in summary, report and screen."""

from collections.abc import Mapping

from tuibench import units
from tuibench.model.experiments.effect import Effect
from tuibench.model.measurements.operation_cost import OperationCost, Resource, ResourceUnit


def cost_rows(cost: OperationCost) -> list[tuple[str, str, str]]:
    """For each resource its name, and the cost of a transaction and of a query."""
    return [
        (
            resource.facts.label,
            resource_text(resource, cost.per_transaction.get(resource)),
            resource_text(resource, cost.per_query[resource]),
        )
        for resource in Resource
        if resource in cost.per_query
    ]


def resource_text(resource: Resource, value: float | None) -> str:
    """A value with its unit: 412 µs, 1.2 KiB, 0.98."""
    match resource.facts.unit:
        case ResourceUnit.MICROSECONDS:
            return units.DASH if value is None else f"{units.small_number(value)} µs"
        case ResourceUnit.BYTES:
            return units.binary_size(value)
        case ResourceUnit.COUNT:
            return units.small_number(value)


def cost_lines(cost: OperationCost) -> list[str]:
    """A line for transactions and one for queries, with the known resources."""
    kinds = {"transaction": cost.per_transaction, "query": cost.per_query}
    return [f"cost of a {name}: {_parts(values)}" for name, values in kinds.items() if values]


def _parts(values: Mapping[str, float]) -> str:
    return ", ".join(
        f"{resource_text(resource, values[resource])} {resource.facts.label}"
        for resource in Resource
        if resource in values
    )


def change_parts(before: OperationCost | None, after: OperationCost | None) -> list[tuple[Resource, str]]:
    """The cost of an operation before and after: of a transaction if there are any, else of a query."""
    if before is None or after is None:
        return []
    is_transaction = bool(before.per_transaction and after.per_transaction)
    old, new = (each.per_transaction if is_transaction else each.per_query for each in (before, after))
    return [
        (resource, f"{resource_text(resource, old[resource])} → {resource_text(resource, new[resource])}")
        for resource in Resource
        if resource in old and resource in new
    ]


def effect_cost_lines(effect: Effect) -> list[str]:
    """A line with the cost of an operation before a change and after it; empty if unknown."""
    return change_cost_lines(effect.cost_before, effect.cost_after)


def change_cost_lines(before: OperationCost | None, after: OperationCost | None) -> list[str]:
    """A line with the cost of an operation under either value; empty if unknown."""
    parts = change_parts(before, after)
    if not parts:
        return []
    return [
        "    cost per operation: " + ", ".join(f"{resource.facts.label} {text}" for resource, text in parts)
    ]
