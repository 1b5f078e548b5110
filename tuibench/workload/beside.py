"""The anomaly meter beside another load: both profiles as one program, and both data sets as one.

`--with-anomalies` adds the transactions of the profile `anomalies`, as a share of all transactions, and its
tables to those of the profile. The order of the profile's own transactions changes, and nothing else.
"""

from collections.abc import Mapping
from math import ceil

from msgspec.structs import replace

from tuibench.base.errors import UsageError
from tuibench.model.plan import OptionValue
from tuibench.workload.dataset import METER, METER_PREFIX, WITH_METER
from tuibench.workload.options import (
    ProfileOption,
    canonical_name,
    command_line_name,
    flag_option,
    resolve_options,
)
from tuibench.workload.program import MAX_DECK_CARDS, Program

SHARE = "anomaly_share"
CARDS_OF_THE_RAREST = 4
"""Cards of the meter's rarest transaction in a deck."""
OPTIONS: dict[str, ProfileOption] = {
    WITH_METER: flag_option(False, "count anomalies beside the load"),
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
    if not resolve_options(OPTIONS, {name: by_name[name] for name in OPTIONS if name in by_name})[WITH_METER]:
        return {name: value for name, value in by_name.items() if name != WITH_METER}, {}, None
    of_meter = {
        name: by_name.pop(name) for name in list(by_name) if name.startswith((METER_PREFIX, WITH_METER))
    }
    values = resolve_options(OPTIONS, {name: of_meter.pop(name) for name in OPTIONS if name in of_meter})
    return by_name, of_meter, float(values[SHARE])


def with_meter(load: Program, meter: Program, share: float) -> Program:
    """A program with the transactions of both, of which the meter's are `share` percent.

    Raises UsageError for a load that has a fixed order of transactions, or the meter's own.
    """
    if load.script is not None or load.turns is not None or load.data_set == METER:
        raise UsageError(
            f"{command_line_name(WITH_METER)} cannot be used with {load.profile}",
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
    options: dict[str, OptionValue] = {**meter.options, **load.options, WITH_METER: True, SHARE: share}
    return replace(load, options=options, transactions=(*own, *added))
