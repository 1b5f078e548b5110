//! The native engine of tuibench: runs a program's transactions on threads of its own, without Python.
//!
//! Python compiles the program, logs in and prepares; then it passes the connection's descriptor to the engine. The
//! connection returns to Python for what only Python does: a new login, changed settings, the end.
//!
//! ```text
//! panics      a bug becomes an error
//! sys         calls of the operating system
//! values      value, decimal; draw, distribution, mt19937; evaluate (expressions)
//! protocol    packet, response, rows, compression   statements and responses as bytes
//! tls         suite, records                        encryption after Python's handshake
//! measure     recorder, histogram, lag              what is counted and timed
//! callers     what waits to be started, and what gives up
//! pacing      arrivals and think times              when a transaction begins
//! program     types; compile ──> bytecode, formulas; machine, stream    what is sent next, with which values
//! script      sysbench's Lua scripts, in place of a program (feature `lua`)
//! engine      all threads and their reports; thread (the connections of one thread); connection (its states);
//!             wait, wakeup_lead (what wakes a thread, and how early)
//! python      the interface for Python
//! ```
//!
//! Each module uses only those above it in this list.

#![deny(unsafe_op_in_unsafe_fn, clippy::undocumented_unsafe_blocks)]

pub mod callers;
pub mod engine;
pub mod measure;
pub mod pacing;
pub mod panics;
pub mod program;
pub mod protocol;
#[cfg(feature = "python")]
mod python;
#[cfg(feature = "lua")]
pub mod script;
pub mod sys;
pub mod tls;
pub mod values;
