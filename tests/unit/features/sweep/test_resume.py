"""A sweep is resumed if this account has recorded its plan; of another one, all that it runs is shown."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from tests import sweeps
from tests.examples import SERVER
from tuibench.base.errors import UsageError
from tuibench.features.sweep import foreign
from tuibench.features.sweep.execution import resumed
from tuibench.model.plan import OptionValue
from tuibench.model.sweep import ServerBuild, SweepVariant, VersionsSetup
from tuibench.record.sweep_folder import SEAL, SweepFolder

BUILD = ServerBuild(
    name="a", path="/tmp/evil", flavour=SERVER.flavour, version="10.11.1", options=("--plugin-load=x y",)
)
ACTS = replace(sweeps.PLAN.base, interventions=((0.2, "exec:id > F"),), host_metrics="ssh:-oProxyCommand=id")


def test_ones_own_plan_is_continued(tmp_path: Path) -> None:
    SweepFolder.create(tmp_path / "own", sweeps.record()).close()
    resumed(str(tmp_path / "own"), allow_commands=False).close()


def test_a_plan_of_somebody_else_is_shown_and_needs_consent(tmp_path: Path) -> None:
    record = replace(
        sweeps.record(), plan=replace(sweeps.PLAN, base=ACTS), versions=VersionsSetup(builds=(BUILD,))
    )
    SweepFolder.create(tmp_path / "given", record).close()
    (tmp_path / "given" / SEAL).unlink()
    with pytest.raises(UsageError, match="not one that this account has recorded") as refusal:
        resumed(str(tmp_path / "given"), allow_commands=False)
    for words in (
        "server program /tmp/evil '--plugin-load=x y'",
        "--at 0.2s exec:id > F",
        "--host-metrics=ssh:-oProxyCommand=id",
        "profile oltp_write_only",
    ):
        assert f"\n  {words}" in refusal.value.message
    resumed(str(tmp_path / "given"), allow_commands=True).close()


def test_without_private_servers_the_address_is_shown() -> None:
    record = sweeps.record()
    assert f"load on {record.target}" in foreign.acting(record)


@pytest.mark.parametrize("value", [True, False, "True", float("nan"), 1e300])
def test_what_is_no_number_is_refused_in_a_foreign_variant(value: OptionValue) -> None:
    field = next(field for field, option in foreign._AXES.items() if option.is_number)
    with pytest.raises(UsageError):
        foreign._checked_variant(SweepVariant(name="", load={field: value}))
