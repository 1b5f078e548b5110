"""Profile library: lookup by name or path, inheritance, compilation."""

from collections.abc import Mapping
from os.path import isdir, isfile
from pathlib import Path

from tuibench.base import files, paths
from tuibench.base.errors import UsageError, did_you_mean
from tuibench.workload import beside, compiler, script
from tuibench.workload.dataset import METER
from tuibench.workload.language import Profile, decode_profile, extend_profile
from tuibench.workload.program import Program

SUFFIX, LUA = ".toml", script.SUFFIX
MAX_EXTENSIONS = 10


def built_in_profiles_dir() -> Path:
    """The built-in profiles: inside the installed package, or beside the package in a clone."""
    package = Path(__file__).resolve().parent.parent
    installed = package / "profiles"
    return installed if installed.is_dir() else package.parent / "profiles"


LIST_PROFILES_HINT = "tuibench profiles list shows all profiles"
"""The hint when no name is similar."""


def user_profiles_dir() -> Path:
    return paths.config_dir() / "profiles"


def available_profiles() -> dict[str, Path]:
    """All profiles by name. A user's profile takes precedence over a built-in one."""
    found = {}
    for directory in (built_in_profiles_dir(), user_profiles_dir()):
        if isdir(directory):
            found.update({path.stem: path for path in sorted(directory.glob(f"*{SUFFIX}"))})
    return found


def find_profile(name: str) -> Path:
    """The file of a profile, by name (sysbench's suffix `.lua` is ignored) or by path.

    Raises UsageError with the nearest name if there is no such profile.
    """
    plain = name.removesuffix(LUA)
    profiles = available_profiles()
    if "/" in name or name.endswith(SUFFIX) or (name != plain and plain not in profiles):
        path = files.expand_path(name)
        if isfile(path):
            return path
        what = "script" if script.is_script(path) else "profile file"
        profile = CLASSIC.get(path.stem, path.stem)
        is_known = path.suffix == LUA and profile in profiles
        raise UsageError(f"there is no {what} {name}", f"there is a profile {profile}" if is_known else "")
    if plain not in profiles:
        raise UsageError(f"there is no profile '{name}'", did_you_mean(plain, profiles) or LIST_PROFILES_HINT)
    return profiles[plain]


CLASSIC = {
    "oltp_inlist_select": "classic.random_points100",
    "oltp_inlist_update": "classic.update_inlist",
    "oltp_points_covered": "classic.points_covered_pk",
    "oltp_range_covered": "classic.range_covered_pk",
    "oltp_read_only_count": "classic.read_only_count",
    "oltp_scan": "classic.scan",
    "oltp_update_rate": "classic.update_one",
}
"""Profiles of the classic suite, by the names of its scripts (mdcallag/mytools)."""


def load_profile(name: str) -> Profile:
    """Read and check a profile. Raises UsageError with file, key and nearest valid name."""
    path = find_profile(name)
    if script.is_script(path):
        return script.profile(script.load(path))
    return _checked_profile(decode_profile(_read_profile(path), str(path)), str(path), (path,))


def parse_profile(text: str, source: str) -> Profile:
    """The checked profile in `text`; `source` names it in errors."""
    return _checked_profile(decode_profile(text, source), source, ())


def _read_profile(path: Path) -> str:
    try:
        return files.read_text(path)
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read the profile {path}: {error}") from error


def _checked_profile(profile: Profile, source: str, seen: tuple[Path, ...]) -> Profile:
    whole = _resolve_extends(profile, source, seen)
    if not whole.data_set:
        raise UsageError(f"{source}: data_set: a profile needs data_set or extends")
    compiler.check_profile(whole, source)
    return whole


def _resolve_extends(profile: Profile, source: str, seen: tuple[Path, ...]) -> Profile:
    """The profile merged with those that it extends. `seen` are the files of the chain so far."""
    if not profile.extends:
        return profile
    path = _base_profile(profile.extends, source, seen)
    if len(seen) > MAX_EXTENSIONS:
        raise UsageError(f"{source}: extends: at most {MAX_EXTENSIONS} profiles in the chain of extends")
    return extend_profile(
        profile, _resolve_extends(decode_profile(_read_profile(path), str(path)), str(path), (*seen, path))
    )


def _base_profile(name: str, source: str, seen: tuple[Path, ...]) -> Path:
    """The base profile; a profile that extends its own name means the built-in one."""
    built_in = built_in_profiles_dir() / f"{name.removesuffix(LUA)}{SUFFIX}"
    try:
        path = find_profile(name)
    except UsageError as error:
        raise UsageError(f"{source}: extends: {error.message}", error.hint) from None
    if path in seen and built_in.is_file():
        path = built_in
    if path in seen:
        raise UsageError(f"{source}: extends: '{name}' extends itself")
    return path


def load_program(
    name: str, options: Mapping[str, object] | None = None, text: str = "", *, command: str = script.RUN
) -> Program:
    """The program of a profile, by name or path, with options (texts or typed values).

    `text` replaces the file's contents; `name` is then only the program's name. `command` is the command of a
    script. Raises UsageError if the script does not have it. With the option `with_anomalies`, the program
    also has the transactions of the anomaly meter.
    """
    of_load, of_meter, share = beside.split_options(options or {})
    program = _one_program(name, of_load, text, command)
    if share is None:
        return program
    shared = {key: value for key, value in of_load.items() if key in compiler.SHARED_OPTIONS}
    meter = compiler.compile_profile(load_profile(METER), shared | of_meter)
    return beside.with_meter(program, meter, share)


def _one_program(name: str, options: Mapping[str, object], text: str, command: str) -> Program:
    path = None if text else find_profile(name)
    if path is not None and script.is_script(path):
        return script.program(script.load(path, command), options)
    return compiler.compile_profile(parse_profile(text, name) if text else load_profile(name), options)
