"""What the first login at each server was: a later one accepts no less.

Whoever comes between tuibench and the server during a run can neither turn TLS off, nor ask for a weaker
proof of the password, nor present another RSA key.
"""

import asyncio
from collections.abc import Iterable
from weakref import WeakKeyDictionary

import msgspec

from tuibench.model.target import Target

NATIVE_PLUGIN = "mysql_native_password"
CACHING_PLUGIN = "caching_sha2_password"
SHA256_PLUGIN = "sha256_password"
ED25519_PLUGIN = "client_ed25519"

CLEARTEXT_PLUGINS = frozenset({"mysql_clear_password", "dialog"})
"""Those that send the password as it is."""

STRENGTHS = {
    **dict.fromkeys(CLEARTEXT_PLUGINS, 0),
    "": 1,
    NATIVE_PLUGIN: 1,
    SHA256_PLUGIN: 2,
    CACHING_PLUGIN: 2,
    ED25519_PLUGIN: 2,
}
"""The plugins that we can log in with, by what a listener learns: the password, its SHA-1, or less. A server
without plugins ("") uses SHA-1.
"""


class FirstLogin(msgspec.Struct, frozen=True, kw_only=True):
    """The first login of `user` at the server `where`. `key` is the RSA key that the server sent, if any."""

    where: str
    user: str
    is_encrypted: bool
    plugin: str
    key: bytes = b""

    @property
    def strength(self) -> int:
        """That of its plugin."""
        return STRENGTHS.get(self.plugin, 0)


class FirstLogins:
    """Those of one event loop: of a session or a worker."""

    def __init__(self) -> None:
        self._by_account: dict[tuple[str, str], FirstLogin] = {}

    def of(self, target: Target) -> FirstLogin | None:
        """The first login at the target, None before it."""
        return self._by_account.get((target.for_connection(0).where, target.user))

    def learn(self, logins: Iterable[FirstLogin]) -> None:
        """Remember logins, of this process or another, unless there was an earlier one; but the first key."""
        for login in logins:
            first = self._by_account.setdefault((login.where, login.user), login)
            if login.key and not first.key:
                self._by_account[login.where, login.user] = msgspec.structs.replace(first, key=login.key)

    def all(self) -> tuple[FirstLogin, ...]:
        """All of them, for the workers that this process starts."""
        return tuple(self._by_account.values())


_PER_LOOP: WeakKeyDictionary[asyncio.AbstractEventLoop, FirstLogins] = WeakKeyDictionary()


def first_logins() -> FirstLogins:
    """Those of the running event loop."""
    return _PER_LOOP.setdefault(asyncio.get_running_loop(), FirstLogins())
