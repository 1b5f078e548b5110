"""The end of a run: the load ends, counters are read a last time, settings go back, all is summed up."""

from functools import partial
from typing import Protocol

from tuibench.errors import TuibenchError
from tuibench.model.event import EventKind
from tuibench.model.message import RunState
from tuibench.model.server import ServerInfo
from tuibench.model.summary import Outcome, Summary
from tuibench.session import summing
from tuibench.session.events import EventLog
from tuibench.session.honesty import doubts
from tuibench.session.measuring import Measuring, Run
from tuibench.session.summing import Ending, ServerReading


class Closed(Run, Protocol):
    """What closing needs of a session. `foreseen_warnings` are of the time before the load."""

    log: EventLog
    measuring: Measuring
    server: ServerInfo
    outcome: Outcome
    error: TuibenchError | None

    @property
    def foreseen_warnings(self) -> tuple[str, ...]: ...


async def close(run: Closed) -> Summary:
    """Ends the load, puts the settings back, writes the summary, and lets go of the server."""
    run.over.set()
    run.comparing.end()
    run.enter(RunState.STOPPING)
    async with run.measuring.turn:
        await run.load.finish(run.spec.drain_seconds)
    await run.probing.close(run.outcome)
    await run.watch.close()
    before, after = await run.observer.end(run.own_statements, run.load.accounting.totals.questions)
    for text in await run.settings.restore(partial(run.tell, EventKind.RESTORE)):
        run.tell(EventKind.RESTORE, text)
    run.announce()
    run.tell(EventKind.STOP, f"{run.outcome} after {run.load.seconds:.1f} s")
    summary = summing.summary(run.spec, run.server, run.load.accounting, ending(run, before, after))
    run.voice.recording.close(summary)
    await run.observer.close()
    await run.settings.close()
    run.enter(RunState.ENDED)
    return summary


def ending(run: Closed, before: ServerReading | None, after: ServerReading | None) -> Ending:
    """How it ended, as far as the accounting does not know."""
    delay_ms, limit = run.load.longest_delay_ms, run.measuring.limit
    return Ending(
        seconds=run.load.seconds,
        threads=run.load.threads,
        rate=run.load.rate,
        workers=len(run.load.fleet),
        is_complete=not run.load.unheard,
        outcome=run.outcome,
        failure=str(run.error) if run.error else "",
        limited=limit.overall,
        client_delay_ms=delay_ms,
        warnings=(*run.foreseen_warnings, *doubts(delay_ms, limit, run.load.unheard)),
        events=tuple(run.log.events),
        before=before,
        after=after,
        effects=tuple(run.comparing.effects),
        costs=run.comparing.costs,
        ab=run.comparing.ab,
        probe=run.probing.result,
        headline=run.load.headline,
        kinds=tuple(run.load.weights),
    )
