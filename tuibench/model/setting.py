"""The state of a server setting that the operator can change."""

import msgspec


class SettingState(msgspec.Struct, frozen=True, kw_only=True):
    """One setting as the server has it now.

    `original` is the value before our first change. `meaning` says in words what the value does; `at_risk`
    is True when committed data can be lost with it. `choices` are the values to offer, each with its meaning;
    `risky` are those of them with which committed data can be lost. `unavailable` says why it cannot be
    changed, else it is empty.
    """

    name: str
    value: str
    original: str
    meaning: str
    at_risk: bool
    choices: dict[str, str] = {}
    risky: tuple[str, ...] = ()
    unavailable: str = ""

    @property
    def changed(self) -> bool:
        return self.value != self.original


class PresetState(msgspec.Struct, frozen=True, kw_only=True):
    """A named group of settings, and what choosing it risks in one sentence."""

    name: str
    values: dict[str, str]
    risk: str
