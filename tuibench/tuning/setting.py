"""A server setting of the catalogue: servers that have it, values, meanings, risk, privileges.

It determines how a value may be written (`256M`, `on`, `0.5`) and how the server reports it. The settings
themselves are data: `durability.py`, `performance.py`.
"""

import re
from collections.abc import Mapping
from decimal import Decimal
from enum import StrEnum
from functools import partial
from typing import Protocol

import msgspec
from msgspec.structs import force_setattr

from tuibench.base import units
from tuibench.base.errors import UsageError
from tuibench.model.server import Flavour
from tuibench.model.settings import CostFigure, SettingGroup, SettingRole, SettingTopic

Version = tuple[int, ...]


class ServerVersion(Protocol):
    """The flavour and version, of a running server or of a program, on which the support of settings
    depends.
    """

    @property
    def flavour(self) -> Flavour: ...

    @property
    def version(self) -> str: ...

    @property
    def version_tuple(self) -> Version: ...


class PrivilegeRule(msgspec.Struct, frozen=True):
    """From this version on, a flavour requires one of these global privileges, or none."""

    flavour: Flavour
    since: Version
    any_of: tuple[str, ...]


_MYSQL = (
    PrivilegeRule(Flavour.MYSQL, (), ("SUPER",)),
    PrivilegeRule(Flavour.MYSQL, (8, 0), ("SYSTEM_VARIABLES_ADMIN", "SUPER")),
)
_SUPER = PrivilegeRule(Flavour.MARIADB, (), ("SUPER",))


def _mariadb_also(privilege: str) -> tuple[PrivilegeRule, ...]:
    """The privilege as an alternative to SUPER: MariaDB split SUPER in 10.5.2, and removed the parts from it
    in 11.0.1.
    """
    return (
        _SUPER,
        PrivilegeRule(Flavour.MARIADB, (10, 5, 2), (privilege, "SUPER")),
        PrivilegeRule(Flavour.MARIADB, (11, 0, 1), (privilege,)),
    )


GLOBAL_VARIABLE = (_SUPER, *_MYSQL)
"""The privileges for a global variable without a specific privilege."""

BINARY_LOG = (*_mariadb_also("BINLOG ADMIN"), *_MYSQL)
REPLICA = (*_mariadb_also("REPLICATION SLAVE ADMIN"), *_MYSQL)
CONNECTIONS = (*_mariadb_also("CONNECTION ADMIN"), *_MYSQL)
SESSION_LOG_BIN = (
    *BINARY_LOG,
    PrivilegeRule(Flavour.MYSQL, (8, 0, 14), ("SESSION_VARIABLES_ADMIN", "SYSTEM_VARIABLES_ADMIN", "SUPER")),
)
REDO_LOG = (PrivilegeRule(Flavour.MYSQL, (8, 0, 21), ("INNODB_REDO_LOG_ENABLE",)),)
NONE_NEEDED: tuple[PrivilegeRule, ...] = ()
"""For the transaction isolation, which everyone may change on their own connection."""


UNKNOWN = "a value unknown to this version of tuibench"
NEVER: Version = (1000,)
"""A version that does not exist."""

ON, OFF = "ON", "OFF"
ABOVE_ZERO = "above 0"
"""In `Setting.acts_with`: any number except 0."""

_SWITCH = {"on": ON, "1": ON, "true": ON, "yes": ON, "off": OFF, "0": OFF, "false": OFF, "no": OFF}
_UNIT_BYTES = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}
_WHOLE = re.compile(r"[+-]?[0-9]{1,40}")
_DECIMAL = re.compile(r"[+-]?(?=\.?[0-9])[0-9]{0,20}(\.[0-9]{0,20})?")
_SIZE = re.compile(r"([+-]?[0-9]{1,40})\s*([kmgt]?)(?:i?b)?", re.IGNORECASE)
BOUNDLESS = 2**60
"""More bytes than any host has: a limit that is not shown."""

MICRO = Decimal("0.000001")


class ValueKind(StrEnum):
    """How values of a setting are written."""

    INTEGER = "integer"
    DECIMAL = "decimal"
    PERCENT = "percent"
    SIZE = "size"
    SWITCH = "switch"
    CHOICE = "choice"


_WITH_DECIMALS = (ValueKind.DECIMAL, ValueKind.PERCENT)


class SettingScope(StrEnum):
    """The connections that a change affects."""

    SERVER = "server"
    """One value for all connections."""
    DEFAULT = "default"
    """The server's value for new connections. Each of the workload's connections has a copy, which is changed
    along with it.
    """
    WORKLOAD = "workload"
    """Only the workload's connections."""


