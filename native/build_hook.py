"""Compiles the native engine into the wheel of tuibench, where a Rust compiler is installed.

Without one, or if the compilation fails, the wheel is pure Python, and `tuibench doctor` says how to get the
engine. TUIBENCH_NATIVE=off builds without it, TUIBENCH_NATIVE=require fails instead. Lua scripts are
part of it where LuaJIT can be built too. An editable installation gets the engine from `.ci/setup`.

TUIBENCH_GLIBC=2.28 builds for this version of glibc and newer ones, whatever this machine has. It needs
cargo-zigbuild and zig (pip install cargo-zigbuild ziglang).
"""

import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from packaging.tags import platform_tags

LUA_RUST = "1.80"
SUFFIX = "dylib" if sys.platform == "darwin" else "so"
GLIBC = os.environ.get("TUIBENCH_GLIBC", "") if sys.platform == "linux" else ""
MACHINE = platform.machine()
TRIPLE = f"{MACHINE}-unknown-linux-gnu"


class NativeEngine(BuildHookInterface):  # type: ignore[type-arg]
    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        wanted = os.environ.get("TUIBENCH_NATIVE", "auto")
        if version == "editable" or wanted == "off":
            return
        folder = Path(self.root) / "native"
        target = folder / "target"
        obstacle = missing_compiler(folder)
        without_lua = obstacle or missing_for_lua() or compilation_error(folder, target, "--features=lua")
        if without_lua and not obstacle:
            self.app.display_warning(f"without Lua scripts: {without_lua}")
            obstacle = compilation_error(folder, target)
        if obstacle and wanted == "require":
            raise RuntimeError(obstacle)
        if obstacle:
            self.app.display_warning(f"without the native engine: {obstacle}")
            return
        built = target / TRIPLE / "release" if GLIBC else target / "release"
        library = built / f"libtuibench_native.{SUFFIX}"
        build_data["pure_python"] = False
        # Built against the stable ABI of Python 3.11, for the libc of this machine or a newer one.
        of_glibc = f"manylinux_{GLIBC.replace('.', '_')}_{MACHINE}"
        tag = of_glibc if GLIBC else next(tag for tag in platform_tags() if not tag.startswith("linux_"))
        build_data["tag"] = f"cp311-abi3-{tag}"
        build_data["force_include"][str(library)] = "tuibench_native.abi3.so"
        if sys.platform == "linux":
            if without_disk := compilation_error(folder / "disk", target):
                if wanted == "require":
                    raise RuntimeError(without_disk)
                self.app.display_warning(f"without the simulated disk: {without_disk}")
                return
            disk = built / "libtuibench_disk.so"
            build_data["force_include"][str(disk)] = disk.name


def missing_compiler(folder: Path) -> str:
    """What is missing for the compilation, empty if nothing is."""
    if shutil.which("cargo") is None or shutil.which("rustc") is None:
        return "Rust (cargo) is not installed"
    found = re.search(r"^rust-version = \"(.*)\"", (folder / "Cargo.toml").read_text(), re.MULTILINE)
    return older_rust(found[1] if found else "0")


def missing_for_lua() -> str:
    """The same for LuaJIT."""
    if shutil.which("cc") is None and shutil.which("gcc") is None:
        return "a C compiler is not installed"
    return older_rust(LUA_RUST)


def older_rust(least: str) -> str:
    said = subprocess.run(["rustc", "--version"], capture_output=True, text=True, check=False).stdout  # noqa: S607
    there = re.search(r"\d+\.\d+", said)
    if there is None or _numbers(there[0]) < _numbers(least):
        return f"Rust {there[0] if there else 'of no version'} is older than {least}"
    return ""


def compilation_error(folder: Path, target: Path, *features: str) -> str:
    """Compiles; the last line of an error, empty without one."""
    build = ["zigbuild", f"--target={TRIPLE}.{GLIBC}"] if GLIBC else ["build"]
    command = ["cargo", *build, "--release", "--locked", "--target-dir", str(target), *features]
    # The stable ABI needs no interpreter. zig's unwinder, which LuaJIT calls, is a library of its own.
    environment = {**os.environ, "PYO3_NO_PYTHON": "1", **({"TARGET_LIBS": "-lunwind"} if GLIBC else {})}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return ""
    sys.stderr.write(done.stderr)
    lines = done.stderr.strip().splitlines()
    return f"cargo {build[0]} failed: {lines[-1] if lines else done.returncode}"


def _numbers(version: str) -> list[int]:
    return [int(part) for part in version.split(".")]
