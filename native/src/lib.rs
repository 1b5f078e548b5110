//! The native engine of tuibench: runs a program's transactions on threads of its own, without Python.
//!
//! Python compiles the program, logs in and prepares; then it passes the connection's descriptor to the engine. The
//! connection returns to Python for what only Python does: a new login, changed settings, the end.
//!
//! ```text
//! program ── compile ──> machine, stream      what is sent next, with which values (draw, distribution, evaluate, decimal)
//!                            │
//! packet ────────────────> connection ──────> response, rows     the states of one connection
//!                            │
//! pacing, recorder ──────> thread ─── wait    the connections of one thread, and what wakes it up
//!                            │
//!                          engine             all threads; reports; the interface for Python (python, decode)
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