class TrialRule(StrEnum):
    """Says if `tune` may try other values by default."""

    FREE = "free"
    """The results of statements and what survives a crash stay the same."""

    RISKY = "risky"
    """Only with `--allow-risk`: other results or locks, lost checks, or transactions that wait or fail."""

    NEVER = "never"
    """A limit or a log, which is not a matter of speed."""


class MemoryUse(StrEnum):
    """The resource that a larger value takes: none of importance, memory once or per connection, or disk."""

    NONE = ""
    ONCE = "once"
    PER_CONNECTION = "per connection"
    DISK = "disk"


class FlavourSupport(msgspec.Struct, frozen=True):
    """The support of a setting by a flavour."""

    flavour: Flavour
    low: int = 0
    """The minimum of numbers; bytes for sizes."""
    high: int = 0
    """The maximum of numbers; bytes for sizes."""
    values: tuple[str, ...] = ()
    """The words of a choice."""
    since: Version = ()
    """The first version with the setting."""
    until: Version = ()
    """The first version without it."""
    dynamic_since: Version = ()
    """Before this version, a change requires a restart of the server."""
    stuck: tuple[str, ...] = ()
    """Words of a choice that can only be set at the start: a change from one of them requires a restart."""
    kind: ValueKind | None = None
    """Set if the flavour has its own notation."""

    def has(self, server: ServerVersion) -> bool:
        version = server.version_tuple
        return self.flavour == server.flavour and self.since <= version and not self.is_past(version)

    @property
    def at_start(self) -> "FlavourSupport":
        """The support with the values that can only be set at the start, too."""
        return msgspec.structs.replace(self, values=tuple(dict.fromkeys((*self.values, *self.stuck))))

    def is_past(self, version: Version) -> bool:
        return bool(self.until) and version >= self.until


mariadb = partial(FlavourSupport, Flavour.MARIADB)
mysql = partial(FlavourSupport, Flavour.MYSQL)


