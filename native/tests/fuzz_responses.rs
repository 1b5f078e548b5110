//! Damaged responses do no harm: the parser neither panics nor takes more memory than it was sent.
//!
//! The responses of `responses.txt` are recorded from servers (`python -m tests.native_responses`). Each is
//! damaged in many ways, cut at arbitrary places and read. The seed is fixed, so a failure repeats; it names the
//! bytes. More rounds: `FUZZ_ROUNDS=100000 cargo test --release --no-default-features --test fuzz_responses`.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::panic::{catch_unwind, AssertUnwindSafe};

use tuibench_native::protocol::response::{Outcome, Response};
use tuibench_native::protocol::rows::RowReader;

const ROUNDS: u64 = 1_500;
const SEED: u64 = 0x5eed_0f7e_5701_75e5;
/// What reading may take besides what grows with the response.
const FIXED_BYTES: usize = 16 << 10;
/// A value takes some 40 bytes in memory and a bit of the response (NULL), and lists double as they grow.
const BYTES_PER_BYTE: usize = 1024;

thread_local! {
    static TAKEN: Cell<usize> = const { Cell::new(0) };
    static MOST: Cell<usize> = const { Cell::new(0) };
}

/// Counts what this thread has taken and not given back.
struct Counting;

fn count(change: isize) {
    // A thread that ends has no counters any more.
    let _ = TAKEN.try_with(|taken| {
        let now = (taken.get() as isize + change).max(0) as usize;
        taken.set(now);
        MOST.with(|most| most.set(most.get().max(now)));
    });
}

/// Runs something; returns how much memory it had taken at most, and has left.
fn memory_of(act: impl FnOnce()) -> (usize, usize) {
    let before = TAKEN.with(Cell::get);
    MOST.with(|most| most.set(before));
    act();
    (MOST.with(Cell::get) - before, TAKEN.with(Cell::get).saturating_sub(before))
}

// SAFETY: every call is passed on to the system's allocator as it is.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// A recorded response.
struct Recorded {
    without_eof: bool,
    is_binary: bool,
    bytes: Vec<u8>,
}

fn recorded() -> Vec<Recorded> {
    let lines = include_str!("responses.txt").lines();
    lines.filter(|line| !line.is_empty() && !line.starts_with('#')).map(parsed).collect()
}

fn parsed(line: &str) -> Recorded {
    let mut words = line.split(' ');
    let without_eof = words.next() == Some("1");
    let is_binary = words.next() == Some("binary");
    let digits = words.next().expect("each line has three words").as_bytes();
    let nibble = |digit: u8| (digit as char).to_digit(16).expect("hexadecimal") as u8;
    let bytes = digits.chunks(2).map(|pair| nibble(pair[0]) << 4 | nibble(pair[1])).collect();
    Recorded { without_eof, is_binary, bytes }
}

/// xorshift64*.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() >> 33) as usize % limit.max(1)
    }
}

const INTERESTING: [u8; 12] = [0, 1, 2, 4, 7, 8, 0x7f, 0x80, 0xfb, 0xfc, 0xfe, 0xff];

/// One damage: other bytes, a run of one byte, a piece less, a piece twice, a piece of another response.
fn damage(bytes: &mut Vec<u8>, others: &[Recorded], random: &mut Random) {
    let place = random.below(bytes.len());
    let size = 1 + random.below(12);
    let end = bytes.len().min(place + size);
    match random.below(7) {
        0 => bytes[place] = random.next() as u8,
        1 => bytes[place] = INTERESTING[random.below(INTERESTING.len())],
        2 => bytes[place] ^= 1 << random.below(8),
        3 => {
            let byte = INTERESTING[random.below(INTERESTING.len())];
            bytes[place..end].fill(byte);
        }
        4 => drop(bytes.drain(place..end)),
        5 => {
            let piece = bytes[place..end].to_vec();
            bytes.splice(place..place, piece);
        }
        _ => {
            let other = &others[random.below(others.len())].bytes;
            let from = random.below(other.len());
            let piece = &other[from..other.len().min(from + size)];
            bytes.splice(place..place, piece.iter().copied());
        }
    }
}

