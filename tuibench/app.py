"""The program as a table: the commands of the core, and the features.

A new feature is a folder of `features/` and a line here. `base/feature.py` says what a feature can bring.
"""

from tuibench.base.feature import CommandEntry, CommandSection
from tuibench.features import (
    ab,
    anomalies,
    cluster,
    compare,
    crash,
    flame,
    overload,
    probe,
    scenes,
    slap,
    start,
    sweep,
    tune,
)

FEATURES = (
    scenes.FEATURE,
    start.FEATURE,
    ab.FEATURE,
    probe.FEATURE,
    tune.FEATURE,
    sweep.FEATURE,
    crash.FEATURE,
    anomalies.FEATURE,
    slap.FEATURE,
    cluster.FEATURE,
    compare.FEATURE,
    flame.FEATURE,
    overload.FEATURE,
)
"""All features. Help lists their commands in this order."""

_LOAD, _TABLES, _SERVER = CommandSection.LOAD, CommandSection.TABLES, CommandSection.SERVER
_SESSIONS, _RECORDS = CommandSection.SESSIONS, CommandSection.RECORDS

# fmt: off
COMMANDS = (
    CommandEntry(
        "live", _LOAD, "tuibench.cli.run",
        "Open the live screen on a given server.",
    ),
    CommandEntry(
        "run", _LOAD, "tuibench.cli.run",
        "Run a load without a screen: interval lines, then the summary.",
    ),
    CommandEntry(
        "prepare", _TABLES, "tuibench.cli.tables",
        "Create the tables of a profile.",
    ),
    CommandEntry(
        "prewarm", _TABLES, "tuibench.cli.tables",
        "Read the tables of a profile into the server's buffer pool.",
    ),
    CommandEntry(
        "check", _TABLES, "tuibench.cli.tables",
        "Check that the tables of a data set are consistent.",
    ),
    CommandEntry(
        "cleanup", _TABLES, "tuibench.cli.tables",
        "Drop the tables of a profile.",
    ),
    CommandEntry(
        "script", _TABLES, "tuibench.cli.tables",
        "Run a command that a Lua script has of its own.",
    ),
    CommandEntry(
        "profiles", _TABLES, "tuibench.cli.profiles",
        "List the profiles, show one, or check a file.",
    ),
    CommandEntry(
        "watch", _SERVER, "tuibench.cli.server",
        "Watch a server under its own traffic and change its settings, without adding load.",
    ),
    CommandEntry(
        "doctor", _SERVER, "tuibench.cli.run",
        "Check that server, host and data are ready for a load.",
    ),
    CommandEntry(
        "settings", _SERVER, "tuibench.cli.server",
        "List the settings that can be changed: value, meaning, risk, required privilege.",
    ),
    CommandEntry(
        "restore", _SERVER, "tuibench.cli.server",
        "Restore the settings that a crashed session left changed.",
    ),
    CommandEntry(
        "sessions", _SESSIONS, "tuibench.cli.sessions",
        "List the sessions that run on this machine.",
    ),
    CommandEntry(
        "attach", _SESSIONS, "tuibench.cli.run",
        "Open the live screen on a running session.",
    ),
    CommandEntry(
        "ctl", _SESSIONS, "tuibench.cli.sessions",
        "Control a running session: threads, rate, settings, pause, marks, stop.",
    ),
    CommandEntry(
        "web", _SESSIONS, "tuibench.cli.web",
        "Show a running session in the browser.",
    ),
    CommandEntry(
        "runs", _RECORDS, "tuibench.cli.records",
        "List recorded runs, show one, remove some.",
    ),
    CommandEntry(
        "report", _RECORDS, "tuibench.cli.records",
        "Print a recorded run: sysbench's text, JSON, CSV, Markdown, or a page with charts.",
    ),
    CommandEntry(
        "replay", _RECORDS, "tuibench.cli.records",
        "Show a recorded run in the live screens, without a server.",
    ),
)
# fmt: on
"""The commands of the core."""
