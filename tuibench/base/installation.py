"""How this program was installed, and the command that installs the native engine."""

import importlib
import platform
import shutil
import sys
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from shlex import quote
from typing import Any

from tuibench.base.own_process import own_interpreter

ENGINE_MODULE = "tuibench_native"
DISK_LIBRARY = "libtuibench_disk.so"
RUST = "install Rust 1.63 or newer (apt install cargo, brew install rust, rustup.rs)"


LUA_NEEDS = "install a C compiler (apt install gcc, xcode-select --install) and Rust 1.80 or newer"


def has_native_engine() -> bool:
    """True if the native engine is installed; does not import it."""
    return find_spec(ENGINE_MODULE) is not None


def disk_library() -> Path | None:
    """The library for private servers whose disk is simulated; it is beside the native engine."""
    found = find_spec(ENGINE_MODULE)
    if found is None or found.origin is None:
        return None
    library = Path(found.origin).with_name(DISK_LIBRARY)
    return library if library.is_file() else None


@cache
def native_module() -> Any:
    """The module of the native engine; None if it is not installed."""
    try:
        return importlib.import_module(ENGINE_MODULE)
    except ImportError:
        return None


def runs_scripts() -> bool:
    """True if the native engine is installed, and built with Lua."""
    return hasattr(native_module(), "declared")


def engine_line() -> str:
    """The engine of this installation; if the native one or Lua is missing, the way to install it."""
    if not has_native_engine():
        return f"asyncio; for the native one, {engine_remedy()}"
    return "native, with Lua scripts" if runs_scripts() else f"native; for Lua scripts, {lua_remedy()}"


def installer_line() -> str:
    """How this program was installed, with the folder and the version of Python."""
    source, is_editable = _source()
    prefix, interpreter = Path(sys.prefix), Path(own_interpreter())
    if is_archive(interpreter):
        how = f"archive in {interpreter.parents[1]}"
    elif is_editable:
        how = f"editable, from {source}"
    elif "pipx" in prefix.parts:
        how = f"pipx, in {prefix}"
    elif prefix.parts[-3:-1] == ("uv", "tools"):
        how = f"uv, in {prefix}"
    elif _is_uvx(prefix):
        how = "uvx"
    else:
        how = f"pip, in {prefix}"
    return f"{how}; Python {platform.python_version()}"


def _is_uvx(prefix: Path) -> bool:
    """True in an environment of `uvx`, which is in uv's cache and has no pip."""
    return any(name.startswith("archive-v") for name in prefix.parts)


def is_archive(interpreter: Path) -> bool:
    """True if an interpreter is that of an archive, which has a launcher beside it."""
    return interpreter.parent.name == "libexec" and (interpreter.parents[1] / "bin" / "tuibench").is_file()


def engine_remedy() -> str:
    """How to install the native engine, depending on how this program was installed.

    The command is verbose, because installers do not report a failed compilation otherwise.
    """
    command = _install_command(Path(sys.prefix), *_source())
    if shutil.which("cargo"):
        return f"run {command.replace(' install ', ' install --verbose ')}, which says if compiling it fails"
    return f"{RUST}, then run {command}"


def lua_remedy() -> str:
    """How to install the native engine with Lua."""
    return f"{LUA_NEEDS}, then run {_install_command(Path(sys.prefix), *_source())}"


def _source() -> tuple[str, bool]:
    """The source of this installation (a name on the package index, a folder or a URL), and whether it is an
    editable one. For a wheel, it is the name: a wheel contains no sources.
    """
    import json
    from importlib.metadata import Distribution, PackageNotFoundError
    from urllib.parse import unquote, urlsplit

    try:
        recorded = Distribution.from_name("tuibench").read_text("direct_url.json")
    except PackageNotFoundError:
        recorded = None
    if recorded is None:
        return "tuibench", False
    origin = json.loads(recorded)
    url = urlsplit(str(origin["url"]))
    is_editable = bool(origin.get("dir_info", {}).get("editable"))
    if "vcs_info" in origin:
        return f"{origin['vcs_info']['vcs']}+{url.geturl()}", is_editable
    if url.path.endswith(".whl"):
        return "tuibench", False
    return unquote(url.path) if url.scheme == "file" else url.geturl(), is_editable


def _install_command(prefix: Path, source: str, is_editable: bool) -> str:
    """The command that installs the program again by compiling it, not from a wheel without the engine."""
    if is_editable:
        return f"make -C {quote(source)} demo"
    folders = prefix.parts
    if "pipx" in folders:
        return f"pipx install --force --pip-args='--no-binary tuibench' {quote(source)}"
    if folders[-3:-1] == ("uv", "tools"):
        return f"uv tool install --reinstall --no-binary-package tuibench {quote(source)}"
    if _is_uvx(prefix):
        return f"uvx --no-binary-package tuibench --from {quote(source)} tuibench"
    python = quote(str(prefix / "bin" / "python"))
    return f"{python} -m pip install --force-reinstall --no-deps --no-binary tuibench {quote(source)}"
