"""Work beside the screen: a coroutine in a thread with a loop of its own, to keep drawing."""

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


async def aside(work: Coroutine[Any, Any, T]) -> T:
    """Runs the work in its own loop; what it returns or raises. Cancelled, it waits for its undoing."""
    here = asyncio.get_running_loop()
    done: asyncio.Future[T] = here.create_future()
    worker = _Worker(work, here, done)
    worker.start()
    try:
        return await asyncio.shield(done)
    except asyncio.CancelledError:
        worker.cancel()
        await asyncio.wait({done})
        done.exception()
        raise


class _Worker(threading.Thread):
    """One piece of work."""

    def __init__(
        self, work: Coroutine[Any, Any, Any], home: asyncio.AbstractEventLoop, done: "asyncio.Future[Any]"
    ) -> None:
        super().__init__(name="work beside the screen", daemon=True)
        self._work = work
        self._home = home
        self._done = done
        self._loop = asyncio.new_event_loop()
        self._task = self._loop.create_task(work)

    def run(self) -> None:
        try:
            result = self._loop.run_until_complete(self._task)
        except BaseException as error:
            self._home.call_soon_threadsafe(self._fail, error)
        else:
            self._home.call_soon_threadsafe(self._succeed, result)
        finally:
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
            self._loop.run_until_complete(self._loop.shutdown_default_executor())
            self._loop.close()

    def cancel(self) -> None:
        self._loop.call_soon_threadsafe(self._task.cancel)

    def _succeed(self, result: Any) -> None:
        if not self._done.done():
            self._done.set_result(result)

    def _fail(self, error: BaseException) -> None:
        if isinstance(error, asyncio.CancelledError):
            self._done.cancel()
        elif not self._done.done():
            self._done.set_exception(error)
