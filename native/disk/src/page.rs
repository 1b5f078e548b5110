//! The page of memory that tuibench and the server share: delays in one direction, counts in the other.
//!
//! It is the file of 4096 bytes that `TUIBENCH_DISK` names. `tuibench/servers/disk.py` has the same layout,
//! in native byte order:
//!
//! ```text
//!    0  magic
//!    8  generation      changes with every change of the values below
//!   16  lease_until_ns  CLOCK_MONOTONIC; without renewal the delays end, so no session leaves a slow server
//!   24  jitter_ppm      of each delay, uniform in both directions
//!   32  interval_ns     between two I/Os, from the limit of I/Os per second; 0 without
//!   40  next_slot_ns    when the next I/O may begin
//!   48  random          state of the jitter's generator
//!   56  (unused)
//!   64  delay_ns        [kind][operation]
//!  208  counts          [kind][operation]: calls, ns of the calls themselves, ns of delay
//!  640  binlog          base name of the binary log, 128 bytes, padded with zeros
//!  768  tmpdir          folder of temporary files, 512 bytes, padded with zeros
//! ```

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::kind::{Kind, KINDS};

pub const SIZE: usize = 4096;
pub const MAGIC: u64 = 0x7475_6964_6973_6b31;
const PARTS_PER_MILLION: u64 = 1_000_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Operation {
    Read = 0,
    Write = 1,
    Flush = 2,
}

#[repr(C)]
#[derive(Default)]
pub struct Counts {
    calls: AtomicU64,
    real_ns: AtomicU64,
    delayed_ns: AtomicU64,
}

#[repr(C)]
pub struct Page {
    pub magic: AtomicU64,
    pub generation: AtomicU64,
    pub lease_until_ns: AtomicU64,
    pub jitter_ppm: AtomicU64,
    pub interval_ns: AtomicU64,
    pub next_slot_ns: AtomicU64,
    pub random: AtomicU64,
    pub unused: AtomicU64,
    pub delay_ns: [[AtomicU64; 3]; KINDS],
    pub counts: [[Counts; 3]; KINDS],
    pub binlog: [u8; 128],
    pub tmpdir: [u8; 512],
}

impl Page {
    /// When an I/O that the kernel has finished now may return; `now_ns` itself without a delay.
    pub fn due_ns(&self, kind: Kind, operation: Operation, now_ns: u64) -> u64 {
        if now_ns > self.lease_until_ns.load(Relaxed) {
            return now_ns;
        }
        let delay_ns = self.delay_ns[kind as usize][operation as usize].load(Relaxed);
        let delayed = now_ns + self.with_jitter(delay_ns);
        let takes_turn = kind != Kind::Other && (operation != Operation::Write || kind.writes_pages());
        match self.interval_ns.load(Relaxed) {
            interval_ns if interval_ns > 0 && takes_turn => delayed.max(self.slot(interval_ns, now_ns)),
            _ => delayed,
        }
    }

    fn with_jitter(&self, delay_ns: u64) -> u64 {
        let jitter_ppm = self.jitter_ppm.load(Relaxed);
        if delay_ns == 0 || jitter_ppm == 0 {
            return delay_ns;
        }
        // splitmix64 (Steele, Lea, Flood, OOPSLA 2014).
        let mut bits = self.random.fetch_add(0x9e37_79b9_7f4a_7c15, Relaxed);
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^= bits >> 31;
        let factor_ppm = PARTS_PER_MILLION - jitter_ppm + bits % (2 * jitter_ppm + 1);
        (u128::from(delay_ns) * u128::from(factor_ppm) / u128::from(PARTS_PER_MILLION)) as u64
    }

    /// Takes the next slot of the I/Os, which are `interval_ns` apart.
    fn slot(&self, interval_ns: u64, now_ns: u64) -> u64 {
        let mut next_ns = self.next_slot_ns.load(Relaxed);
        loop {
            let slot_ns = next_ns.max(now_ns);
            match self.next_slot_ns.compare_exchange_weak(next_ns, slot_ns + interval_ns, Relaxed, Relaxed) {
                Ok(_) => return slot_ns,
                Err(present_ns) => next_ns = present_ns,
            }
        }
    }

