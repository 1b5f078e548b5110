"""How this program was installed, and the command that gets it the native engine."""

import sys
from importlib.util import find_spec
from pathlib import Path
from shlex import quote

ENGINE_MODULE = "tuibench_native"
RUST = "install Rust 1.63 or newer (apt install cargo, brew install rust, https://rustup.rs)"


def has_native_engine() -> bool:
    """Whether it is installed; does not import it."""
    return find_spec(ENGINE_MODULE) is not None


def engine_remedy() -> str:
    """What to do to get the native engine, by the way in which this program was installed."""
    return f"{RUST}, then run {_install_command(Path(sys.prefix), *_source())}"


def _source() -> tuple[str, bool]:
    """What was installed: a name on the index, a folder or a URL; and whether it runs from a clone."""
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
