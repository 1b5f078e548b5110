"""Options of `tuibench profiles from-slow-log` and `from-digest`."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from tuibench.model.option import Option, check_range

MAX_KINDS = 1000


@dataclass(frozen=True)
class TrafficOptions:
    """Options of from-slow-log and from-digest."""

    SECTION: ClassVar = "Profiles of real traffic"

    out: Annotated[
        str, Option("--out", metavar="FILE", help="Write the profile to this file, instead of stdout.")
    ] = ""
    top: Annotated[
        int, Option("--top", help="Number of kinds of transactions to keep, the most frequent ones.")
    ] = 20
    seconds: Annotated[
        float,
        Option(
            "--seconds", help="from-digest: seconds to count; 0: since the server's statistics were reset."
        ),
    ] = 0

    def check(self) -> None:
        """Raises UsageError for values out of range."""
        check_range("--top", self.top, 1, MAX_KINDS)
        check_range("--seconds", self.seconds, 0, 86_400)
