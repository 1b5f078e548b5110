"""Options of a private server: server options, an option file, and limits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

from tuibench.cli.output.log import info
from tuibench.cli.parsing.declarations import Option
from tuibench.errors import UsageError
from tuibench.model.notation import parse_size
from tuibench.model.results.versions import ServerBuild
from tuibench.model.server import ServerLimits

if TYPE_CHECKING:
    from tuibench.demo.binaries import Binary


@dataclass(frozen=True)
class PrivateServerOptions:
    """Server options of private servers, beyond those set by tuibench."""

    SECTION: ClassVar = "Private servers"

    my_cnf: Annotated[
        str,
        Option(
            "--my-cnf", help="Option file with settings of the server; its folders and ports are ignored."
        ),
    ] = ""
    mysqld_option: Annotated[
        list[str] | None,
        Option(
            "--mysqld-option", help="An option of the server, overrides --my-cnf: NAME=VALUE; repeatable."
        ),
    ] = None
    cpus: Annotated[
        float | None,
        Option("--cpus", help="CPUs that the server may use: by cgroup v2, otherwise by affinity."),
    ] = None
    memory: Annotated[
        str,
        Option(
            "--memory",
            help="Memory of the server: 4G; by cgroup v2, otherwise only the size of its buffer pool.",
        ),
    ] = ""

    @property
    def is_given(self) -> bool:
        return bool(self.my_cnf or self.mysqld_option or self.cpus is not None or self.memory)

    def limits(self) -> ServerLimits:
        """Resource limits. Raises UsageError for limits beyond this host's resources."""
        from tuibench.demo.limits import check_limits

        try:
            memory = parse_size(self.memory) if self.memory else None
        except UsageError as error:
            raise UsageError(f"--memory: {error.message}", error.hint) from error
        found = ServerLimits(cpus=self.cpus, memory_bytes=memory)
        check_limits(found)
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


def server_option(text: str) -> str:
    """Convert `innodb_io_capacity=200`, with or without leading hyphens, to a server option."""
    name, equals, value = text.strip().removeprefix("--").partition("=")
    if not name or not name.replace("-", "").replace("_", "").replace(".", "").isalnum():
        raise UsageError(f"--mysqld-option takes NAME=VALUE, not '{text}'", "innodb_io_capacity=200")
    return f"--{name}{equals}{value}"
