"""The settings tuibench can change, as data: what each value means, what it risks, who may change it.

Decided here and nowhere else: names, limits, words and privileges. All settings are global variables.
"""

import difflib
import re

import msgspec

from tuibench.errors import UsageError
from tuibench.model.server import Flavour
from tuibench.model.setting import SettingState


class Limits(msgspec.Struct, frozen=True):
    """The whole numbers a flavour takes for a setting, both ends included."""

    low: int
    high: int


class Need(msgspec.Struct, frozen=True):
    """From this version on, a flavour asks for one of these global privileges."""

    flavour: Flavour
    since: tuple[int, ...]
    any_of: tuple[str, ...]


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """One global variable of the server.

    `limits` names the flavours that have it. `meanings` says what single values do, `otherwise` what any
    other does (`{value}` stands for it). `offered` are the values to choose from, `safe` those that lose no
    committed transaction, `risk` what the others cost in one sentence.
    """

    name: str
    limits: dict[Flavour, Limits]
    meanings: dict[str, str]
    otherwise: str
    offered: tuple[str, ...]
    safe: tuple[str, ...]
    risk: str
    needs: tuple[Need, ...]

    def meaning(self, value: str) -> str:
        """What a value does, in words."""
        return self.meanings.get(value) or self.otherwise.format(value=value)

    def at_risk(self, value: str) -> bool:
        """True when committed data can be lost with this value."""
        return value not in self.safe

    def privileges(self, flavour: Flavour, version: tuple[int, ...]) -> tuple[str, ...]:
        """The privileges of which a login needs one to change it; the youngest rule that applies counts."""
        rules = [need for need in self.needs if need.flavour == flavour and need.since <= version]
        return max(rules, key=lambda need: need.since).any_of if rules else ()


_SUPER = Need(Flavour.MARIADB, (0,), ("SUPER",))
_MYSQL = (
    Need(Flavour.MYSQL, (0,), ("SUPER",)),
    Need(Flavour.MYSQL, (8, 0), ("SYSTEM_VARIABLES_ADMIN", "SUPER")),
)

SETTINGS = (
    Setting(
        name="innodb_flush_log_at_trx_commit",
        limits={Flavour.MARIADB: Limits(0, 3), Flavour.MYSQL: Limits(0, 2)},
        meanings={
            "0": "log flushed once a second: about 1 s of commits lost in any crash",
            "1": "log flushed to disk at every commit: no commit is lost",
            "2": "log left to the OS at commit: about 1 s of commits lost if the host crashes",
            "3": "log flushed to disk at prepare and at every commit: no commit is lost",
        },
        otherwise="a value this version of tuibench does not know",
        offered=("1", "2", "0"),
        safe=("1", "3"),
        risk="A crash can lose about the last second of committed transactions.",
        needs=(_SUPER, *_MYSQL),
    ),
    Setting(
        name="sync_binlog",
        limits={Flavour.MARIADB: Limits(0, 2**32 - 1), Flavour.MYSQL: Limits(0, 2**32 - 1)},
        meanings={
            "0": "binlog left to the OS: its latest events lost if the host crashes",
            "1": "binlog flushed to disk at every commit: no event is lost",
        },
        otherwise="binlog flushed every {value} commits: up to that many lost if the host crashes",
        offered=("1", "100", "0"),
        safe=("1",),
        risk="A crash of the host can lose the latest of the binary log, and replicas then differ.",
        needs=(_SUPER, Need(Flavour.MARIADB, (10, 5, 2), ("BINLOG ADMIN", "SUPER")), *_MYSQL),
    ),
    Setting(
        name="innodb_flush_log_at_timeout",
        limits={Flavour.MARIADB: Limits(0, 2700), Flavour.MYSQL: Limits(0, 2700)},
        meanings={
            "0": "log flushed in the background as soon as can be",
            "1": "log flushed in the background every second",
        },
        otherwise="log flushed in the background every {value} s",
        offered=("1", "5", "30"),
        safe=("0", "1"),
        risk="With innodb_flush_log_at_trx_commit 0 or 2, a crash can lose that many seconds of commits.",
        needs=(_SUPER, *_MYSQL),
    ),
)

BY_NAME = {setting.name: setting for setting in SETTINGS}


def find(name: str) -> Setting:
    """The setting of that name; UsageError with the nearest name otherwise."""
    setting = BY_NAME.get(name.strip().lower().replace("-", "_"))
    if setting:
        return setting
    near = difflib.get_close_matches(name.lower(), BY_NAME, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]}?" if near else "known: " + ", ".join(BY_NAME)
    raise UsageError(f"'{name}' is not a setting that tuibench changes", hint)


def validate(setting: Setting, flavour: Flavour, value: str) -> str:
    """The value as the server will say it; UsageError with limits and nearest value if it cannot be."""
    limits = setting.limits.get(flavour)
    if limits is None:
        raise UsageError(f"{flavour} has no setting {setting.name}")
    allowed = f"{setting.name} takes whole numbers from {limits.low} to {limits.high} on {flavour}"
    text = value.strip()
    if not re.fullmatch(r"[+-]?[0-9]{1,40}", text):
        raise UsageError(f"{allowed}, not '{value}'", "for example " + ", ".join(setting.offered))
    number = int(text)
    nearest = min(max(number, limits.low), limits.high)
    if number != nearest:
        raise UsageError(f"{allowed}, not {number}", f"the nearest is {nearest}")
    return str(number)


def state(setting: Setting, value: str, original: str, unavailable: str = "") -> SettingState:
    """A setting as screens and records show it."""
    return SettingState(
        name=setting.name,
        value=value,
        original=original,
        meaning=setting.meaning(value) if value else "",
        at_risk=bool(value) and setting.at_risk(value),
        choices={choice: setting.meaning(choice) for choice in setting.offered},
        risky=tuple(choice for choice in setting.offered if setting.at_risk(choice)),
        unavailable=unavailable,
    )
