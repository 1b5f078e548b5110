"""Saves a picture of the screen: SVG, and PNG as well if a converter is installed."""

import asyncio
import shutil
import subprocess
from pathlib import Path

from tuibench.errors import RunError

CONVERTERS = (
    ("rsvg-convert", "-o", "{png}", "{svg}"),
    ("resvg", "{svg}", "{png}"),
    ("inkscape", "--export-filename={png}", "{svg}"),
    ("magick", "{svg}", "{png}"),
)
CONVERT_SECONDS = 30.0


async def save_in_thread(svg: str, folder: Path, name: str) -> list[Path]:
    """Run `save_picture` in a thread: a converter would block the event loop."""
    return await asyncio.to_thread(save_picture, svg, folder, name)


def save_picture(svg: str, folder: Path, name: str) -> list[Path]:
    """Write the files without overwriting any; returns their paths. Raises RunError if that fails."""
    path = _free_path(folder, name)
    try:
        path.write_text(svg, encoding="utf-8")
    except OSError as error:
        raise RunError(f"cannot write {path}: {error.strerror}") from None
    return [path, *_converted(path)]


def _free_path(folder: Path, name: str) -> Path:
    """`name.svg`, with a number appended if it exists."""
    path, number = folder / f"{name}.svg", 2
    while path.exists():
        path = folder / f"{name}-{number}.svg"
        number += 1
    return path


def _converted(svg: Path) -> list[Path]:
    """The PNG, by the first converter that is installed; empty if it fails."""
    png = svg.with_suffix(".png")
    for program, *arguments in CONVERTERS:
        if (found := shutil.which(program)) is None:
            continue
        words = [word.format(svg=svg, png=png) for word in arguments]
        try:
            done = subprocess.run(
                [found, *words],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=CONVERT_SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            return []
        return [png] if done.returncode == 0 and png.exists() else []
    return []
