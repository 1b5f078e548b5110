"""How this program was installed, and the command that gets it the native engine."""

import importlib
import shutil
import sys
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from shlex import quote
from typing import Any

ENGINE_MODULE = "tuibench_native"
RUST = "install Rust 1.63 or newer (apt install cargo, brew install rust, https://rustup.rs)"


LUA_NEEDS = "install a C compiler (apt install gcc, xcode-select --install) and Rust 1.80 or newer"


def has_native_engine() -> bool:
    """Whether it is installed; does not import it."""
    return find_spec(ENGINE_MODULE) is not None


@cache
def native_module() -> Any:
    """The engine's module, None if it is not installed."""
    try:
        return importlib.import_module(ENGINE_MODULE)
    except ImportError:
        return None


def runs_scripts() -> bool:
    """Whether the native engine is installed and built with Lua."""
    return hasattr(native_module(), "declared")


def engine_line() -> str:
    """The engine of this installation, and what to do to get the native one, or Lua scripts."""
    if not has_native_engine():
        return f"asyncio; for the native one, {engine_remedy()}"
    return "native, with Lua scripts" if runs_scripts() else f"native; for Lua scripts, {lua_remedy()}"


def engine_remedy() -> str:
    """What to do to get the native engine, by the way in which this program was installed. Installers are
    silent about a compilation that fails.
    """
    command = _install_command(Path(sys.prefix), *_source())
    if shutil.which("cargo"):
        return f"run {command.replace(' install ', ' install --verbose ')}, which says if compiling it fails"
    return f"{RUST}, then run {command}"


def lua_remedy() -> str:
    """What to do to get Lua scripts."""
    return f"{LUA_NEEDS}, then run {_install_command(Path(sys.prefix), *_source())}"


def _source() -> tuple[str, bool]:
    """What was installed: a name on the index, a folder or a URL; and whether it runs from a clone. A wheel
    has no sources: the index has.
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
    """Compiles: a wheel of the package index that has no engine is not used again."""
    if is_editable:
        return f"make -C {quote(source)} demo"
    folders = prefix.parts
    if "pipx" in folders:
        return f"pipx install --force --pip-args='--no-binary tuibench' {quote(source)}"
    if folders[-3:-1] == ("uv", "tools"):
        return f"uv tool install --reinstall --no-binary-package tuibench {quote(source)}"
    python = quote(str(prefix / "bin" / "python"))
    return f"{python} -m pip install --force-reinstall --no-deps --no-binary tuibench {quote(source)}"
