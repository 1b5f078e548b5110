"""`.ci/setup`, which `make demo` and `make test` run first, on machines that a PATH describes."""

import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
COREUTILS = """
    sh cat chmod cp cut date dirname find grep head ls mkdir mv nice rm sed sort tail touch tr uname env sleep
""".split()  # noqa: SIM905

COMMAND = (
    "apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends"
)

PYTHON = """\
#!/bin/sh
echo "python $*" >>"$CALLS"
case "$*" in
    *'sys.version_info < '*) exit 0 ;;
    *ensurepip*) exit "${NO_VENV:-0}" ;;
    *version_info*) echo 3.13 ;;
    *sysconfig*) echo "$PWD" ;;
    '-m venv .venv') mkdir -p .venv/bin; cp "$0" .venv/bin/python ;;
    '-m pip '*) exit "${PIP:-0}" ;;
esac
"""
APT = """\
#!/bin/sh
echo "apt-get $*" >>"$CALLS"
case "$*" in
    *install*) [ -z "${APT_FAILS:-}" ] || exit 100
               for name in "$@"; do case $name in
                   mariadb-server-core*) cp "$MACHINE/ls" "$MACHINE/mariadbd" ;;
                   python3) cp "$MACHINE/../python3" "$MACHINE/python3" ;;
               esac; done ;;
esac
"""
SUDO = '#!/bin/sh\necho "sudo $1" >>"$CALLS"\n[ -z "${SUDO_FAILS:-}" ] || exit 1\nexec "$@"\n'


