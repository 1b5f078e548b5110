"""Server variables that a report lists first, selected by role."""

from collections.abc import Iterator

from tuibench.model.settings import REPORTED_READ_ONLY, SettingRole, SettingState, settings_with
from tuibench.record.files.run import Run
from tuibench.units import binary_size


def important_variables(run: Run) -> Iterator[tuple[str, str]]:
    """Names and values at the start of the run; sizes also in binary units."""
    if run.environment is None:
        return
    values = run.environment.variables
    first = run.states[0].status.settings if run.states else ()
    reported = {setting.name: setting for setting in settings_with(SettingRole.REPORT, first)}
    for name in (*reported, *REPORTED_READ_ONLY):
        if name in values:
            yield str(name), _in_words(reported.get(name), values[name])


def _in_words(setting: SettingState | None, value: str) -> str:
    is_size = setting is not None and setting.is_size and value.isdecimal()
    return f"{binary_size(int(value))} ({value})" if is_size else value
