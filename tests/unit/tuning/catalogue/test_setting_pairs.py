"""Two settings of which one limits the other: no order of changes ever breaks the limit."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuibench.errors import UsageError
from tuibench.tuning.catalogue import setting_lookup

LOWER, UPPER = setting_lookup.LIMIT_PAIRS[0]
VALID = st.tuples(st.integers(100, 9999), st.integers(100, 9999)).map(sorted)


@given(VALID, VALID, st.booleans())
def test_each_step_from_one_valid_pair_to_another_keeps_the_limit(
    before: list[int], after: list[int], upper_first: bool
) -> None:
    now = {LOWER: str(before[0]), UPPER: str(before[1])}
    wanted = {LOWER: str(after[0]), "sync_binlog": "0", UPPER: str(after[1])}
    if upper_first:
        wanted = dict(reversed(wanted.items()))
    order = setting_lookup.order_by_limits(wanted, now)
    assert sorted(order) == sorted(wanted)
    assert order[1] == "sync_binlog"
    for name in order:
        setting_lookup.check_pair_limit(
            name, wanted[name], now.get(setting_lookup.paired_setting(name) or "")
        )
        now[name] = wanted[name]


def test_what_breaks_the_limit_is_refused_with_what_to_do() -> None:
    with pytest.raises(UsageError, match=f"{LOWER} may not be above {UPPER}, which is 2000 .raise {UPPER}"):
        setting_lookup.check_pair_limit(LOWER, "2001", "2000")
    with pytest.raises(UsageError, match=f"{UPPER} may not be below {LOWER}, which is 200 .lower {LOWER}"):
        setting_lookup.check_pair_limit(UPPER, "199", "200")
    setting_lookup.check_pair_limit(LOWER, "2000", "2000")
    setting_lookup.check_pair_limit(LOWER, "2000", None)
    setting_lookup.check_pair_limit("sync_binlog", "2000", "1")
    assert setting_lookup.paired_setting("sync_binlog") is None
