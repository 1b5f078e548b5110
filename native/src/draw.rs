//! How the variables of a connection are drawn: sysbench's distributions, TPC-C's NURand, digits, unique numbers.
//!
//! Every draw takes the same numbers from its stream, in the same order, as tuibench's `workload` does in Python,
//! with the same floating point operations: the same seed gives the same values.

use crate::decimal::Decimal;
use crate::mt19937::Mt19937;
use crate::program::Distribution;
use crate::value::Value;

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
        numbers: i64,
        low: i64,
        keys: i64,
        c: i64,
    },
    Money {
        low: i64,
        amounts: i64,
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
        step: i64,
        offset: u32,
    },
}

impl Drawn {
    pub fn draw(&self, random: &mut Mt19937, counters: &mut [i64]) -> Value {
        match self {
            Drawn::Key(keys) => Value::Int(i128::from(keys.draw(random))),
            Drawn::Nurand { numbers, low, keys, c } => {
                let coarse = random.below(*numbers);
                let fine = low + random.below(*keys);
                Value::Int(i128::from(((coarse | fine) + c).rem_euclid(*keys) + low))
            }
            Drawn::Money { low, amounts, places } => {
                let amount = i128::from(low + random.below(*amounts));
                Value::Decimal(Decimal::new(amount < 0, amount.unsigned_abs(), -(*places as i32)))
            }
            Drawn::Digits { groups } => Value::Text(digit_groups(*groups, random).into()),
            Drawn::Chance { share } => Value::Bool(random.random() < *share),
            Drawn::Serial { counter } => {
                let number = counters[*counter];
                counters[*counter] += 1;
                Value::Int(i128::from(number))
            }
            Drawn::Unique { counter, step, offset } => {
                let here = counters[*counter] as u32;
                counters[*counter] += step;
                Value::Int(i128::from(unique(here, *offset)))
            }
        }
    }
}

/// How whole numbers from a lowest one on are distributed; see tuibench's `workload` for the sources.
#[derive(Clone, Debug)]
pub struct Keys {
    low: i64,
    shape: Shape,
}

#[derive(Clone, Debug)]
enum Shape {
    Uniform { keys: i64 },
    Gaussian { iterations: u32, scale: f64 },
    Special { iterations: u32, cold_below: f64, cold_scale: f64, hot_scale: f64, hot_from: f64 },
    Pareto { keys: f64, power: f64 },
    Zipfian(Zipfian),
}

impl Keys {
    /// Numbers from `low` to `high`, both included.
    pub fn new(distribution: &Distribution, low: i64, high: i64) -> Self {
        let keys = high - low + 1;
        let shape = match *distribution {
            Distribution::Uniform => Shape::Uniform { keys },
            Distribution::Gaussian { iterations } => {
                Shape::Gaussian { iterations, scale: keys as f64 / f64::from(iterations) }
            }
            Distribution::Special { iterations, hot_width, hot_share } => {
                let span = (high - low) as f64;
                Shape::Special {
                    iterations,
                    cold_below: 1.0 - hot_share,
                    cold_scale: span / f64::from(iterations),
                    hot_scale: hot_width * span + 1.0,
                    hot_from: span / 2.0 - hot_width * span / 2.0,
                }
            }
            Distribution::Pareto { h } => Shape::Pareto { keys: keys as f64, power: h.ln() / (1.0 - h).ln() },
            Distribution::Zipfian { exponent } => Shape::Zipfian(Zipfian::new(keys, exponent)),
        };
        Self { low, shape }
    }

    fn draw(&self, random: &mut Mt19937) -> i64 {
        let above = match &self.shape {
            Shape::Uniform { keys } => random.below(*keys),
            Shape::Gaussian { iterations, scale } => (uniforms(*iterations, random) * scale) as i64,
            Shape::Special { iterations, cold_below, cold_scale, hot_scale, hot_from } => {
                let chosen = random.random();
                if chosen >= *cold_below {
                    (chosen * hot_scale + hot_from) as i64
                } else {
                    (uniforms(*iterations, random) * cold_scale) as i64
                }
            }
            Shape::Pareto { keys, power } => (keys * random.random().powf(*power)) as i64,
            Shape::Zipfian(zipfian) => zipfian.draw(random) - 1,
        };
        self.low + above
    }
}

