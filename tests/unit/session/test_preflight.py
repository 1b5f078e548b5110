"""What the preflight check requires of this host."""

from tuibench.load.workers.worker_count import FILES_OF_A_WORKER
from tuibench.model.cluster.plan import ClusterPlan
from tuibench.model.plan import EngineChoice, RunPlan
from tuibench.model.target import Target
from tuibench.session.preflight import required_open_files
from tuibench.tuning.preflight.facts import load_requirements
from tuibench.workload import library


async def test_load_hosts_open_the_files_of_their_connections() -> None:
    program = library.load_program("oltp_point_select", {})
    for cluster, wanted in ((None, 1000 + FILES_OF_A_WORKER), (ClusterPlan(places=("ssh:load1",)), None)):
        plan = RunPlan(
            profile="oltp_point_select",
            threads=4000,
            workers=4,
            engine=EngineChoice.ASYNCIO,
            cluster=cluster,
        )
        found = await required_open_files(Target(), plan, program)
        assert found == wanted
        assert load_requirements(plan, program, found).threads == 4000
