"""Options of a private server: server options, an option file, and limits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

from tuibench.cli.output.log import info
from tuibench.errors import UsageError
from tuibench.model.notation import parse_size
from tuibench.model.option import Option
from tuibench.model.results.versions import ServerBuild
from tuibench.model.server import ServerLimits

if TYPE_CHECKING:
    from tuibench.demo.binaries import Binary


@dataclass(frozen=True)
class PrivateServerOptions:
    """Server options of private servers, beyond those set by tuibench. A sweep takes several limits."""

    SECTION: ClassVar = "Private servers"

    my_cnf: Annotated[
        str,
        Option(
            "--my-cnf",
            metavar="FILE",
            help="Option file with settings of the server; its folders and ports are ignored.",
        ),
    ] = ""
    mysqld_option: Annotated[
        list[str] | None,
        Option(
            "--mysqld-option",
            metavar="NAME=VALUE",
            help="An option of the server, overrides --my-cnf: NAME=VALUE; repeatable.",
        ),
    ] = None
    cpus: Annotated[
        str,
        Option("--cpus", help="CPUs that the server may use: 2, 1.5; by cgroup v2, otherwise by affinity."),
    ] = ""
    memory: Annotated[
        str,
        Option(
            "--memory",
            metavar="SIZE",
            help="Memory of the server: 4G; by cgroup v2, otherwise only the size of its buffer pool.",
        ),
    ] = ""

    @property
    def is_given(self) -> bool:
        return bool(self.my_cnf or self.mysqld_option or self.cpus or self.memory)

    def limits(self) -> ServerLimits:
        """Resource limits. Raises UsageError for limits beyond this host's resources, or several of them."""
        found = self.every_limit()
        if len(found) > 1:
            raise UsageError("--cpus and --memory take one value each here", "tuibench sweep takes several")
        return found[0]

    def every_limit(self) -> list[ServerLimits]:
        """Every combination of the CPUs and memory sizes. Raises UsageError as `limits` does."""
        from tuibench.demo.limits import check_limits
        from tuibench.session.sweep.planning import parse_words

        cpus: list[float | None] = [None]
        sizes: list[int | None] = [None]
        if self.cpus:
            cpus = [_cpus(word) for word in parse_words("--cpus", self.cpus)]
        if self.memory:
            sizes = [_memory(word) for word in parse_words("--memory", self.memory)]
        found = [ServerLimits(cpus=count, memory_bytes=size) for count in cpus for size in sizes]
        for limits in found:
            check_limits(limits)
        if len(set(found)) < len(found):
            raise UsageError("--cpus and --memory name the same limits twice", "leave one of them out")
        return found

    def server_options(self, binary: Binary) -> tuple[str, ...]:
        """Command-line options for this server; later ones take precedence."""
        own = tuple(server_option(text) for text in self.mysqld_option or ())
        return (*self._file_options(binary), *own)

    def left_out(self, binary: Binary) -> tuple[str, ...]:
        """Options of the file that a private server does not get."""
        from tuibench.demo.my_cnf import read_server_options

        return read_server_options(self.my_cnf, binary).left_out if self.my_cnf else ()

    def build(self, name: str, binary: Binary) -> ServerBuild:
        """The server program with its options; omitted options of the file are reported."""
        if left_out := self.left_out(binary):
            info(f"{name}: not taken from {self.my_cnf}: {', '.join(left_out)}")
        return ServerBuild(
            name=name,
            path=binary.path,
            flavour=binary.flavour,
            version=binary.version,
            options=self.server_options(binary),
        )

    def _file_options(self, binary: Binary) -> tuple[str, ...]:
        from tuibench.demo.my_cnf import read_server_options

        return read_server_options(self.my_cnf, binary).options if self.my_cnf else ()


def _cpus(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise UsageError(f"--cpus: '{text}' is not a number", "2, or 1.5") from None


def _memory(text: str) -> int:
    try:
        return parse_size(text)
    except UsageError as error:
        raise UsageError(f"--memory: {error.message}", error.hint) from error


def server_option(text: str) -> str:
    """Convert `innodb_io_capacity=200`, with or without leading hyphens, to a server option."""
    name, equals, value = text.strip().removeprefix("--").partition("=")
    if not name or not name.replace("-", "").replace("_", "").replace(".", "").isalnum():
        raise UsageError(f"--mysqld-option takes NAME=VALUE, not '{text}'", "innodb_io_capacity=200")
    return f"--{name}{equals}{value}"
