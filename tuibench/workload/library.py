"""Where profiles are found: built in, in the user's configuration folder, or anywhere by path."""

from collections.abc import Mapping
from os.path import isdir, isfile
from pathlib import Path

from tuibench import files, paths
from tuibench.errors import UsageError
from tuibench.workload import compile as compiler
from tuibench.workload import nearest
from tuibench.workload.decode import decode
from tuibench.workload.profile import Profile, extended
from tuibench.workload.program import Program

SUFFIX, LUA = ".toml", ".lua"
MOST_EXTENSIONS = 10


def built_in_dir() -> Path:
    """The profiles that come with the program: beside the package when installed, above it in a checkout."""
    package = Path(__file__).resolve().parent.parent
    installed = package / "profiles"
    return installed if installed.is_dir() else package.parent / "profiles"


ELSE = "tuibench profiles list names them"
"""The hint where no name is near."""


def user_dir() -> Path:
    """The user's own profiles."""
    return paths.config_dir() / "profiles"


def available() -> dict[str, Path]:
    """All profiles by name. A user's own profile stands before a built-in one of the same name."""
    found = {}
    for directory in (built_in_dir(), user_dir()):
        if isdir(directory):
            found.update({path.stem: path for path in sorted(directory.glob(f"*{SUFFIX}"))})
    return found


def find(name: str) -> Path:
    """The file of a profile given by name (sysbench's `.lua` suffix is tolerated) or by path.

    Raises UsageError with the nearest name when there is none.
    """
    if "/" in name or name.endswith(SUFFIX):
        path = files.path(name)
        if isfile(path) and path.suffix != LUA:
            return path
        raise UsageError(f"there is no profile file {name}", _for_script(path))
    plain = name.removesuffix(LUA)
    profiles = available()
    if plain not in profiles:
        raise UsageError(f"there is no profile '{name}'", nearest.hint(plain, profiles) or ELSE)
    return profiles[plain]


def _for_script(path: Path) -> str:
    """What to do for somebody who names one of sysbench's scripts."""
    if path.suffix != LUA:
        return ""
    known = path.stem in available()
    return f"Lua is not read, but there is a profile {path.stem}" if known else "Lua is not read"


def load(name: str) -> Profile:
    """Reads and checks a profile. Raises UsageError naming file, key and nearest valid name."""
    path = find(name)
    return _checked(decode(_text(path), str(path)), str(path), (path,))


def parse(text: str, source: str) -> Profile:
    """The checked profile in `text`; `source` names it in errors."""
    return _checked(decode(text, source), source, ())


def _text(path: Path) -> str:
    try:
        return files.text(path)
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read the profile {path}: {error}") from error


def _checked(profile: Profile, source: str, seen: tuple[Path, ...]) -> Profile:
    whole = _whole(profile, source, seen)
    if not whole.data_set:
        raise UsageError(f"{source}: data_set: a profile names its data set, or another that it `extends`")
    compiler.check(whole, source)
    return whole


def _whole(profile: Profile, source: str, seen: tuple[Path, ...]) -> Profile:
    """The profile with what it takes from those it extends. `seen` are the files that led here."""
    if not profile.extends:
        return profile
    path = _base(profile.extends, source, seen)
    if len(seen) > MOST_EXTENSIONS:
        raise UsageError(f"{source}: extends: at most {MOST_EXTENSIONS} profiles stand upon each other")
    return extended(profile, _whole(decode(_text(path), str(path)), str(path), (*seen, path)))


def _base(name: str, source: str, seen: tuple[Path, ...]) -> Path:
    """Found like any other; a profile that extends one of its own name means the built-in one."""
    built_in = built_in_dir() / f"{name.removesuffix(LUA)}{SUFFIX}"
    try:
        path = find(name)
    except UsageError as error:
        raise UsageError(f"{source}: extends: {error.message}", error.hint) from None
    if path in seen and built_in.is_file():
        path = built_in
    if path in seen:
        raise UsageError(f"{source}: extends: '{name}' extends itself")
    return path


def program(name: str, options: Mapping[str, object] | None = None, text: str = "") -> Program:
    """The program of a profile, given by name or path, with a user's options (text or typed).

    With `text`, that is the profile, and `name` is only what it is called.
    """
    return compiler.compile_profile(parse(text, name) if text else load(name), options or {})
