//! What is measured: counters and latencies of transactions, and the delay of threads that wait for a processor.

pub mod gaps;
pub mod histogram;
pub mod lag;
pub mod recorder;
