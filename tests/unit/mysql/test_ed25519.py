"""The curve's operations against a library's: MariaDB's scheme is Ed25519 where the password has 32 bytes."""

import sys

from asyncmy import auth
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given, settings
from hypothesis import strategies as st

from tuibench.mysql import ed25519


@settings(max_examples=25, deadline=None)
@given(seed=st.binary(min_size=32, max_size=32), scramble=st.binary(min_size=32, max_size=32))
def test_the_drivers_signature_is_the_standards(seed: bytes, scramble: bytes) -> None:
    assert auth._nacl_bindings in (ed25519, sys.modules.get("nacl.bindings"))
    signed = auth.ed25519_password(seed, scramble)  # type: ignore[no-untyped-call]
    assert signed == Ed25519PrivateKey.from_private_bytes(seed).sign(scramble)


def test_scalars_are_reduced() -> None:
    order = ed25519.ORDER.to_bytes(32, "little")
    two = (2).to_bytes(32, "little")
    assert ed25519.crypto_core_ed25519_scalar_reduce(order + bytes(32)) == bytes(32)
    assert ed25519.crypto_core_ed25519_scalar_add(order, two) == two
    assert ed25519.crypto_core_ed25519_scalar_mul(order, two) == bytes(32)
