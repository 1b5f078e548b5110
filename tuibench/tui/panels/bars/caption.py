"""Caption of a scene in a band above the keys: a statement, a question, or a result."""

from tuibench.tui.text.spans import TextLine, TextSpan, justify, pad_line, wrap_text
from tuibench.tui.view import Caption, View

MOST_LINES = 4
_INDENT = 1
_HEADS = {"say": "", "ask": "YOUR GUESS", "reveal": "FOUND", "nothing": "FOUND", "unknown": "NOT DECIDED"}
_ROLES = {"say": "strong", "ask": "warn", "reveal": "good", "nothing": "muted", "unknown": "muted"}


def caption_lines(view: View, width: int, height: int) -> list[TextLine]:
    """Title and position in the scene, with the text below."""
    caption = view.caption
    if caption is None:
        return []
    role = _ROLES[caption.kind]
    body: list[TextLine] = [
        (TextSpan(" " * _INDENT), TextSpan(part, role))
        for part in wrap_text(caption.text, width - 2 * _INDENT)
    ]
    return [pad_line(line, width) for line in (_title_line(caption, width), *body)][:height]


def caption_height(view: View, width: int) -> int:
    """Height of the caption in lines; 0 without a scene."""
    if view.caption is None:
        return 0
    return min(1 + len(wrap_text(view.caption.text, max(width - 2 * _INDENT, 1))), MOST_LINES)


def _title_line(caption: Caption, width: int) -> TextLine:
    head = _HEADS[caption.kind]
    left: TextLine = (
        TextSpan(f" {caption.title} ", "brand"),
        TextSpan(f" {caption.place}  ", "muted"),
        TextSpan(head, _ROLES[caption.kind]),
    )
    if caption.is_over:
        return left
    waiting = f"{caption.waiting} …   " if caption.waiting else ""
    return justify(
        left, (TextSpan(waiting, "muted"), TextSpan("space", "key"), TextSpan(" continues ", "muted")), width
    )
