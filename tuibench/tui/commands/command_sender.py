"""Sends commands to the session; replies become messages of the session.

Thread changes pass through `ThreadControl`, so that a held key results in one following change; any other
command that is waiting for its reply is not sent twice (`PendingCommands`).
"""

from collections.abc import Callable, Coroutine

from tuibench.errors import RunError
from tuibench.model.command import ApplyPreset, ChangeSetting, Command, SetThreads, TrustServer
from tuibench.model.message import Status
from tuibench.tui.bridge import UpdateInbox, ViewerClient
from tuibench.tui.commands.steering import PendingCommands, ThreadChange, ThreadControl
from tuibench.tui.view import CommandAnswer


class CommandSender:
    """Sends the commands of one viewer. `run` starts a background task of the app."""

    def __init__(
        self, client: ViewerClient, inbox: UpdateInbox, run: Callable[[Coroutine[None, None, None]], object]
    ) -> None:
        self._client = client
        self._inbox = inbox
        self._threads = ThreadControl(0 if client.hello.plan.starts_idle else 1)
        self._pending = PendingCommands()
        self._run = run

    def change_threads(self, change: ThreadChange, status: Status) -> None:
        """Apply a change to the number of threads last requested."""
        if (command := self._threads.press(change, status.threads)) is not None:
            self._submit(command, status)

    def send(self, command: Command, status: Status) -> None:
        """Submit a command, after the reply to one of its kind; a duplicate of a waiting one is dropped."""
        if isinstance(command, SetThreads):
            self.change_threads(lambda _: command.threads, status)
        else:
            self._submit(command, status)

    def on_status(self) -> None:
        """Handle a new status: the next thread change starts from it."""
        self._threads.on_status()

    def _submit(self, command: Command, status: Status) -> None:
        if self._pending.add(command):
            self._run(self._answer(command, status))

    async def _answer(self, command: Command, status: Status) -> None:
        """Submit a command, after TrustServer if it changes a production-like server, and post its reply."""
        try:
            if isinstance(command, ChangeSetting | ApplyPreset) and status.production_signs:
                await self._client.submit(TrustServer())
            reply = await self._client.submit(command)
            answer = CommandAnswer(command, reply.ok, reply.text)
        except RunError as error:
            answer = CommandAnswer(command, False, str(error))
        if (next_command := self._pending.done(command)) is not None:
            self._run(self._answer(next_command, status))
        if isinstance(command, SetThreads) and (following := self._threads.answered(ok=answer.ok)):
            self._submit(following, status)
        self._inbox.put(answer)
