"""What a feature brings to the program, and the table of all features.

A feature is a folder of `tuibench/features/`, whose `FEATURE` names what it has for the command line, a
session, the reports and the screen. The core finds these parts here and imports no feature itself:

    tuibench.app ── FEATURES ──> installed() ──> experiments, reports, tabs, … of every feature

Parts are named by references, `module:attribute`, and imported when they are needed. So a process imports
only what it uses: a session no screen, a worker no feature at all.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from functools import cache
from importlib import import_module
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol, TypeVar

PROGRAM = "tuibench.app"
"""The module with the table. It is imported by name, because it imports everything that is in it."""


Reference = str
"""`module:attribute`, imported when it is needed."""


class CommandSection(StrEnum):
    """The titles in the list of commands, in their order."""

    LOAD = "Put load on a server"
    TABLES = "Tables and profiles"
    SERVER = "The server"
    SESSIONS = "Running sessions"
    RECORDS = "Recorded runs"
    HIDDEN = ""
    """Commands that only programs start; no list has them."""


class CommandEntry(NamedTuple):
    """A command of the command line: a function with its name, whose docstring is its help."""

    name: str
    section: CommandSection
    module: str
    summary: str
    """Its line in the list of commands."""
    examples: tuple[str, ...] = ()
    """The arguments of the examples in its help."""


class Feature(NamedTuple):
    """What a feature brings. Everything but the name may be missing."""

    name: str
    """The name of its folder."""
    commands: tuple[CommandEntry, ...] = ()
    show_recorded: Reference = ""
    """Prints what the feature has recorded in a folder, for `runs show`; returns False if it has not."""
    run_over_starts: Reference = ""
    """Carries out the A/B test of a plan on private servers, which start with its values (`run --server`)."""
    experiments: tuple[Reference, ...] = ()
    """Kinds of `session.laboratory.Experiment`. Their modules declare the handlers of their commands."""
    instrument: Reference = ""
    """A `session.instrument.Instrument`: what a session reads beside its ticks. Its module declares the
    handlers of its commands."""
    resolver: Reference = ""
    """Makes the `session.effects.Alternation` that decides a doubtful effect of a change."""
    data_sets: Mapping[str, Reference] = MappingProxyType({})
    """Kinds of `workload.dataset.DataSet`, by the name that profiles use."""
    load_hosts: Reference = ""
    """A `session.load.LoadHosts`: a load from several hosts."""
    report: Reference = ""
    """A `report.part.ReportPart`: what the reports say about its results."""
    tabs: tuple[Reference, ...] = ()
    """Screens of the tab line, each a `tui.screens.tab.ScreenTab`."""
    actions: Reference = ""
    """Its keys, a tuple of `tui.action.UserAction`."""
    dialogs: Mapping[str, Reference] = MappingProxyType({})
    """Makers of dialogs, by the name of the action that opens the dialog."""
    offers: tuple[str, ...] = ()
    """The modules of the folder that other features may import."""


@cache
def resolve(reference: Reference) -> Any:
    """The attribute that a reference names."""
    module, _, attribute = reference.partition(":")
    return getattr(import_module(module), attribute)


def installed() -> tuple[Feature, ...]:
    """All features, in the order of the table."""
    features: tuple[Feature, ...] = import_module(PROGRAM).FEATURES
    return features


def command_entries() -> Iterator[CommandEntry]:
    """The commands of the core and of all features, in the order of the list of commands."""
    core: tuple[CommandEntry, ...] = import_module(PROGRAM).COMMANDS
    entries = [*core, *(entry for feature in installed() for entry in feature.commands)]
    for section in CommandSection:
        yield from (entry for entry in entries if entry.section is section)


class Placed(Protocol):
    """An entry of a table that features extend."""

    @property
    def name(self) -> str: ...

    @property
    def after(self) -> str:
        """The name of the entry that it follows; empty for an entry of the core."""


AnyPlaced = TypeVar("AnyPlaced", bound=Placed)


def merged(own: Sequence[AnyPlaced], brought: Iterable[AnyPlaced]) -> tuple[AnyPlaced, ...]:
    """A table of the core with the entries of features in their places; an unknown place is the end."""
    found = list(own)
    for entry in brought:
        names = [one.name for one in found]
        found.insert(names.index(entry.after) + 1 if entry.after in names else len(found), entry)
    return tuple(found)