fn uniforms(iterations: u32, random: &mut Mt19937) -> f64 {
    (0..iterations).fold(0.0, |sum, _| sum + random.random())
}

/// Rejection inversion of Hörmann and Derflinger (1996).
#[derive(Clone, Debug)]
struct Zipfian {
    keys: f64,
    exponent: f64,
    top: f64,
    bottom: f64,
    shortcut: f64,
}

impl Zipfian {
    fn new(keys: i64, exponent: f64) -> Self {
        let mut made = Self { keys: keys as f64, exponent, top: 0.0, bottom: 0.0, shortcut: 0.0 };
        made.top = made.hat(made.keys + 0.5);
        made.bottom = made.hat(1.5) - 1.0;
        made.shortcut = 2.0 - made.inverse(made.hat(2.5) - 2f64.powf(-exponent));
        made
    }

    fn draw(&self, random: &mut Mt19937) -> i64 {
        loop {
            let area = self.top + random.random() * (self.bottom - self.top);
            let exact = self.inverse(area);
            let rank = (exact + 0.5).trunc().max(1.0).min(self.keys);
            if rank - exact <= self.shortcut || area >= self.hat(rank + 0.5) - rank.powf(-self.exponent) {
                return rank as i64;
            }
        }
    }

    /// The exponent of the integral; None where that is the logarithm.
    fn rest(&self) -> Option<f64> {
        let rest = 1.0 - self.exponent;
        (rest.abs() >= 1e-9).then_some(rest)
    }

    fn hat(&self, x: f64) -> f64 {
        self.rest().map_or_else(|| x.ln(), |rest| (x.powf(rest) - 1.0) / rest)
    }

    fn inverse(&self, area: f64) -> f64 {
        self.rest().map_or_else(|| area.exp(), |rest| (1.0 + area * rest).powf(1.0 / rest))
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

/// Divides a number of little-endian words by a milliard; the rest is its last nine digits.
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

/// A number of 32 bits with sign that comes once for each place.
fn unique(place: u32, offset: u32) -> i64 {
    i64::from(permuted(permuted(place).wrapping_add(offset) ^ 0x5bf0_3635)) - (1 << 31)
}

/// Connections beyond those that numbers are dealt out to count down from the end, so many to a step.
const ADDED_STRIDE: i64 = 1024;

/// Where a connection's unique numbers begin, and their step.
pub fn unique_numbers(first: u32, connection: i64, connections: i64) -> (i64, i64) {
    if connection < connections {
        (i64::from(first) + connection, connections)
    } else {
        (i64::from(first) - 1 - (connection - connections) % ADDED_STRIDE, -ADDED_STRIDE)
    }
}

/// The constants C that TPC-C allows for NURand (2.1.6.1).
pub fn nurand_constants(a: i64, loaded_c: Option<i64>) -> Vec<i64> {
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
        let mut seen: Vec<i64> = (0..10_000).map(|place| unique(place, 7)).collect();
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

    #[test]
    fn keys_stay_within_their_bounds() {
        let shapes = [
            Distribution::Uniform,
            Distribution::Gaussian { iterations: 12 },
            Distribution::Special { iterations: 12, hot_width: 0.01, hot_share: 0.75 },
            Distribution::Pareto { h: 0.2 },
            Distribution::Zipfian { exponent: 0.8 },
            Distribution::Zipfian { exponent: 1.0 },
        ];
        let mut random = Mt19937::from_key(&[3]);
        for shape in shapes {
            let keys = Keys::new(&shape, 5, 104);
            assert!((0..2_000).all(|_| (5..=105).contains(&keys.draw(&mut random))), "{shape:?}");
        }
    }
}
