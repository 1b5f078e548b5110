"""Commands of a Lua script, such as prepare and cleanup, on connections of the native engine.

A command that the script declares as parallel runs once on every connection, any other on one. There are no
retries: the first error that the script does not handle ends the command.
"""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec

from tuibench.base.errors import ConnectionLostError, TuibenchError, UsageError
from tuibench.base.installation import native_module
from tuibench.load.native_engine import (
    MOST_THREADS,
    RECONNECTING,
    TEXT,
    FurtherSessions,
    Returned,
    choose,
    compiled,
    set_net_timeout,
    stream_key,
)
from tuibench.model.plan import EngineChoice
from tuibench.model.server import Target
from tuibench.mysql import connection
from tuibench.mysql.connection import Connection, connect
from tuibench.workload import script
from tuibench.workload.options import THREADS
from tuibench.workload.program import Program, ProgramLayout

OUTPUT_SECONDS = 0.5


async def run_command(
    target: Target,
    program: Program,
    command: str,
    *,
    seed: int = 0,
    is_prepared: bool = True,
    write: Callable[[str], object],
) -> int:
    """Runs a command of the program's script; returns the number of its connections.

    Without `is_prepared`, all its statements are sent as text. `write` gets what the script prints. Raises
    UsageError if the script has no such command, and the first error of a connection.
    """
    if program.script is None:
        raise UsageError(f"{program.profile} is no script")
    own = program.script if program.script.general else script.with_general_options(program.script, target)
    chosen = msgspec.structs.replace(own, command=command)
    count = int(program.options[THREADS]) if script.check_command(chosen, command) else 1
    connections: list[Connection] = []
    try:
        while len(connections) < count:
            connections.append(await _login(target))
        await choose(EngineChoice.NATIVE, program, target)
        chosen_program = msgspec.structs.replace(program, script=chosen)
        await _Command(target, chosen_program, seed, write, is_prepared=is_prepared).run(connections)
    finally:
        for each in connections:
            await each.close()
    return count


async def _login(target: Target) -> Connection:
    return await connect(target, records=native_module().TlsRecords)


class _Command:
    """One command on its connections."""

    def __init__(
        self,
        target: Target,
        program: Program,
        seed: int,
        write: Callable[[str], object],
        *,
        is_prepared: bool,
    ) -> None:
        self._target = target
        self._write = write
        self._returned: dict[int, asyncio.Future[Returned]] = {}
        self._further: dict[int, FurtherSessions] = {}
        self._native: Any = native_module().Engine(
            compiled(program, ProgramLayout(program), is_prepared=is_prepared),
            str(seed),
            ignored=set(),
            max_retries=0,
            stops_on_error=True,
            is_constant=False,
            phase=0.0,
            pacer_key=b"",
            limit=None,
            most_threads=MOST_THREADS,
            reconnect=0,
        )
        set_net_timeout(self._native, target)

    async def run(self, connections: list[Connection]) -> None:
        loop = asyncio.get_running_loop()
        loop.add_reader(self._native.fileno(), self._on_returned)
        try:
            for number, each in enumerate(connections):
                self._further[number] = FurtherSessions(self._native, number, partial(_login, self._target))
                self._attach(number, each)
            numbers = {returned: number for number, returned in self._returned.items()}
            waiting = set(numbers)
            while waiting:
                done, waiting = await asyncio.wait(
                    waiting, timeout=OUTPUT_SECONDS, return_when=asyncio.FIRST_COMPLETED
                )
                if output := self._native.take_output():
                    self._write(output)
                for returned in done:
                    if returned.result().reason == RECONNECTING:
                        number, place = numbers[returned], returned.result().code
                        if place:
                            await self._further[number].connect(place)
                            connection.reattach_socket(connections[number])
                        else:
                            connections[number].abort()
                            connections[number] = await _login(self._target)
                        self._attach(number, connections[number], is_same=place > 0)
                        numbers[self._returned[number]] = number
                        waiting.add(self._returned[number])
                    elif error := _error(returned.result(), self._target.where):
                        raise error
        finally:
            for number in self._returned:
                self._native.abort(number)
                self._further[number].close()
            await asyncio.wait(set(self._returned.values()))
            loop.remove_reader(self._native.fileno())
            self._native.close()
            for number, each in enumerate(connections):
                if self._returned[number].result().reason == "left":
                    connection.reattach_socket(each)
                else:
                    each.abort()

    def _attach(self, number: int, opened: Connection, *, is_same: bool = False) -> None:
        self._returned[number] = asyncio.get_running_loop().create_future()
        socket = connection.detach_socket(opened)
        if socket is None:
            self._returned[number].set_result(Returned("lost"))
            return
        self._native.admit(number)
        self._native.attach(number, socket.descriptor, stream_key, [TEXT], [], *socket[1:], is_same=is_same)

    def _on_returned(self) -> None:
        for number, *reason in self._native.returned():
            if not self._returned[number].done():
                self._returned[number].set_result(Returned(*reason))


def _error(returned: Returned, where: str) -> TuibenchError | None:
    if returned.reason in ("lost", "broken", "aborted"):
        return ConnectionLostError(2013, returned.message or "the connection to the server was lost")
    return returned.error(where)
