"""`tuibench agent`: drives load on this host for a session elsewhere, over stdin and stdout."""


def agent() -> None:
    """A session with --cluster starts it on each of its hosts, over ssh or another command. It runs the
    host's workers, merges their reports, and ends its load when the session is silent or gone. It takes
    no options: server, password and load come over stdin.
    """
    from tuibench.cli.runner.event_loop import run_async

    run_async(_serve())


async def _serve() -> None:
    import os

    from tuibench import __version__
    from tuibench.clock import SystemClock
    from tuibench.load.cluster.agent import Agent
    from tuibench.load.cluster.machine import agent_hello
    from tuibench.load.cluster.stdio import stdio_channel
    from tuibench.load.workers.worker import raise_open_file_limit
    from tuibench.model.tick import Tick
    from tuibench.observe.host.sampler import HostSampler
    from tuibench.observe.host.server_process import ServerProcess

    clock = SystemClock()
    channel = await stdio_channel()
    raise_open_file_limit()
    workers: set[int] = set()
    sampler = HostSampler(ServerProcess(pid=None), lambda: {os.getpid(), *workers}, clock)

    def sample(pids: list[int]) -> Tick | None:
        workers.clear()
        workers.update(pids)
        return sampler.sample()

    await Agent(channel, clock, sample, agent_hello(__version__)).run()
