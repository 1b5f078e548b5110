"""The subject of an A/B test: settings, `preset`, `threads` or a part of the simulated hardware, and the
commands that set its values.
"""

from tuibench.base.errors import UsageError
from tuibench.model.hardware import hardware_text, parse_hardware, part_of_subject
from tuibench.model.message import ApplyPreset, ChangeSetting, SetHardware, SetThreads
from tuibench.model.schedule import TOGETHER, checked_threads, settings_of
from tuibench.tuning import catalogue

PRESET, THREADS = "preset", "threads"


SubjectChange = ApplyPreset | SetThreads | SetHardware | ChangeSetting


def changes_to(subject: str, value: str, other: str) -> dict[str, SubjectChange]:
    """The changes from the `other` value of a test's subject to `value`, by what they change, in an order in
    which settings keep their limits. Raises UsageError for an invalid value.
    """
    if subject == PRESET:
        return {PRESET: ApplyPreset(value)}
    if subject == THREADS:
        if not value.isdigit():
            raise UsageError(f"threads takes whole numbers, not '{value}'")
        return {THREADS: SetThreads(int(value))}
    if name := part_of_subject(subject):
        return {subject: SetHardware(f"{name}={hardware_text(parse_hardware(f'{name}={value}'), name)}")}
    wanted = settings_of(subject, value)
    ordered = catalogue.order_by_limits(wanted, settings_of(subject, other))
    return {name: ChangeSetting(name, wanted[name]) for name in ordered}


def resolve_subject(subject: str, a: str, b: str) -> str:
    """The canonical name of the subject. Raises UsageError for an unknown subject or an invalid value."""
    if subject not in (PRESET, THREADS) and not part_of_subject(subject):
        subject = TOGETHER.join(catalogue.find_setting(name).name for name in subject.split(TOGETHER))
    for command in (*changes_to(subject, a, b).values(), *changes_to(subject, b, a).values()):
        if isinstance(command, SetThreads):
            checked_threads(command.threads)
        if isinstance(command, ApplyPreset):
            catalogue.find_preset(catalogue.all_presets(), command.name)
    return subject
