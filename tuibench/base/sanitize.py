"""Sanitising of untrusted text for terminals: control characters are escaped.

Untrusted text comes from a server, another user or a file: error messages, names, SQL, marks, labels, values,
versions. Escaped are C0 and C1 control characters, DEL, bidirectional controls, line and
paragraph separators, and lone surrogates, which cannot be encoded.

- `text` is for untrusted text within a line: newlines and tabs are escaped, too.
- `lines` is for formatted output: newlines and tabs are kept.
- `markdown_text` is `text` for Markdown.
- `excerpt` is `text` for an error message, cut at a length that can be read.
- `json_text` is for JSON: it uses JSON escapes, so that the decoded value is unchanged.

`SafeStream` applies `lines` to everything written to stdout and stderr.
"""

import re
import sys
from typing import Any, TextIO

_CONTROL = r"\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff"
_IN_TEXT = rf"[\x00-\x1f{_CONTROL}]"
_IN_LINES = rf"[\x00-\x08\x0b-\x1f{_CONTROL}]"
_IN_JSON = f"[{_CONTROL}]"
_IN_MARKDOWN = r"[<\[\]|&]"
_SHORT = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}
_ONE_BYTE = 0x100
MAX_EXCERPT_CHARACTERS = 500
"""Maximum length of untrusted text in an error message."""


def text(foreign: object) -> str:
    """Untrusted text on one line, without terminal control characters."""
    found = str(foreign)
    return found if found.isprintable() else re.sub(_IN_TEXT, _escape, found)


def excerpt(foreign: str) -> str:
    """The start of untrusted text, which may have megabytes, for an error message."""
    if len(foreign) <= MAX_EXCERPT_CHARACTERS:
        return text(foreign)
    return f"{text(foreign[:MAX_EXCERPT_CHARACTERS])} … ({len(foreign):,} characters)"


def lines(laid_out: str) -> str:
    """Formatted output: newlines and tabs are kept, other control characters are escaped."""
    return laid_out if laid_out.isprintable() else re.sub(_IN_LINES, _escape, laid_out)


def json_text(document: str) -> str:
    """An equivalent JSON document with terminal control characters as JSON escapes."""
    return re.sub(_IN_JSON, lambda found: f"\\u{ord(found[0]):04x}", document)


def without(foreign: str) -> str:
    """The text without the characters that `text` escapes."""
    return re.sub(_IN_TEXT, "", foreign)


def markdown_text(foreign: object) -> str:
    """Untrusted text on one line of Markdown: without HTML, links, images and cell separators."""
    return re.sub(_IN_MARKDOWN, r"\\\g<0>", text(foreign))


def _escape(found: re.Match[str]) -> str:
    character = found[0]
    code = ord(character)
    return _SHORT.get(character) or (f"\\x{code:02x}" if code < _ONE_BYTE else f"\\u{code:04x}")


class SafeStream:
    """A text stream that applies `lines` to writes and delegates everything else."""

    def __init__(self, stream: TextIO) -> None:
        self.unsafe = stream

    def write(self, written: str) -> int:
        self.unsafe.write(lines(written))
        return len(written)

    def writelines(self, written: list[str]) -> None:
        for each in written:
            self.write(each)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.unsafe, name)


def protect_streams() -> None:
    """Sanitise everything written to stdout and stderr from now on. Code that draws a screen uses
    `unsafe`.
    """
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is not None and not isinstance(stream, SafeStream):
            setattr(sys, name, SafeStream(stream))


def unsafe(stream: TextIO) -> TextIO:
    """The underlying stream, for progress bars and screens, which must apply `text` to untrusted text."""
    return stream.unsafe if isinstance(stream, SafeStream) else stream