/// Makes the length of the first packets fit again, and their sequence: damage behind the headers is read then.
fn frame_again(bytes: &mut [u8], random: &mut Random) {
    let mut place = 0;
    let mut sequence = 1u8;
    while place + 4 <= bytes.len() {
        let left = bytes.len() - place - 4;
        let size = usize::from(bytes[place]) | usize::from(bytes[place + 1]) << 8;
        let size = if size > left { random.below(left + 1) } else { size };
        bytes[place..place + 3].copy_from_slice(&(size as u32).to_le_bytes()[..3]);
        bytes[place + 3] = sequence;
        sequence = sequence.wrapping_add(1);
        place += 4 + size;
    }
}

/// Reads bytes as one connection would, cut where `random` says; then the rows of each whole response.
fn read(bytes: &[u8], of: &Recorded, random: &mut Random) {
    let mut response = Response::new(of.without_eof, true);
    response.begin(true, &[]);
    let mut rows = RowReader::new(of.is_binary, of.without_eof, &[]);
    let mut rest = bytes;
    while !rest.is_empty() {
        let most = if random.below(4) == 0 { rest.len() } else { 1 + random.below(24) };
        let (piece, behind) = rest.split_at(most.min(rest.len()));
        rest = behind;
        if let Some(outcome) = response.feed(piece) {
            assert!(response.kept().len() <= bytes.len());
            if matches!(outcome, Outcome::Done(_)) {
                // Both outcomes are answers; what matters is that there is one.
                drop(rows.read(response.kept()));
            }
            response.begin(true, &[]);
        }
    }
}

fn rounds() -> u64 {
    std::env::var("FUZZ_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(ROUNDS)
}

fn shown(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn recorded_responses_are_read_to_their_end_however_they_are_cut() {
    let mut random = Random(SEED);
    for of in recorded() {
        for _ in 0..50 {
            let mut response = Response::new(of.without_eof, true);
            response.begin(true, &[]);
            let mut outcome = None;
            let mut rest = &of.bytes[..];
            while !rest.is_empty() {
                assert_eq!(outcome, None, "a verdict before the end of {}", shown(&of.bytes));
                let (piece, behind) = rest.split_at((1 + random.below(40)).min(rest.len()));
                outcome = response.feed(piece);
                rest = behind;
            }
            assert!(matches!(outcome, Some(Outcome::Done(_))), "{outcome:?} of {}", shown(&of.bytes));
            assert_eq!(response.kept(), of.bytes);
        }
    }
}

#[test]
fn damaged_responses_do_no_harm() {
    let all = recorded();
    let mut random = Random(SEED);
    for of in &all {
        for _ in 0..rounds() {
            let mut bytes = of.bytes.clone();
            for _ in 0..=random.below(5) {
                if !bytes.is_empty() {
                    damage(&mut bytes, &all, &mut random);
                }
            }
            if random.below(3) > 0 {
                frame_again(&mut bytes, &mut random);
            }
            let mut is_read = false;
            let (most, left) = memory_of(|| {
                is_read = catch_unwind(AssertUnwindSafe(|| read(&bytes, of, &mut random))).is_ok();
            });
            assert!(is_read, "a panic, after {}", shown(&bytes));
            assert_eq!(left, 0, "bytes of memory are left, after {}", shown(&bytes));
            let allowed = FIXED_BYTES + BYTES_PER_BYTE * bytes.len();
            assert!(most <= allowed, "{most} bytes of memory, after {}", shown(&bytes));
        }
    }
}

/// The greatest promises that a response can make, none of which it keeps.
#[test]
fn a_promise_takes_no_memory() {
    let promises: [&[u8]; 4] = [
        b"\x09\x00\x00\x01\xfe\xff\xff\xff\xff\xff\xff\xff\xff",
        b"\x04\x00\x00\x01\xfd\xff\xff\xff",
        b"\x0a\x00\x00\x01\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x00\x01\x00\x00\x02\x00",
        b"\xff\xff\xff\x01\x00",
    ];
    for promise in promises {
        for without_eof in [false, true] {
            for is_binary in [false, true] {
                let of = Recorded { without_eof, is_binary, bytes: promise.to_vec() };
                let (most, _) = memory_of(|| {
                    read(promise, &of, &mut Random(SEED));
                    drop(RowReader::new(is_binary, without_eof, &[]).read(promise));
                });
                assert!(most <= FIXED_BYTES, "{most} bytes of memory, after {}", shown(promise));
            }
        }
    }
}
