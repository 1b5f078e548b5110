"""The end of a session as a list of steps; every step runs, even if another one fails."""

from collections.abc import Awaitable, Callable, Iterable

ClosingStep = Callable[[], Awaitable[object]]


async def run_steps(steps: Iterable[ClosingStep], on_failure: Callable[[Exception], None]) -> None:
    """Run all steps in order.

    An error of a step is reported to `on_failure`. A cancellation interrupts only the current step, and is
    raised after the last one.
    """
    interruption: BaseException | None = None
    for step in steps:
        try:
            await step()
        except Exception as error:
            on_failure(error)
        except BaseException as error:
            interruption = interruption or error
    if interruption is not None:
        raise interruption