    pub fn count(&self, kind: Kind, operation: Operation, real_ns: u64, delayed_ns: u64) {
        let counts = &self.counts[kind as usize][operation as usize];
        counts.calls.fetch_add(1, Relaxed);
        counts.real_ns.fetch_add(real_ns, Relaxed);
        counts.delayed_ns.fetch_add(delayed_ns, Relaxed);
    }
}

/// A text that is padded with zeros.
pub fn text(bytes: &[u8]) -> &[u8] {
    bytes.split(|&byte| byte == 0).next().unwrap_or(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page() -> Box<Page> {
        // SAFETY: a page of zeros is one without delays.
        let page: Box<Page> = unsafe { Box::new(std::mem::zeroed()) };
        page.lease_until_ns.store(u64::MAX, Relaxed);
        page
    }

    #[test]
    fn the_layout_is_that_of_python() {
        let page = page();
        let offset = |field: *const u8| field as usize - &*page as *const Page as usize;
        assert_eq!(offset(page.delay_ns.as_ptr().cast()), 64);
        assert_eq!(offset(page.counts.as_ptr().cast()), 208);
        assert_eq!(offset(page.binlog.as_ptr()), 640);
        assert_eq!(offset(page.tmpdir.as_ptr()), 768);
        assert!(std::mem::size_of::<Page>() <= SIZE);
    }

    #[test]
    fn delays_are_those_of_kind_and_operation() {
        let page = page();
        page.delay_ns[Kind::Redo as usize][Operation::Flush as usize].store(500, Relaxed);
        assert_eq!(page.due_ns(Kind::Redo, Operation::Flush, 1000), 1500);
        assert_eq!(page.due_ns(Kind::Redo, Operation::Write, 1000), 1000);
        assert_eq!(page.due_ns(Kind::Data, Operation::Flush, 1000), 1000);
    }

    #[test]
    fn delays_end_with_the_lease() {
        let page = page();
        page.delay_ns[Kind::Data as usize][Operation::Read as usize].store(500, Relaxed);
        page.interval_ns.store(100, Relaxed);
        page.lease_until_ns.store(2000, Relaxed);
        assert_eq!(page.due_ns(Kind::Data, Operation::Read, 2000), 2500);
        assert_eq!(page.due_ns(Kind::Data, Operation::Read, 2001), 2001);
    }

    #[test]
    fn jitter_is_uniform_around_the_delay() {
        let page = page();
        page.delay_ns[Kind::Data as usize][Operation::Read as usize].store(1_000_000, Relaxed);
        page.jitter_ppm.store(200_000, Relaxed);
        let delays: Vec<u64> = (0..4000).map(|_| page.due_ns(Kind::Data, Operation::Read, 0)).collect();
        assert!(delays.iter().all(|delay| (800_000..=1_200_000).contains(delay)));
        assert!(delays.iter().any(|&delay| delay < 820_000) && delays.iter().any(|&delay| delay > 1_180_000));
        let mean = delays.iter().sum::<u64>() / 4000;
        assert!((990_000..=1_010_000).contains(&mean), "{mean}");
    }

    #[test]
    fn a_limit_of_operations_spaces_them() {
        let page = page();
        page.interval_ns.store(2_000_000, Relaxed);
        assert_eq!(page.due_ns(Kind::Data, Operation::Read, 1000), 1000);
        assert_eq!(page.due_ns(Kind::Redo, Operation::Flush, 1000), 2_001_000);
        // The page cache takes writes of logs, and other files are no part of the disk.
        assert_eq!(page.due_ns(Kind::Redo, Operation::Write, 1000), 1000);
        assert_eq!(page.due_ns(Kind::Other, Operation::Read, 1000), 1000);
        assert_eq!(page.due_ns(Kind::Data, Operation::Write, 1000), 4_001_000);
        assert_eq!(page.due_ns(Kind::Data, Operation::Write, 9_000_000), 9_000_000);
    }

    #[test]
    fn texts_end_at_the_first_zero() {
        assert_eq!(text(b"binlog\0\0"), b"binlog");
        assert_eq!(text(b"full"), b"full");
    }
}