class Machine:
    """A clone's files, and a PATH with the coreutils and the named programs."""

    def __init__(self, folder: Path, user: int) -> None:
        self.tree, self.path, self.calls = folder / "tree", folder / "bin", folder / "calls"
        for made in (
            self.tree / ".ci",
            self.tree / "native" / "src",
            self.tree / "native" / "disk",
            self.path,
        ):
            made.mkdir(parents=True)
        for name in (".ci/setup", "pyproject.toml", "native/Cargo.toml", "native/Cargo.lock"):
            shutil.copy(ROOT / name, self.tree / name)
        for name in COREUTILS:
            found = shutil.which(name)
            assert found is not None, name
            (self.path / name).symlink_to(found)
        self.calls.touch()
        self.program("id", f"#!/bin/sh\necho {user}\n")
        self.program("uname", "#!/bin/sh\ncase $1 in -m) echo x86_64 ;; *) echo Linux ;; esac\n")
        self.program("python3", PYTHON, folder)

    def program(self, name: str, text: str = "#!/bin/sh\n", folder: Path | None = None) -> None:
        made = (folder or self.path) / name
        made.unlink(missing_ok=True)
        made.write_text(text)
        made.chmod(0o755)

    def setup(self, what: str = "demo", **environment: str) -> tuple[int, list[str]]:
        """Exit code, and stderr's lines."""
        done = subprocess.run(
            [self.path / "sh", ".ci/setup", what],
            cwd=self.tree,
            env={
                "PATH": str(self.path),
                "CALLS": str(self.calls),
                "MACHINE": str(self.path),
                "SETUP_SERVER_FOLDERS": "",
                **environment,
            },
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.stdout == ""
        return done.returncode, done.stderr.splitlines()

    @property
    def installed(self) -> list[str]:
        """What the package manager was asked for, in order."""
        calls = self.calls.read_text().splitlines()
        return [line for line in calls if line.startswith("apt-get")]


@pytest.fixture
def user(tmp_path: Path) -> Machine:
    """An ordinary user's, with apt-get."""
    machine = Machine(tmp_path, 1000)
    machine.program("apt-get", APT)
    machine.program("apt-cache", "#!/bin/sh\n[ $1 = policy ] || exit 0\necho '  Candidate: 3.13.5-1'\n")
    return machine


@pytest.fixture
def root(tmp_path: Path) -> Machine:
    """Root's, with apt-get."""
    machine = Machine(tmp_path, 0)
    machine.program("apt-get", APT)
    machine.program("apt-cache", "#!/bin/sh\n[ $1 = policy ] || exit 0\necho '  Candidate: 3.13.5-1'\n")
    return machine


def test_a_user_without_sudo_gets_the_whole_command_before_any_long_step(user: Machine) -> None:
    status, said = user.setup()
    assert status == 1
    assert said[-3:] == [
        "setup: To install what is missing, run as root:",
        f"setup:     {COMMAND} python3 python3-venv mariadb-server-core",
        "setup: then run make again. No service is needed.",
    ]
    assert user.installed == []
    assert not (user.tree / ".venv").exists()


def test_only_what_is_missing_is_asked_for(user: Machine) -> None:
    user.program("python3", PYTHON.replace("3.13", "3.99"))  # no version that /usr/bin/python3 has
    _, said = user.setup(NO_VENV="1")
    assert said[-2].endswith("--no-install-recommends python3.99-venv mariadb-server-core")
    _, said = user.setup()
    assert said[-2].endswith("--no-install-recommends mariadb-server-core")


def test_following_the_remedy_leads_to_the_end(user: Machine) -> None:
    assert user.setup()[0] == 1
    user.program("python3", PYTHON)
    user.program("mariadbd")
    status, said = user.setup()
    assert (status, user.installed) == (0, [])
    assert said[-1] == "setup: ready"
    assert user.setup() == (0, [])


def test_root_installs_all_in_one_step_before_the_environment(root: Machine) -> None:
    assert root.setup()[0] == 0
    calls = root.calls.read_text()
    assert root.installed[0] == "apt-get update -qq"
    assert root.installed[1].endswith("--no-install-recommends python3 python3-venv mariadb-server-core")
    assert len(root.installed) == 2
    assert calls.index("mariadb-server-core") < calls.index("-m venv") < calls.index("-m pip")


def test_sudo_is_used_and_its_refusal_ends_in_the_command(user: Machine) -> None:
    user.program("sudo", SUDO)
    user.program("python3", PYTHON)
    status, said = user.setup(SUDO_FAILS="1")
    assert status == 1
    assert said[-2] == f"setup:     {COMMAND} mariadb-server-core"
    assert user.setup()[0] == 0
    assert "sudo sh" in user.calls.read_text()


def test_a_failed_installation_ends_in_the_command(root: Machine) -> None:
    status, said = root.setup(APT_FAILS="1")
    assert status == 1
    assert said[-3] == "setup: To install what is missing, run as root:"
    assert not (root.tree / ".venv").exists()


def test_packages_without_the_program_end_it(root: Machine) -> None:
    root.program("apt-get", APT.replace("mariadb-server-core*", "mariadb-nothing*"))
    status, said = root.setup()
    assert (status, said[-1][-27:]) == (1, "contain no mariadbd or mysqld."[-27:])


def test_without_a_package_manager_the_need_is_named(tmp_path: Path) -> None:
    machine = Machine(tmp_path, 1000)
    machine.program("python3", PYTHON)
    status, said = machine.setup()
    assert status == 1
    assert said == [
        "setup: missing: a MariaDB or MySQL server program (mariadbd or mysqld)",
        "setup: Install what is missing, then run make again.",
    ]


def test_tests_run_without_sysbench(user: Machine) -> None:
    user.program("python3", PYTHON)
    user.program("mariadbd")
    status, said = user.setup("test")
    assert status == 0
    assert said[0] == "setup: no sysbench: the tests that compare with it are skipped"
    assert "-e .[dev]" in user.calls.read_text()


def test_a_failure_of_pip_is_told_and_the_next_call_tries_again(user: Machine) -> None:
    user.program("python3", PYTHON)
    user.program("mariadbd")
    status, said = user.setup(PIP="1")
    assert status == 1
    assert said[-1].startswith("setup: The packages could not be installed (see above)")
    assert user.setup()[0] == 0


def test_the_interpreter_can_be_chosen(user: Machine) -> None:
    user.program("python3", PYTHON)
    user.program("python3.12", PYTHON.replace("3.13", "3.12"))
    user.program("mariadbd")
    assert user.setup()[0] == 0
    _, said = user.setup(PYTHON="python3.12")
    assert any(line.endswith("bin/python3.12") for line in said)
    status, said = user.setup(PYTHON="python3.9")
    assert (status, said) == (1, ["setup: PYTHON=python3.9 is not a Python 3.11 or newer."])


def test_uv_takes_the_same_interpreter(user: Machine) -> None:
    user.program("python3", PYTHON)
    user.program("mariadbd")
    user.program(
        "uv",
        f'#!/bin/sh\necho "uv $*" >>"$CALLS"\n[ $1 != venv ] || exec {user.path}/python3 -m venv .venv\n',
    )
    assert user.setup()[0] == 0
    assert f"uv venv --quiet --python {user.path}/python3 .venv" in user.calls.read_text()


CARGO = """\
#!/bin/sh
read -r _ <"$CARGO_WAITS_FOR"
case $PWD in
    */disk) echo disk >../target/release/libtuibench_disk.so ;;
    *) mkdir -p target/release; echo native >target/release/libtuibench_native.so ;;
esac
"""


def test_the_demo_does_not_wait_for_a_slow_native_build(user: Machine, tmp_path: Path) -> None:
    user.program("mariadbd")
    user.program("python3", PYTHON)
    user.program("rustc", "#!/bin/sh\necho rustc 1.99.0\n")
    user.program("cargo", CARGO)
    pipe = tmp_path / "cargo"
    os.mkfifo(pipe)
    holder = os.open(pipe, os.O_RDWR)
    status, lines = user.setup(SETUP_NATIVE_WAIT="0", CARGO_WAITS_FOR=str(pipe))
    assert status == 0
    assert any("this time the asyncio engine" in line for line in lines)
    assert not (user.tree / ".venv" / ".ready-demo").exists(), "the next call looks again"
    os.write(holder, 3 * b"go\n")  # without Lua, the disk, and with Lua
    while not (user.tree / ".venv" / ".ready-demo").exists():
        time.sleep(0.01)
    os.close(holder)
    assert (user.tree / "tuibench_native.abi3.so").read_text() == "native\n"
    assert (user.tree / "libtuibench_disk.so").read_text() == "disk\n"
    assert user.setup() == (0, [])
