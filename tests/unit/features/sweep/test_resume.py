"""A sweep is resumed if this account has recorded its plan; of another one, all that it runs is shown."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from tests import sweeps
from tests.examples import SERVER
from tuibench.base.errors import UsageError
from tuibench.features.sweep import foreign
from tuibench.features.sweep.execution import resumed
from tuibench.model.cluster import ClusterPlan
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


def test_what_a_script_may_do_and_what_starts_elsewhere_is_shown() -> None:
    case = replace(sweeps.PLAN.cases[0], profile="/tmp/x.lua", options={"allow_script_io": True})
    base = replace(ACTS, cluster=ClusterPlan(places=("ssh:h",), program="sh -c id"), replicas=("db2",))
    record = replace(sweeps.record(), plan=replace(sweeps.PLAN, cases=(case,), base=base))
    shown = foreign.acting(record)
    for words in (
        "profile /tmp/x.lua --allow-script-io=on",
        "--cluster=ssh:h",
        "--cluster-program=sh -c id",
        "--replica=db2",
    ):
        assert words in shown


def test_statements_in_the_record_that_do_more_than_a_load_are_shown() -> None:
    text = (
        'name = "p"\nsummary = "s"\ndata_set = "sbtest"\n[[transactions]]\nname = "t"\n'
        "steps = [{ statements = [{ name = 's', sql = \"SET GLOBAL general_log = 1\" }] }]"
    )
    plan = replace(sweeps.PLAN, base=replace(ACTS, profile_text=text))
    assert "statement SET GLOBAL general_log = 1" in foreign.acting(replace(sweeps.record(), plan=plan))


@pytest.mark.parametrize("value", [True, False, "True", float("nan"), 1e300])
def test_what_is_no_number_is_refused_in_a_foreign_variant(value: OptionValue) -> None:
    field = next(field for field, option in foreign._AXES.items() if option.is_number)
    with pytest.raises(UsageError):
        foreign._checked_variant(SweepVariant(name="", load={field: value}))
