//! The native engine of tuibench: runs a program's transactions on threads of its own, without Python.
//!
//! Python compiles the program, logs in and prepares; then it hands over the connection's descriptor, and gets it
//! back when something is to be done that only Python can do: a new login, changed settings, a goodbye.
//!
//! ```text
//! program ── compile ──> machine, stream      what is sent next, with which values (draw, distribution, evaluate, decimal)
//!                            │
//! packet ────────────────> connection ──────> response, rows     one connection's states
//!                            │
//! pacing, recorder ──────> thread ─── wait    the connections of one thread, and what wakes it
//!                            │
//!                          engine             all threads; reports; what Python asks for (python, decode)
//! ```

#![deny(unsafe_op_in_unsafe_fn, clippy::undocumented_unsafe_blocks)]

pub mod compile;
pub mod connection;
pub mod decimal;
#[cfg(feature = "python")]
mod decode;
pub mod digits;
pub mod distribution;
pub mod draw;
pub mod engine;
pub mod evaluate;
pub mod histogram;
pub mod lag;
pub mod machine;
pub mod mt19937;
pub mod pacing;
pub mod packet;
pub mod priority_lock;
pub mod program;
#[cfg(feature = "python")]
mod python;
pub mod recorder;
pub mod response;
pub mod rows;
pub mod shared;
pub mod stream;
pub mod sys;
pub mod thread;
pub mod value;
pub mod wait;
pub mod wakeup_lead;
