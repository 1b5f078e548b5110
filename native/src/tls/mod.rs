//! TLS after the handshake: the records of TLS 1.2 and 1.3, without I/O.
//!
//! Python's `ssl` does the handshake and verifies the certificate. It then passes the secrets of the connection, as it
//! would to the kernel for kTLS, and everything that follows is encrypted and decrypted here: by the engine on its
//! threads, and by Python's transport for the login. Both use the same [`records::Records`], one after the other, since
//! the sequence numbers of the records are part of the encryption.
//!
//! ```text
//! suite    the cipher suites that are supported; the keys from the secrets (RFC 5246, 8446, 5869)
//! records  the records: sealed, opened in place; key updates, tickets and alerts among them
//! ```
//!
//! What is not supported, because no server needs it: renegotiation (TLS 1.2), authentication after the handshake
//! (TLS 1.3), cipher suites without an AEAD. A connection that uses one of the latter stays with asyncio.

pub mod records;
pub mod suite;
