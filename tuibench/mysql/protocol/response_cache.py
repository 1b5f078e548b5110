"""Cache of parsed responses: a response with the same bytes has the same meaning.

The same SELECT on the same rows gives the same bytes, and comparing them takes a fraction of the time of
parsing. One response is cached for all connections of a process, so that thousands of them cost no memory.
Responses that the fast path recognises never get here.
"""

from tuibench.errors import SQLError
from tuibench.mysql.protocol.response_parser import ResponseParser

MAX_CACHED_BYTES = 1 << 17
"""Longer responses are not cached, in bytes."""


class ResponseCache:
    """The last response that was read completely, and its result."""

    __slots__ = ("affected", "answer")

    def __init__(self) -> None:
        self.answer = b""
        self.affected = 0


_shared_caches = {False: ResponseCache(), True: ResponseCache()}


def shared_cache(*, without_eof: bool) -> ResponseCache:
    """What all connections share that agreed on this with their server: to them, bytes mean the same."""
    return _shared_caches[without_eof]


class CachingParser:
    """Takes the place of an `Answer`, and has it read what is new."""

    __slots__ = ("_answer", "_is_known", "_is_whole", "_memory", "_received", "is_new")

    def __init__(self, answer: ResponseParser, memory: ResponseCache) -> None:
        self._answer = answer
        self._memory = memory
        self._received = b""
        self._is_known = self._is_whole = True
        self._begin()

    def feed(self, data: bytes) -> int | None:
        """As `Answer.feed`."""
        self.is_new = False
        if self._is_whole:
            self._received += data
        if not self._is_known:
            return self._read(data)
        memory, received = self._memory, self._received
        if not memory.answer.startswith(received):
            self._is_known = False
            return self._read(received)
        if len(received) < len(memory.answer):
            return None
        self._begin()
        return memory.affected

    def _read(self, data: bytes) -> int | None:
        try:
            affected = self._answer.feed(data)
        except SQLError:
            self._begin()
            raise
        if affected is not None:
            if self._is_whole and self._answer.is_new and len(self._received) <= MAX_CACHED_BYTES:
                self._memory.answer, self._memory.affected = self._received, affected
            self._begin()
        elif len(self._received) > MAX_CACHED_BYTES:
            self._received, self._is_whole = b"", False
        return affected

    def _begin(self) -> None:
        """The next answer is a new one; what has come of it already is the reader's."""
        self._received = b""
        self.is_new = self._is_known = self._is_whole = self._answer.is_new
