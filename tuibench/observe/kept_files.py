"""Files of /proc and /sys that are read again and again through descriptors that stay open."""

import os
import weakref

ROOM = 1 << 14
MOST_KEPT = 128
SHARE_OF_LIMIT = 16
"""A reader holds at most this fraction of the descriptors that the process may open."""
UNUSED_ROUNDS = 16
"""A descriptor gives way to another one if so many times as many readings as there is room for passed it."""


class KeptFiles:
    """Reads files from their beginning. Not for several threads at once.

    The kernel writes such a file anew for each reading, so an open descriptor saves opening and closing. That
    of a process, thread or control group that has ended fails; then the file is opened again, because its
    number may have been given to another one.
    """

    def __init__(self, most: int | None = None) -> None:
        """`most` is the number of descriptors that stay open; the rest is opened for each reading."""
        self._most = most_kept() if most is None else most
        self._files: dict[str, tuple[int, int]] = {}
        """Descriptor and last reading of each file, the least recently read first."""
        self._readings = 0
        weakref.finalize(self, _close_all, self._files)

    def read(self, path: str, most_bytes: int = ROOM) -> bytes:
        """The file's first bytes, as the kernel gives them at once: all of a file that has one record.

        Raises OSError if the file cannot be read.
        """
        self._readings += 1
        kept = self._files.pop(path, None)
        if kept is not None:
            try:
                found = os.pread(kept[0], most_bytes, 0)
            except OSError:
                os.close(kept[0])
            else:
                self._files[path] = kept[0], self._readings
                return found
        file = os.open(path, os.O_RDONLY)
        is_kept = False
        try:
            found = os.pread(file, most_bytes, 0)
            if is_kept := self._has_room():
                self._files[path] = file, self._readings
        finally:
            if not is_kept:
                os.close(file)
        return found

    def text(self, path: str, most_bytes: int = ROOM) -> str:
        """The same as text, empty if the file cannot be read."""
        try:
            return self.read(path, most_bytes).decode("utf-8", "replace")
        except (OSError, ValueError):  # a path with a null character
            return ""

    def _has_room(self) -> bool:
        if len(self._files) < self._most:
            return True
        oldest = next(iter(self._files), None)
        if oldest is None or self._readings - self._files[oldest][1] <= UNUSED_ROUNDS * self._most:
            return False
        os.close(self._files.pop(oldest)[0])
        return True


def most_kept() -> int:
    """The descriptors that one reader may hold, fewer where the process may open few."""
    limit = os.sysconf("SC_OPEN_MAX")
    return MOST_KEPT if limit < 0 else min(MOST_KEPT, limit // SHARE_OF_LIMIT)


def _close_all(files: dict[str, tuple[int, int]]) -> None:
    while files:
        os.close(files.popitem()[1][0])
