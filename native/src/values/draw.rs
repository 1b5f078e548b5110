//! How the variables of a connection are drawn: sysbench's distributions, TPC-C's NURand, digits, unique numbers.
//!
//! Every draw takes the same numbers from its stream, in the same order, as tuibench's `workload` does in Python,
//! with the same floating point operations: the same seed gives the same values.

use crate::values::decimal::Decimal;
use crate::values::distribution::Keys;
use crate::values::mt19937::Mt19937;
use crate::values::value::Value;

const GROUP_DIGITS: usize = 11;
/// Bits drawn beyond those a string needs, so that the bias of its first digit is below 1 in 10⁷.
const SPARE_BITS: usize = 24;
/// As many digits of it as Python multiplies with: more would change the streams.
#[allow(clippy::approx_constant)]
const BITS_PER_DIGIT: f64 = 3.321_928_1;
const NINE_DIGITS: u64 = 1_000_000_000;

/// A draw whose bounds are known.
#[derive(Clone, Debug)]
pub enum Drawn {
    Key(Keys),
    Nurand {
        numbers: i128,
        low: i128,
        keys: i128,
        c: i128,
    },
    Money {
        low: i128,
        amounts: i128,
        places: u32,
    },
    Digits {
        groups: usize,
    },
    Chance {
        share: f64,
    },
    /// Its counter, one of the connection's.
    Serial {
        counter: usize,
    },
    Unique {
        counter: usize,
        step: i128,
        offset: u32,
    },
}

impl Drawn {
    pub fn draw(&self, random: &mut Mt19937, counters: &mut [i128]) -> Value {
        match self {
            Drawn::Key(keys) => Value::Int(keys.draw(random)),
            Drawn::Nurand { numbers, low, keys, c } => {
                let coarse = random.below(*numbers);
                let fine = low + random.below(*keys);
                Value::Int(((coarse | fine) + c).rem_euclid(*keys) + low)
            }
            Drawn::Money { low, amounts, places } => {
                let amount = low + random.below(*amounts);
                Value::Decimal(Decimal::new(amount < 0, amount.unsigned_abs(), -(*places as i32)))
            }
            Drawn::Digits { groups } => Value::Text(digit_groups(*groups, random).into()),
            Drawn::Chance { share } => Value::Bool(random.random() < *share),
            Drawn::Serial { counter } => {
                let number = counters[*counter];
                counters[*counter] += 1;
                Value::Int(number)
            }
            Drawn::Unique { counter, step, offset } => {
                let here = counters[*counter] as u32;
                counters[*counter] += step;
                Value::Int(unique(here, *offset))
            }
        }
    }
}

/// Groups of eleven random digits joined by `-`: the last digits of one random number in decimal, every twelfth
/// overwritten.
fn digit_groups(groups: usize, random: &mut Mt19937) -> String {
    let length = groups * (GROUP_DIGITS + 1) - 1;
    let bits = (length as f64 * BITS_PER_DIGIT) as usize + 1 + SPARE_BITS;
    let mut words = Vec::with_capacity(bits / 32 + 1);
    random.bits(bits, &mut words);
    let mut text = vec![b'0'; length];
    let mut end = length;
    while end > 0 {
        let mut nine = split_off_nine(&mut words);
        let start = end.saturating_sub(9);
        for place in (start..end).rev() {
            text[place] = b'0' + (nine % 10) as u8;
            nine /= 10;
        }
        end = start;
    }
    for place in (GROUP_DIGITS..length).step_by(GROUP_DIGITS + 1) {
        text[place] = b'-';
    }
    text.into_iter().map(char::from).collect()
}

/// Divides a number of little-endian words by 10⁹; the remainder is its last nine digits.
fn split_off_nine(words: &mut Vec<u32>) -> u64 {
    let mut rest = 0;
    for word in words.iter_mut().rev() {
        let part = rest << 32 | u64::from(*word);
        *word = (part / NINE_DIGITS) as u32;
        rest = part % NINE_DIGITS;
    }
    while words.last() == Some(&0) {
        words.pop();
    }
    rest
}

const PRIME: u32 = 4_294_967_291;

/// A permutation of the 32-bit numbers by quadratic residues.
fn permuted(number: u32) -> u32 {
    if number >= PRIME {
        return number;
    }
    let residue = (u64::from(number) * u64::from(number) % u64::from(PRIME)) as u32;
    if number <= PRIME / 2 {
        residue
    } else {
        PRIME - residue
    }
}

/// A signed 32-bit number that is different for each place.
fn unique(place: u32, offset: u32) -> i128 {
    i128::from(permuted(permuted(place).wrapping_add(offset) ^ 0x5bf0_3635)) - (1 << 31)
}

/// Connections beyond the planned number count down from the end, with this step.
const ADDED_STRIDE: i128 = 1024;

/// Where a connection's unique numbers begin, and their step.
pub fn unique_numbers(first: u32, connection: i128, connections: i128) -> (i128, i128) {
    if connection < connections {
        (i128::from(first) + connection, connections)
    } else {
        (i128::from(first) - 1 - (connection - connections) % ADDED_STRIDE, -ADDED_STRIDE)
    }
}

/// The constants C that TPC-C allows for NURand (2.1.6.1).
pub fn nurand_constants(a: i128, loaded_c: Option<i128>) -> Vec<i128> {
    match loaded_c {
        None => (0..=a).collect(),
        Some(loaded) => {
            let near = (loaded - 119).max(0)..=(loaded + 119).min(a);
            near.filter(|c| matches!((c - loaded).abs(), 65..=95 | 97..=111 | 113..=119)).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_permutation_repeats_nothing() {
        let mut seen: Vec<i128> = (0..10_000).map(|place| unique(place, 7)).collect();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), 10_000);
    }

    #[test]
    fn digits_come_in_groups() {
        let text = digit_groups(10, &mut Mt19937::from_key(&[1]));
        assert_eq!(text.len(), 119);
        assert!(text.split('-').all(|group| group.len() == 11 && group.bytes().all(|b| b.is_ascii_digit())));
    }
}
