"""The operator's consents to changes of servers that look like production.

One line per server in a file of the state directory; an unreadable line is ignored.
"""

from collections.abc import Iterator
from pathlib import Path

import msgspec

from tuibench import paths
from tuibench.errors import TuibenchError, UsageError
from tuibench.files import DECODE_ERRORS

CONSENT_OPTION = "--yes-this-server"


class ConsentRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A consent: the server's identity, the time (Unix seconds), and the signs of a production server."""

    identity: str
    at: float
    signs: tuple[str, ...]


class ProductionError(UsageError):
    """The server looks like production, and the operator has not consented."""

    def __init__(self, where: str, signs: tuple[str, ...]) -> None:
        super().__init__(
            f"{where} looks like a production server: {'; '.join(signs)}; its settings are not changed",
            f"to allow changes, use once: {CONSENT_OPTION}",
        )


class ProductionConsent:
    """All consents given so far."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path or paths.state_dir() / "servers.jsonl"

    def is_given(self, identity: str) -> bool:
        return any(yes.identity == identity for yes in self._read())

    def give(self, yes: ConsentRecord) -> None:
        """Store the consent. Raises TuibenchError if the state directory cannot be written."""
        try:
            paths.ensure_private(self._path.parent)
            with self._path.open("ab") as file:
                file.write(msgspec.json.encode(yes) + b"\n")
            self._path.chmod(0o600)
        except OSError as error:
            raise TuibenchError(f"cannot store the consent in {self._path}: {error.strerror}") from error

    def _read(self) -> Iterator[ConsentRecord]:
        try:
            lines = self._path.read_bytes().splitlines()
        except OSError:
            return
        for line in lines:
            try:
                yield msgspec.json.decode(line, type=ConsentRecord)
            except DECODE_ERRORS:
                continue
