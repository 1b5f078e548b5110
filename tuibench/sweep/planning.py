"""The plan of a sweep: axes, cells, order.

Cells of a sweep and their order, from its plan.

Cells on the same tables are adjacent, as only one size of a table can exist at a time. Among
themselves they are ordered as the plan says.

How long a sweep will take: from its plan first, then from the cells that are done.

Conversion of a sweep's options to its cases and variants.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import product

from msgspec.structs import replace

from tuibench.errors import UsageError
from tuibench.model.plan import OptionValue
from tuibench.model.settings import PresetState
from tuibench.model.sweep import SweepCase, SweepVariant
from tuibench.tuning.catalogue import lookup
from tuibench.workload import library
from tuibench.workload.compiler import known_options
from tuibench.workload.datasets import build_data_set
from tuibench.workload.language import ProfileOption, canonical_name, command_line_name

DURABILITY = tuple(lookup.BUILTIN_PRESETS[0].values)
SEVERAL = ("integer", "number", "choice")
"""Types of options of which commas separate several values."""


def build_cases(
    profiles: Sequence[str], given: Mapping[str, OptionValue], most_threads: int, text: str = ""
) -> tuple[SweepCase, ...]:
    """Each profile with each combination of its options. Commas separate values: `--table-size=1000,9000`.

    A profile takes those of the options that it knows. Raises UsageError for one that none of them knows.
    With `text`, that is the profile, and what is named is only what it is called.
    """
    known = {
        profile: known_options(
            library.parse_profile(text, profile) if text else library.load_profile(profile)
        )
        for profile in profiles
    }
    options = {canonical_name(name): value for name, value in given.items()}
    for name in options:
        if not any(name in each for each in known.values()):
            library.load_program(profiles[0], {name: options[name]}, text)
    return tuple(
        _with_data(case, most_threads, text)
        for profile in profiles
        for case in _cases(profile, options, known[profile])
    )


def _cases(
    profile: str, options: Mapping[str, OptionValue], known: Mapping[str, ProfileOption]
) -> Iterable[SweepCase]:
    own = {name: _values(name, value, known[name]) for name, value in options.items() if name in known}
    varied = [name for name, values in own.items() if len(values) > 1]
    for combination in product(*own.values()):
        chosen = dict(zip(own, combination, strict=True))
        named = ", ".join([_plain(profile), *(f"{name}={chosen[name]}" for name in varied)])
        yield SweepCase(name=named, profile=profile, options=chosen)


def _plain(profile: str) -> str:
    """The name of a profile that may be given by its path."""
    return profile.rpartition("/")[2].removesuffix(".toml")


def _values(name: str, value: OptionValue, option: ProfileOption) -> tuple[OptionValue, ...]:
    if not isinstance(value, str) or option.type not in SEVERAL or "," not in value:
        return (value,)
    parts = parse_words(command_line_name(name), value)
    if any(part.isdigit() and part != str(int(part)) for part in parts):
        raise UsageError(
            f"{command_line_name(name)}={value}: commas separate values here",
            "write thousands without them: 10000",
        )
    return tuple(parts)


def _with_data(case: SweepCase, most_threads: int, text: str) -> SweepCase:
    spec = build_data_set(library.load_program(case.profile, {**case.options, "threads": most_threads}, text))
    command = spec.prepare_command("PROFILE")
    return replace(case, data=command, size=spec.describe())


def build_variants(preset_names: str, settings: Sequence[str]) -> tuple[SweepVariant, ...]:
    """Each preset with each combination of values: `durable,unsafe` and `sync_binlog=0,1`, which come on top.

    A variant is called by what it does not share with all others, or by all of it if there is no such thing.
    Raises UsageError for presets and settings that do not exist.
    """
    named = (
        [_preset(name) for name in parse_words("--preset", preset_names)]
        if preset_names
        else [SweepVariant(name="")]
    )
    axes = [_setting(text) for text in settings]
    varied = {
        name for axis in axes for name, _ in axis if len(axis) > 1 or not (preset_names or varies(axes))
    }
    return tuple(
        _combined(preset, values, varied)
        for preset in named
        for values in product(*axes)
        if _check_once(values)
    )


def with_loads(
    variants: Sequence[SweepVariant], loads: Sequence[tuple[str, Mapping[str, OptionValue]]]
) -> tuple[SweepVariant, ...]:
    """Each variant with each load: its name, and the fields of the plan that are its own."""
    return tuple(
        replace(variant, name=", ".join(word for word in (variant.name, name) if word), load=dict(load))
        for variant in variants
        for name, load in loads
    )


def with_servers(variants: Sequence[SweepVariant], servers: Sequence[str]) -> tuple[SweepVariant, ...]:
    """Each variant on each private server; a variant is called by its server if there are several."""
    return tuple(
        replace(
            variant,
            name=", ".join(word for word in (server if len(servers) > 1 else "", variant.name) if word)
            or server,
            server=server,
        )
        for server in servers
        for variant in variants
    )


def varies(axes: Sequence[Sequence[object]]) -> bool:
    """True if any of them has more than one value."""
    return any(len(axis) > 1 for axis in axes)


def _preset(name: str) -> SweepVariant:
    preset = lookup.find_preset(lookup.all_presets(), name)
    return SweepVariant(name=_called(preset), preset=preset.name)


def _called(preset: PresetState) -> str:
    """A durability preset shows its two values: durable 1/1."""
    if set(preset.values) != set(DURABILITY):
        return preset.name
    return f"{preset.name} {'/'.join(preset.values[name] for name in DURABILITY)}"


def _setting(text: str) -> list[tuple[str, str]]:
    name, equals, values = text.partition("=")
    if not equals:
        raise UsageError(f"--setting takes NAME=V1,V2, not '{text}'", "for example --setting sync_binlog=1,0")
    setting = lookup.find_setting(name)
    return [(setting.name, value) for value in parse_words(f"--setting {setting.name}", values)]


def _check_once(values: Sequence[tuple[str, str]]) -> bool:
    names = [name for name, _ in values]
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f"--setting {name} is given twice", f"write --setting {name}=V1,V2")
    return True


def _combined(
    preset: SweepVariant, values: Sequence[tuple[str, str]], names: Collection[str]
) -> SweepVariant:
    settings = [f"{name}={value}" for name, value in values if name in names]
    words = [*([preset.name] * bool(preset.name)), *settings]
    return replace(preset, name=", ".join(words), settings=dict(values))


def parse_words(option: str, text: str) -> list[str]:
    """The words between commas. Raises UsageError for none, an empty one, or one that comes twice."""
    words = [word.strip() for word in text.split(",")]
    if not all(words):
        raise UsageError(f"{option} takes values separated by commas, not '{text}'")
    twice = next((word for word in words if words.count(word) > 1), "")
    if twice:
        raise UsageError(f"{option}: {twice} is given twice")
    return words


def parse_profiles(text: str) -> tuple[str, ...]:
    """The profiles of `oltp_read_only,oltp_write_only`."""
    return tuple(parse_words("the profiles", text))


def parse_threads(text: str) -> tuple[int, ...]:
    """The numbers of `4,8,16`. Raises UsageError for what is none."""
    try:
        return tuple(int(word) for word in parse_words("--threads", text))
    except ValueError as error:
        raise UsageError(
            f"--threads takes whole numbers separated by commas, not '{text}'", "for example 4,8,16,32"
        ) from error
