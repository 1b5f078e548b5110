"""What a CPU profile says: functions with their shares, the differences of two windows, exports, the page.

A function's share is the part of the samples in which it ran itself. Samples of one second resemble each
other (a checkpoint, a purge), so intervals come from resampling whole seconds, not from counting samples.
With some hundred functions, one is named only if an interval `WIDER` times as wide excludes zero, and if it
moved by half a point.
"""

import json
import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from tuibench import units
from tuibench.document import Block, Table, Text
from tuibench.metrics.inference import RatioSeries, estimate_difference, resample
from tuibench.model.effect import Comparison
from tuibench.waits.cpu_profile import total

WIDER, LEAST_POINTS = 2.0, 0.5
FEWEST_SECONDS = 4
MOST_FUNCTIONS = 20

Window = Sequence[dict[str, int]]


def is_sure(change: Comparison) -> bool:
    """True if the share of a function certainly changed by enough to be worth a line."""
    return abs(change.delta) >= LEAST_POINTS and change.excludes_zero(WIDER)


def changed_functions(before: Window, after: Window) -> list[Comparison]:
    """The functions' shares of the samples in percent, by the size of their change; empty with too few
    seconds for an interval.
    """
    if min(len(before), len(after)) < FEWEST_SECONDS or not (total(before) and total(after)):
        return []
    sides = [[_own(second) for second in window] for window in (before, after)]
    found = []
    for function in {name for side in sides for second in side for name in second}:
        old, new = (
            RatioSeries(
                [100.0 * second[function] for second in side], [float(second.total()) for second in side]
            )
            for side in sides
        )
        if max(old.ratio, new.ratio) >= LEAST_POINTS:
            found.append(estimate_difference(function, old.ratio, new.ratio, resample(old, new)))
    return sorted(found, key=lambda each: (-abs(each.delta), each.figure))


def _own(stacks: Mapping[str, int]) -> Counter[str]:
    """The samples of each function that ran itself."""
    counts = Counter[str]()
    for stack, count in stacks.items():
        counts[stack.rpartition(";")[2]] += count
    return counts


def function_blocks(window: Window) -> list[Block]:
    """Each function's share of the samples in percent, the largest first."""
    counts = _own(total(window))
    whole = counts.total()
    rows = [
        (function, f"{100 * count / whole:.1f} %") for function, count in counts.most_common(MOST_FUNCTIONS)
    ]
    return (
        [Table(header=("function", "share"), rows=tuple(rows))]
        if rows
        else [Text(("No samples in this time.",))]
    )


def difference_blocks(before: Window, after: Window) -> list[Block]:
    """The functions that certainly changed, and how many did not."""
    compared = changed_functions(before, after)
    if not compared:
        return [Text((f"Too few samples: each window needs {FEWEST_SECONDS} whole seconds with some.",))]
    sure = [each for each in compared if is_sure(each)]
    rest = len(compared) - len(sure)
    rows = tuple(
        (
            each.figure,
            f"{each.before:.1f} %",
            f"{each.after:.1f} %",
            f"{units.signed(each.delta, 1)} points",
            f"{units.signed(each.low, 1)}..{units.signed(each.high, 1)}",
        )
        for each in sure[:MOST_FUNCTIONS]
    )
    note = Text((f"{units.pluralize(rest, 'function')} did not change beyond the noise.",))
    if not rows:
        return [Text(("No function changed beyond the noise.",)), note]
    return [Table(header=("function", "before", "after", "change", "95 %"), rows=rows), note]


def folded_text(windows: Sequence[Window]) -> str:
    """Stacks for flamegraph.pl; of two windows with both counts, as difffolded.pl writes them."""
    counts = [total(window) for window in windows]
    stacks = sorted({stack for each in counts for stack in each})
    return "".join(f"{stack} {' '.join(str(each[stack]) for each in counts)}\n" for stack in stacks)


