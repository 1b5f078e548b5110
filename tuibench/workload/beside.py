"""The anomaly meter beside another load: both profiles as one program, and both data sets as one.

`--with-anomalies` adds the transactions of the profile `anomalies`, as a share of all transactions, and its
tables to those of the profile. The order of the profile's own transactions changes, and nothing else.
"""

from collections.abc import Mapping
from math import ceil
from random import Random

from msgspec.structs import replace

from tuibench.base.errors import UsageError
from tuibench.model.plan import OptionValue
from tuibench.workload.dataset import DataSet, RowFormat, RowSource, SizeCheck, Tally, data_set_class
from tuibench.workload.options import (
    ProfileOption,
    canonical_name,
    command_line_name,
    flag_option,
    resolve_options,
)
from tuibench.workload.program import MAX_DECK_CARDS, Program

METER = "anomalies"
"""The profile that can run beside another one, and its data set."""
WITH, SHARE = "with_anomalies", "anomaly_share"
PREFIX = "anomaly_"
"""Beginning of the meter's own options."""
CARDS_OF_THE_RAREST = 4
"""Cards of the meter's rarest transaction in a deck."""
OPTIONS: dict[str, ProfileOption] = {
    WITH: flag_option(False, "count anomalies beside the load"),
    SHARE: ProfileOption(
        type="number",
        default=5.0,
        minimum=0.1,
        maximum=90.0,
        help="their share of the transactions, in percent",
    ),
}


def split_options(given: Mapping[str, object]) -> tuple[dict[str, object], dict[str, object], float | None]:
    """The options of the load, those of the meter beside it, and the meter's share in percent.

    The share is None without a meter; then all options are the load's. Raises UsageError for an invalid
    value.
    """
    by_name = {canonical_name(name): value for name, value in given.items()}
    if not resolve_options(OPTIONS, {name: by_name[name] for name in OPTIONS if name in by_name})[WITH]:
        return {name: value for name, value in by_name.items() if name != WITH}, {}, None
    of_meter = {name: by_name.pop(name) for name in list(by_name) if name.startswith((PREFIX, WITH))}
    values = resolve_options(OPTIONS, {name: of_meter.pop(name) for name in OPTIONS if name in of_meter})
    return by_name, of_meter, float(values[SHARE])


def with_meter(load: Program, meter: Program, share: float) -> Program:
    """A program with the transactions of both, of which the meter's are `share` percent.

    Raises UsageError for a load that has a fixed order of transactions, or the meter's own.
    """
    if load.script is not None or load.turns is not None or load.data_set == METER:
        raise UsageError(
            f"{command_line_name(WITH)} cannot be used with {load.profile}",
            "it needs a profile whose transactions are drawn by weight or from a deck",
        )
    own, added = load.transactions, meter.transactions
    wanted = sum(each.weight for each in own) * share / (100 - share)
    factor = wanted / sum(each.weight for each in added)
    if load.deck:
        # Cards are whole numbers: so many decks of the load that the meter's mix is rounded little.
        times = ceil(CARDS_OF_THE_RAREST / (factor * min(each.weight for each in added)))
        own = tuple(replace(each, weight=each.weight * times) for each in own)
        added = tuple(replace(each, weight=round(each.weight * factor * times)) for each in added)
        if sum(each.weight for each in (*own, *added)) > MAX_DECK_CARDS:
            raise UsageError(f"the deck of {load.profile} is too large for {share:g} %", "try a larger share")
    else:
        added = tuple(replace(each, weight=each.weight * factor) for each in added)
    options: dict[str, OptionValue] = {**meter.options, **load.options, WITH: True, SHARE: share}
    return replace(load, options=options, transactions=(*own, *added))


class BothDataSets(DataSet, frozen=True, kw_only=True):
    """The tables of a load and of the meter beside it."""

    load: DataSet
    meter: DataSet
    words: tuple[str, ...]
    """The options of the meter on a command line."""

    @classmethod
    def of(cls, load: DataSet, options: Mapping[str, OptionValue]) -> "BothDataSets":
        meter = data_set_class(METER, METER)
        words = [
            f"{command_line_name(name)}={options[name]}" for name in meter.OPTIONS if name.startswith(PREFIX)
        ]
        return cls(
            load=load,
            meter=meter.from_options(options),
            words=(command_line_name(WITH), *words),
            engine=load.engine,
        )

    @property
    def TABLE_NAME_CONDITION(self) -> str:  # type: ignore[override]  # noqa: N802
        return f"({self.load.TABLE_NAME_CONDITION} OR {self.meter.TABLE_NAME_CONDITION})"

    @property
    def TALLY(self) -> Tally | None:  # type: ignore[override]  # noqa: N802
        return self.meter.TALLY

    def _of(self, table: str) -> DataSet:
        return self.meter if self.meter.is_table_name(table) else self.load

    def without_rows(self) -> "BothDataSets":
        """The load's tables without rows; the meter's keep them, because it counts in them."""
        return replace(self, load=self.load.without_rows())

    def table_names(self) -> tuple[str, ...]:
        return (*self.load.table_names(), *self.meter.table_names())

    def is_table_name(self, table: str) -> bool:
        return self.load.is_table_name(table) or self.meter.is_table_name(table)

    def columns(self, table: str) -> dict[str, str]:
        return self._of(table).columns(table)

    def size(self, table: str) -> int:
        return self._of(table).size(table)

    def chunk_rows(self, table: str) -> int:
        return self._of(table).chunk_rows(table) or max(1, self.size(table))

    def size_checks(self) -> dict[str, SizeCheck]:
        return self.load.size_checks() | self.meter.size_checks()

    @property
    def row_data_bytes(self) -> int:
        return self.load.row_data_bytes + self.meter.row_data_bytes

    def describe(self) -> str:
        return f"{self.load.describe()}, {self.meter.describe()}"

    def create_sql(self, table: str) -> str:
        return self._of(table).create_sql(table)

    def index_sql(self, table: str) -> str:
        return self._of(table).index_sql(table)

    def constraint_sql(self) -> tuple[str, ...]:
        return (*self.load.constraint_sql(), *self.meter.constraint_sql())

    def rows(self, table: str, stream: Random, row_format: RowFormat) -> RowSource:
        return self._of(table).rows(table, stream, row_format)

    def prepare_command(self, profile: str) -> str:
        return " ".join((self.load.prepare_command(profile), *self.words))

    def cleanup_command(self, profile: str) -> str:
        return " ".join((self.load.cleanup_command(profile), *self.words))
