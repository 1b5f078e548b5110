"""The command that starts a process of this program: worker, service, guardian, supervisor, agent, viewer.

When Python runs a module (`-m`), it imports from the current folder first. Anyone who can write there could
run code in these processes, some of which receive passwords. Therefore each of them is started with `-P`, or
with `-I` if this process was. `PYTHONPATH` and editable installations keep their effect with `-P`. No other
module of this package starts the interpreter. A worker that is a fork of its session shows the same command.
"""

import os
import sys

SEARCHED = "PYTHONPATH"


def own_interpreter() -> str:
    """The path of the interpreter that runs this process."""
    return sys.executable


def own_command(module: str, *arguments: str) -> list[str]:
    """The command that runs a module of this package, such as `tuibench.load.worker`, with this
    interpreter.
    """
    return [sys.executable, "-I" if sys.flags.isolated else "-P", "-m", module, *arguments]


def shows_own_command() -> bool:
    """False for a process that was forked to be this program: it shows another one's command line and
    environment.
    """
    words = sys.argv[1:]
    return sys.orig_argv[len(sys.orig_argv) - len(words) :] == words


def show_as(module: str, *arguments: str) -> None:
    """Let `ps` show this process, a fork, as the one that `own_command` would have started.

    Linux only. The command is written over that of the process, which the system keeps in the process's
    memory (proc(5)); one that does not fit is left out.
    """
    from contextlib import suppress  # not with this module, which imports before a password is taken away

    interpreter, *rest = own_command(module, *arguments)
    with suppress(OSError, ValueError):
        with open("/proc/self/stat") as stat:
            fields = stat.read().rpartition(")")[2].split()
        begin, end = int(fields[45]), int(fields[46])
        for name in (interpreter, "python"):
            words = b"".join(os.fsencode(word) + b"\0" for word in (name, *rest))
            if len(words) <= end - begin:
                with open("/proc/self/mem", "r+b", buffering=0) as memory:
                    memory.seek(begin)
                    memory.write(words.ljust(end - begin, b"\0"))
                return


def leave_current_folder() -> None:
    """Exclude the current folder from imports, in this process and in those that it starts.

    `python -m` adds the folder, and so does an empty element of `PYTHONPATH`, as in `$UNSET:/lib`. An element
    that names the folder is kept.
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