def speedscope(windows: Mapping[str, Window]) -> str:
    """The file format of speedscope.app, with a profile for each window."""
    frames: dict[str, int] = {}
    profiles: list[dict[str, Any]] = []
    for name, window in windows.items():
        counts = total(window)
        profiles.append(
            {
                "type": "sampled",
                "name": name,
                "unit": "none",
                "startValue": 0,
                "endValue": counts.total(),
                "samples": [
                    [frames.setdefault(part, len(frames)) for part in stack.split(";")] for stack in counts
                ],
                "weights": list(counts.values()),
            }
        )
    shared = {"frames": [{"name": name} for name in frames]}
    schema = "https://www.speedscope.app/file-format-schema.json"
    return json.dumps({"$schema": schema, "shared": shared, "profiles": profiles, "exporter": "tuibench"})


PAGE_WIDTH, ROW = 1180, 18
LEAST_WIDTH = 0.6
"""Pixels below which a function is not drawn."""
_LETTER = 7
_STYLE = (
    "body{font:13px system-ui,sans-serif;margin:16px;background:#fff;color:#222}"
    "text{font:11px ui-monospace,monospace;pointer-events:none}rect{stroke:#fff;stroke-width:.5}"
    "pre{font-size:12px}"
)


class Node:
    """A function in the flame graph: its samples in each window, and the functions that it called."""

    def __init__(self) -> None:
        self.counts = [0, 0]
        self.called: dict[str, Node] = defaultdict(Node)


def flame_page(title: str, windows: Mapping[str, Window], text: str) -> str:
    """A page with the flame graph of the last window; of two, each function has the colour of its change: red
    has more of the samples, blue has less.
    """
    root, counts = Node(), [total(window) for window in windows.values()]
    for place, each in enumerate(counts):
        for stack, count in each.items():
            node = root
            node.counts[place] += count
            for part in stack.split(";"):
                node = node.called[part]
                node.counts[place] += count
    last = len(counts) - 1
    wholes = [max(each.total(), 1) for each in counts]
    shapes: list[str] = []
    depth = _draw(root, "all", 0.0, 0, last, wholes, shapes)
    height = (depth + 1) * ROW
    body = "".join(shapes)
    key = "Red: larger share of the samples than before. Blue: smaller. " if last else ""
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f"<style>{_STYLE}</style></head><body><h1>{escape(title)}</h1>"
        f"<p>{key}Width: share of the samples. Hover for the numbers.</p>"
        f'<svg role="img" aria-label="Flame graph" width="{PAGE_WIDTH}" height="{height}" '
        f'viewBox="0 {-height} {PAGE_WIDTH} {height}">{body}</svg><pre>{escape(text)}</pre></body></html>\n'
    )


def _draw(
    node: Node, name: str, left: float, depth: int, last: int, wholes: Sequence[int], shapes: list[str]
) -> int:
    """Draw a function above its caller; returns the greatest depth."""
    width = PAGE_WIDTH * node.counts[last] / wholes[last]
    if width < LEAST_WIDTH:
        return depth
    shares = [100 * count / whole for count, whole in zip(node.counts, wholes, strict=False)]
    words = " → ".join(f"{share:.1f} %" for share in shares)
    top = -(depth + 1) * ROW
    letters = int((width - 4) / _LETTER)
    label = name if len(name) <= letters else f"{name[: letters - 1]}…" if letters > 2 else ""
    shapes.append(
        f'<g><title>{escape(name)}: {words}</title><rect x="{left:.1f}" y="{top}" width="{width:.1f}" '
        f'height="{ROW}" fill="{_colour(node.counts, wholes)}"/>'
        f'<text x="{left + 3:.1f}" y="{top + 13}">{escape(label)}</text></g>'
    )
    deepest = depth
    for part, called in sorted(node.called.items()):
        deepest = max(deepest, _draw(called, part, left, depth + 1, last, wholes, shapes))
        left += PAGE_WIDTH * called.counts[last] / wholes[last]
    return deepest


def _colour(counts: Sequence[int], wholes: Sequence[int]) -> str:
    """Orange without a comparison; else grey for a change within the noise of counting, then ever more red or
    blue.
    """
    if len(wholes) < 2:
        return "#f4b46a"
    before, after = (count / whole for count, whole in zip(counts, wholes, strict=True))
    error = math.sqrt(before / wholes[0] + after / wholes[1])
    strength = min(max(abs(after - before) / error - 2, 0) / 6, 1.0) if error else 0.0
    pale = round(230 - 130 * strength)
    return f"rgb(240,{pale},{pale})" if after > before else f"rgb({pale},{pale},245)"
