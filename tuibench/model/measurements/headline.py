"""Headline figure of a profile: the rate of one kind of transaction, such as tpmC."""

import msgspec


class Headline(msgspec.Struct, frozen=True, kw_only=True):
    """What is counted: completed transactions of the kind `transaction` in `per_seconds` seconds.

    `note` stands behind the title wherever it stands ("not audited"). `ideal` is the most there can be, None
    if nothing is known of that; `doubt` says why a comparison with it means nothing in this run.
    """

    title: str
    transaction: str
    per_seconds: float = 60.0
    note: str = ""
    ideal: float | None = None
    doubt: str = ""

    @property
    def name(self) -> str:
        """Title and note: tpmC (not audited)."""
        return f"{self.title} ({self.note})" if self.note else self.title

    def value(self, count: int, seconds: float) -> float:
        """The figure for this many transactions in this many seconds."""
        return count / seconds * self.per_seconds if seconds > 0 else 0.0

    def efficiency(self, value: float) -> float | None:
        """Percent of the ideal; None without an ideal."""
        return 100 * value / self.ideal if self.ideal else None


class HeadlineTotals(msgspec.Struct, frozen=True, kw_only=True):
    """The headline of a whole run. `efficiency` is percent of `ideal`; `doubt` says why it means nothing."""

    title: str
    note: str
    transaction: str
    value: float
    ideal: float | None = None
    efficiency: float | None = None
    doubt: str = ""

    @classmethod
    def of(cls, headline: Headline, count: int, seconds: float) -> "HeadlineTotals":
        value = headline.value(count, seconds)
        return cls(
            title=headline.title,
            note=headline.note,
            transaction=headline.transaction,
            value=value,
            ideal=headline.ideal,
            efficiency=headline.efficiency(value),
            doubt=headline.doubt,
        )
