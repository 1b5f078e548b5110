"""What a terminal shows: just enough of one to read what a full-screen program has drawn, cell by cell."""

import codecs
import re

CONTROL = re.compile(
    r"\x1b\[([0-9;?<>=]*)[ -/]*([@-~])|\x1b[P\]_^].*?(?:\x1b\\|\x07)|\x1b[^\[P\]_^]", re.DOTALL
)
UNFINISHED = re.compile(r"\x1b(?:\[[0-9;?<>= -/]*|[P\]_^][^\x07]*)?\Z")


class Painted:
    """The cells, and where the next letter goes."""

    def __init__(self, rows: int, columns: int) -> None:
        self._rows, self._columns = rows, columns
        self._row = self._column = 0
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._rest = ""
        self._cells: list[list[str]] = []
        self._erase(0)

    @property
    def text(self) -> str:
        return "\n".join("".join(row).rstrip() for row in self._cells)

    def feed(self, data: bytes) -> None:
        """Takes what was written; a sequence may be cut anywhere."""
        text = self._rest + self._decoder.decode(data)
        cut = UNFINISHED.search(text)
        self._rest = text[cut.start() :] if cut else ""
        end = cut.start() if cut else len(text)
        place = 0
        for found in CONTROL.finditer(text, 0, end):
            self._write(text[place : found.start()])
            self._obey(found[2] or "", found[1] or "")
            place = found.end()
        self._write(text[place:end])

    def _write(self, text: str) -> None:
        for letter in text:
            if letter == "\r":
                self._column = 0
            elif letter == "\n":
                self._next_row()
            elif letter >= " ":
                self._put(letter)

    def _put(self, letter: str) -> None:
        if self._column >= self._columns:
            self._column = 0
            self._next_row()
        self._cells[self._row][self._column] = letter
        self._column += 1

    def _next_row(self) -> None:
        """Below the last row, the text moves up."""
        if self._row < self._rows - 1:
            self._row += 1
        else:
            self._cells = [*self._cells[1:], [" "] * self._columns]

    def _obey(self, command: str, numbers: str) -> None:
        if command == "H":
            row, _, column = numbers.partition(";")
            self._row = min(int(row or 1), self._rows) - 1
            self._column = min(int(column or 1), self._columns) - 1
        elif command == "J":
            self._erase(self._row if numbers in ("", "0") else 0)

    def _erase(self, first: int) -> None:
        kept = self._cells[:first]
        self._cells = [*kept, *([" "] * self._columns for _ in range(self._rows - len(kept)))]