def both(
    low: int = 0, high: int = 0, values: tuple[str, ...] = (), dynamic_since: Version = ()
) -> tuple[FlavourSupport, ...]:
    """The same support by all versions of both flavours."""
    return tuple(make(low, high, values, dynamic_since=dynamic_since) for make in (mariadb, mysql))


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """A setting of the catalogue.

    By default all servers have it, it concerns performance, its values are whole numbers, and a change
    requires the privilege for global variables. If its support has `values`, it is a choice; if only ON and
    OFF have a meaning, it is a switch.
    """

    name: str
    """The name of its variable, if it has one."""
    group: SettingGroup = SettingGroup.TUNING
    topic: SettingTopic
    kind: ValueKind = ValueKind.INTEGER
    supported: tuple[FlavourSupport, ...] = both()
    meanings: dict[str, str] = {}
    """Descriptions of single values."""
    otherwise: str = UNKNOWN
    """The description of all other values; `{value}` is replaced, sizes in words."""
    offered: tuple[str, ...] = ()
    """The values to choose from; by default those with a meaning."""
    risk: str
    """The possible cost of a change, in one sentence."""
    needs: tuple[PrivilegeRule, ...] = GLOBAL_VARIABLE
    """The privileges."""
    counters: tuple[str, ...]
    """The status counters that show its effect."""
    safe: tuple[str, ...] | None = None
    """The values that lose no committed transaction; None if no value loses one."""
    scope: SettingScope = SettingScope.SERVER
    aliases: dict[str, str] = {}
    """Other spellings of values."""
    rounding: str = ""
    """How the server rounds values; empty if it accepts or refuses them unchanged."""
    rounding_step: int = 0
    """No value is rounded by more than this."""
    slow: bool = False
    """True if a change continues in the background, and no other one is accepted before its end."""
    roles: tuple[SettingRole, ...] = ()
    """Where the setting is shown although it was not changed."""
    cost: CostFigure = CostFigure.NONE
    """The cost of a commit that it determines."""
    short_name: str = ""
    """For narrow panels."""
    at_commit: bool = False
    """True if a change affects only commits, not the other statements of a transaction."""
    trial: TrialRule = TrialRule.FREE
    tried: tuple[str, ...] | None = None
    """The values that `tune` may try; None for the offered ones."""
    memory: MemoryUse = MemoryUse.NONE
    acts_with: Mapping[str, tuple[str, ...]] = {}
    """Variables that need these values for the setting to have any effect."""
    allows: Mapping[str, str] = {}
    """The anomalies of isolation that a value allows, and another value prevents."""
    at_start: str = ""
    start_options: Mapping[str, str] = {}
    survives_restart: bool = False
    """True if the server stores a change, and has it after a restart, too."""

    def __post_init__(self) -> None:
        if not self.offered:
            force_setattr(self, "offered", tuple(self.meanings))
        if any(support.values for support in self.supported):
            force_setattr(self, "kind", ValueKind.CHOICE)
        elif self.meanings.keys() == {ON, OFF}:
            force_setattr(self, "kind", ValueKind.SWITCH)

    def kind_of(self, support: FlavourSupport | None) -> ValueKind:
        """The notation of values on this flavour."""
        return (support and support.kind) or self.kind

    def support(self, server: ServerVersion) -> FlavourSupport | None:
        """The support of this server; None if it does not have the setting."""
        return next((support for support in self.supported if support.has(server)), None)

    def meaning(self, value: str) -> str:
        return self.meanings.get(value) or self.otherwise.format(value=self.spoken(value))

    def spoken(self, value: str) -> str:
        """A value for messages: sizes in binary units, decimals without trailing zeros."""
        match self.kind:
            case ValueKind.SIZE if _WHOLE.fullmatch(value):
                return units.binary_size(int(value))
            case ValueKind.DECIMAL | ValueKind.PERCENT if _DECIMAL.fullmatch(value):
                return f"{Decimal(value).normalize():f}"
            case _:
                return value

    def at_risk(self, value: str) -> bool:
        """True when committed data can be lost with this value."""
        return self.safe is not None and value not in self.safe

    def privileges(self, flavour: Flavour, version: Version) -> tuple[str, ...]:
        """The privileges, one of which is required to change it; the most recent rule that applies counts."""
        rules = [need for need in self.needs if need.flavour == flavour and need.since <= version]
        return max(rules, key=lambda need: need.since).any_of if rules else ()

    def choices(self, support: FlavourSupport) -> tuple[str, ...]:
        """The offered values that are valid on this flavour."""
        if self.kind is ValueKind.CHOICE:
            return tuple(value for value in self.offered if value in support.values)
        if self.kind is ValueKind.SWITCH:
            return self.offered
        return tuple(value for value in self.offered if support.low <= Decimal(value) <= support.high)

    def takes(self, support: FlavourSupport) -> str:
        """A description of the valid values."""
        match self.kind_of(support):
            case ValueKind.INTEGER:
                return f"whole numbers from {support.low} to {support.high}"
            case ValueKind.DECIMAL:
                return f"seconds from {support.low} to {support.high}, with up to six decimals"
            case ValueKind.PERCENT:
                return f"percentages from {support.low} to {support.high}, with up to six decimals"
            case ValueKind.SIZE:
                most = f" to {units.binary_size(support.high)}" if support.high < BOUNDLESS else " up"
                return f"sizes from {units.binary_size(support.low)}{most}, in bytes or like 256M"
            case ValueKind.SWITCH:
                return "on or off"
            case ValueKind.CHOICE:
                return "one of " + ", ".join(support.values)

    def canonical(self, support: FlavourSupport, text: str) -> str:
        """The value as the server reports it. Raises UsageError with the valid values, and the
        nearest one.
        """
        words = text.strip()
        match self.kind_of(support):
            case ValueKind.SWITCH:
                value = _SWITCH.get(words.lower())
            case ValueKind.CHOICE:
                value = self._choice(support, words)
            case _:
                return self._number(support, words)
        if value is None:
            raise self._refusal(support, text, "for example " + ", ".join(self.choices(support)))
        return value

    def _choice(self, support: FlavourSupport, text: str) -> str | None:
        word = re.sub(r"[\s_-]+", "-", text.upper())
        known = {re.sub(r"[_-]+", "-", value.upper()): value for value in support.values}
        return known.get(word) or self.aliases.get(text.upper())

    def _number(self, support: FlavourSupport, text: str) -> str:
        kind = self.kind_of(support)
        # The number in a text; None if it is not a number.
        if kind is ValueKind.SIZE:
            found = _SIZE.fullmatch(text)
            number = Decimal(int(found[1]) * _UNIT_BYTES[found[2].lower()]) if found else None
        else:
            pattern = _DECIMAL if kind in _WITH_DECIMALS else _WHOLE
            number = Decimal(text) if pattern.fullmatch(text) and text.isascii() else None
        if number is None:
            raise self._refusal(support, text, "for example " + ", ".join(self.choices(support)))
        nearest = min(max(number, Decimal(support.low)), Decimal(support.high))
        if number != nearest:
            raise self._refusal(support, text, f"the nearest is {_written(kind, nearest)}")
        return _written(kind, number)

    def _refusal(self, support: FlavourSupport, text: str, hint: str) -> UsageError:
        return UsageError(f"{self.name} takes {self.takes(support)} on {support.flavour}, not '{text}'", hint)


def _written(kind: ValueKind, number: Decimal) -> str:
    return str(number.quantize(MICRO)) if kind in _WITH_DECIMALS else str(int(number))


def version_text(version: Version) -> str:
    return ".".join(map(str, version))
