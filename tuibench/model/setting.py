"""The state of a server setting that the operator can change."""

import msgspec


class SettingState(msgspec.Struct, frozen=True, kw_only=True):
    """One setting as the server has it now.

    `original` is the value before our first change. `meaning` says in words what the value does; `at_risk`
    is True when committed data can be lost with it. `choices` are the values to offer, each with its meaning;
    `risky` are those of them with which committed data can be lost. `unavailable` says why it cannot be
    changed, else it is empty. `group` is durability or tuning. `scope` says whom a change reaches: "server"
    (all), "default" (all, and the workload's connections at once), "workload" (the workload's connections
    only). `takes` says in words which values it takes, `risk` what changing it can cost, `counters` which of
    the server's status counters show its effect. `began` is the value when the session began, `changed_by`
    whose the value is now: "us", "others", or empty as long as nobody has changed it. A login needs one of
    `needs` to change it.
    """

    name: str
    value: str
    original: str
    meaning: str
    at_risk: bool
    choices: dict[str, str] = {}
    risky: tuple[str, ...] = ()
    unavailable: str = ""
    group: str = ""
    scope: str = "server"
    takes: str = ""
    risk: str = ""
    counters: tuple[str, ...] = ()
    began: str = ""
    changed_by: str = ""
    needs: tuple[str, ...] = ()

    @property
    def changed(self) -> bool:
        return self.value != self.original


class PresetState(msgspec.Struct, frozen=True, kw_only=True):
    """A named group of settings, and what choosing it risks in one sentence."""

    name: str
    values: dict[str, str]
    risk: str
