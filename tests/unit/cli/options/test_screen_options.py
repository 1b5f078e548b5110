"""How a screen looks: from the command line, else from the configuration file."""

import os
from pathlib import Path

import pytest

from tuibench import config
from tuibench.cli.options.screen_options import FPS_VARIABLE, ScreenOptions
from tuibench.errors import UsageError


@pytest.fixture(autouse=True)
def pace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FPS_VARIABLE, "60")


def configured(text: str) -> None:
    config.config_file().parent.mkdir(exist_ok=True)
    config.config_file().write_text(text)


def test_what_an_option_does_not_say_the_file_does(tuibench_home: Path) -> None:
    configured('[screen]\ntheme = "ansi-light"\nfps = 4\nmouse = false\n[keys]\npause = "i"\n')
    display = ScreenOptions().display_options()
    assert (display.theme, display.mouse, display.keymap.shown) == ("ansi-light", False, {"pause": "i"})
    assert os.environ[FPS_VARIABLE] == "4"
    display = ScreenOptions(theme="ansi-dark", fps=10, no_mouse=True).display_options()
    assert (display.theme, display.mouse) == ("ansi-dark", False)
    assert os.environ[FPS_VARIABLE] == "10"


def test_without_either_the_mouse_is_ours(tuibench_home: Path) -> None:
    display = ScreenOptions().display_options()
    assert (display.theme, display.mouse) == ("", True)


@pytest.mark.parametrize(
    ("options", "text", "fault"),
    [
        (ScreenOptions(fps=61), "", "--fps must be between 1 and 60, not 61"),
        (ScreenOptions(theme="pink"), "", "there is no theme 'pink'"),
        (ScreenOptions(), "[screen]\ncolour = 1", "config.toml: screen.colour: unknown key"),
        (
            ScreenOptions(),
            "[screen]\nfps = true",
            "config.toml: screen.fps: a whole number, not true or false",
        ),
        (ScreenOptions(), "[keys]\nstpo = 'o'", "config.toml: keys.stpo: there is no action 'stpo'"),
    ],
)
def test_faults_are_named(tuibench_home: Path, options: ScreenOptions, text: str, fault: str) -> None:
    configured(text)
    with pytest.raises(UsageError) as caught:
        options.display_options()
    assert fault in str(caught.value)
