"""The parts of the driver that this package uses; it is imported here only, and quickly.

asyncmy imports a library for encryption, of which a login without TLS uses a part, and reads its own version
from the metadata of the installed packages, which takes the parsers of e-mail and ZIP. That is a third of the
time that its import takes, and every process that speaks to a server imports it. Stand-ins take their places
for the time of the import: an encryption module is imported when a login uses it.
"""

# ruff: noqa: E402
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType
from typing import Any

RELEASE = "0.2.18"
"""The release of asyncmy that `driver_internals` was written for; pyproject.toml requires it."""

_PRIMITIVES = "cryptography.hazmat.primitives"
DEFERRED = (f"{_PRIMITIVES}.hashes", f"{_PRIMITIVES}.serialization", f"{_PRIMITIVES}.asymmetric.padding")


class DeferredModule(ModuleType):
    """Imports the module of its name when a part of it is used."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(import_module(self.__name__), name)


def _import_driver() -> None:
    """Imports asyncmy; does nothing if it has been imported."""
    if "asyncmy" in sys.modules:
        return
    version = ModuleType("asyncmy.version")
    version.__dict__.update(__version__=RELEASE, __VERSION__=RELEASE)
    with _stand_ins([version, *map(DeferredModule, DEFERRED)]):
        import_module("asyncmy")


@contextmanager
def _stand_ins(modules: list[ModuleType]) -> Iterator[None]:
    """What is imported meanwhile finds these, unless the modules themselves are there."""
    added = {module.__name__: module for module in modules if module.__name__ not in sys.modules}
    sys.modules.update(added)
    try:
        yield
    finally:
        for name, module in added.items():
            if sys.modules.get(name) is module:
                del sys.modules[name]


_import_driver()

from asyncmy import auth, connection, errors
from asyncmy.charset import charset_by_name
from asyncmy.constants import CLIENT, COMMAND, CR, ER, FIELD_TYPE
from asyncmy.protocol import OKPacketWrapper, pack_binary_params

__all__ = [
    "CLIENT",
    "COMMAND",
    "CR",
    "ER",
    "FIELD_TYPE",
    "RELEASE",
    "OKPacketWrapper",
    "auth",
    "charset_by_name",
    "connection",
    "errors",
    "pack_binary_params",
]
