//! The native engine of tuibench: runs a program's transactions on threads of its own, without Python.
//!
//! Python compiles the program, logs in and prepares; then it passes the connection's descriptor to the engine. The
//! connection returns to Python for what only Python does: a new login, changed settings, the end.
//!
//! ```text
//! program     types; compile ──> bytecode, formulas; machine, stream    what is sent next, with which values
//!   values    value, decimal; draw, distribution, mt19937; evaluate (expressions)
//! protocol    packet, response, rows, compression   statements and responses as bytes
//! tls         suite, records                        encryption after Python's handshake
//! pacing      arrivals and think times              when a transaction begins
//! script      sysbench's Lua scripts, in place of a program (feature `lua`)
//! measure     recorder, histogram, lag              what is counted and timed
//! engine      all threads and their reports; thread (the connections of one thread); connection (its states);
//!             wait, wakeup_lead (what wakes a thread, and how early)
//! python      the interface for Python
//! ```

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
