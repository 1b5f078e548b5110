"""Headline figure of a profile: the rate of one kind of transaction, such as tpmC."""

import msgspec


class Headline(msgspec.Struct, frozen=True, kw_only=True):
    """Definition of the headline figure: completed transactions of the kind `transaction` per `per_seconds`
    seconds.

    `note` is shown after the title ("not audited"). `ideal` is the maximum, None if unknown; `doubt` is the
    reason why the efficiency is not meaningful in this run.
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
    """The headline figure of a run. `efficiency` is percent of `ideal`; `doubt` is the reason why it is not
    meaningful.
    """

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
