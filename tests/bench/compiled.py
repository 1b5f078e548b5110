"""Programs that are measured run from compiled files, as installed ones do: otherwise each start compiles all
modules, which takes more of a processor than a short load.
"""

import os
import subprocess
import sys

COMPILED = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
"""The environment of such a program."""


def compile_modules() -> None:
    """Compiles what has changed since the last time."""
    subprocess.run([sys.executable, "-m", "compileall", "-q", "tuibench"], env=COMPILED, check=True)
