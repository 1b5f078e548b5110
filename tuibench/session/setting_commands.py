"""Carries out the commands that change the server's settings or put them back, and words the answers."""

from typing import assert_never

from tuibench.model.command import (
    ApplyPreset,
    ChangeSetting,
    RestoreSettings,
    SettingCommand,
    TrustServer,
)
from tuibench.model.event import EventKind
from tuibench.session.steered import Steered


class SettingCommands:
    """A server that looks like production is changed only after a yes; putting back needs none."""

    def __init__(self, session: Steered) -> None:
        self._session = session

    async def carry_out(self, command: SettingCommand) -> str:
        match command:
            case ChangeSetting(name=name, value=value):
                return await self._change(name, value)
            case ApplyPreset(name=name):
                return await self._preset(name)
            case RestoreSettings(names=names):
                return await self._put_back(names)
            case TrustServer():
                return self._yes()
            case _:
                assert_never(command)

    async def _change(self, name: str, value: str) -> str:
        self._session.gate.demand_yes()
        text = await self._session.hand.change(name, value)
        self._session.tell(EventKind.SETTING, text)
        return text

    async def _preset(self, name: str) -> str:
        self._session.gate.demand_yes()
        text = await self._session.hand.apply(name)
        self._session.tell(EventKind.SETTING, text)
        return text

    async def _put_back(self, names: tuple[str, ...]) -> str:
        texts = await self._session.hand.put_back(names)
        if not texts:
            return "nothing was changed, so there is nothing to put back"
        text = "; ".join(texts)
        self._session.tell(EventKind.SETTING, text)
        return text

    def _yes(self) -> str:
        text = self._session.gate.say_yes()
        self._session.tell(EventKind.WARNING, text)
        return text
