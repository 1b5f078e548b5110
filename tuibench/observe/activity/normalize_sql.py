"""Normalization of statements for display, without their values: `SELECT c FROM t WHERE id IN (?, …)`."""

import re

LONGEST = 240

_VALUES = re.compile(
    r"""
    (?P<comment>/\*(?!!).*?(?:\*/|\Z) | (?:--\s|\#)[^\n]*)
  | (?P<name>`(?:[^`]|``)*(?:`|\Z) | [@$]?[A-Za-z_\x80-\uffff][\w$\x80-\uffff.]*(?!['"\w]))
  | (?P<value>
        (?:(?<!\w)(?:[NnXxBb]|_[a-z0-9]+\s*))?'(?:[^'\\]|''|\\.)*(?:'|\Z)
      | "(?:[^"\\]|""|\\.)*(?:"|\Z)
      | 0[xX][0-9a-fA-F]+
      | (?<![\w.])(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?
    )
    """,
    re.VERBOSE | re.DOTALL,
)
_LIST = re.compile(r"-?\?(?:\s*,\s*-?\?)+")
_ROWS = re.compile(r"(\((?:\?|\?, …)\))(?:\s*,\s*\((?:\?|\?, …)\))+")


def normalize_sql(statement: str, longest: int = LONGEST) -> str:
    """The statement on one line of at most `longest` characters, its literals as `?`, lists shortened."""
    text = " ".join(_VALUES.sub(_replaced, statement).split())
    text = _ROWS.sub(r"\1, …", _LIST.sub("?, …", text))
    return text if len(text) <= longest else text[: longest - 1].rstrip() + "…"


def _replaced(match: re.Match[str]) -> str:
    if match["comment"] is not None:
        return " "
    return match["name"] if match["name"] is not None else "?"
