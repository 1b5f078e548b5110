"""The command that starts a process of this program: worker, service, guardian, supervisor, agent, viewer.

Python imports from the current folder before all others when it runs a module (`-m`). Whoever can write there
would run code in each of these processes, some of which receive passwords. Every process of ours is therefore
started with `-P`, or with `-I` if this one was: the environment, a `PYTHONPATH` and editable installations
remain as they are. No other module of this package names the interpreter.
"""

import os
import sys

SEARCHED = "PYTHONPATH"


def own_command(module: str, *arguments: str) -> list[str]:
    """The words that run a module of this package, such as `tuibench.load.worker`, with this interpreter."""
    return [sys.executable, "-I" if sys.flags.isolated else "-P", "-m", module, *arguments]


def leave_current_folder() -> None:
    """Import nothing more from the current folder, in this process and in those that it starts.

    `python -m` puts the folder in front. An empty element of `PYTHONPATH`, which an unset variable leaves
    behind (`$UNSET:/lib`), means it, too. An element that names the folder is kept.
    """
    try:
        here = os.getcwd()
    except OSError:
        return
    if sys.path[:1] == [here] and not sys.flags.safe_path:
        del sys.path[0]
    elements = os.environ.get(SEARCHED, "").split(os.pathsep)
    named = [each for each in elements if each]
    if named and len(named) < len(elements):
        os.environ[SEARCHED] = os.pathsep.join(named)
        if here in sys.path and here not in map(os.path.abspath, named):
            sys.path.remove(here)
