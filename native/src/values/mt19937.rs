//! The Mersenne Twister as CPython's `random.Random` uses it: the same seeds give the same numbers.
//!
//! `Random(text)` seeds with the text's bytes followed by their SHA-512, read as one big-endian number. Python
//! computes these bytes ([`Mt19937::from_key`] takes them), so no hash function is needed here.

const WORDS: usize = 624;
const SHIFT: usize = 397;
const UPPER: u32 = 0x8000_0000;
const LOWER: u32 = 0x7fff_ffff;
const MATRIX: u32 = 0x9908_b0df;

/// One stream of random numbers.
#[derive(Clone)]
pub struct Mt19937 {
    state: Box<[u32; WORDS]>,
    next: usize,
}

impl Mt19937 {
    /// The stream that CPython seeds with this number, given as big-endian bytes.
    pub fn from_key(key: &[u8]) -> Self {
        let mut words: Vec<u32> = key.rchunks(4).map(big_endian).collect();
        while words.len() > 1 && words.last() == Some(&0) {
            words.pop();
        }
        if words.is_empty() {
            words.push(0);
        }
        let mut made = Self::from_word(19_650_218);
        made.mix(&words);
        made
    }

    /// `init_genrand` of the reference implementation.
    fn from_word(seed: u32) -> Self {
        let mut state = Box::new([0u32; WORDS]);
        state[0] = seed;
        for i in 1..WORDS {
            let before = state[i - 1];
            state[i] = 1_812_433_253u32.wrapping_mul(before ^ (before >> 30)).wrapping_add(i as u32);
        }
        Self { state, next: WORDS }
    }

    /// `init_by_array` of the reference implementation, after `init_genrand`.
    fn mix(&mut self, key: &[u32]) {
        let state = &mut self.state;
        let (mut i, mut j) = (1, 0);
        for _ in 0..WORDS.max(key.len()) {
            let before = state[i - 1] ^ (state[i - 1] >> 30);
            state[i] =
                (state[i] ^ before.wrapping_mul(1_664_525)).wrapping_add(key[j]).wrapping_add(j as u32);
            i += 1;
            j = (j + 1) % key.len();
            if i >= WORDS {
                state[0] = state[WORDS - 1];
                i = 1;
            }
        }
        for _ in 0..WORDS - 1 {
            let before = state[i - 1] ^ (state[i - 1] >> 30);
            state[i] = (state[i] ^ before.wrapping_mul(1_566_083_941)).wrapping_sub(i as u32);
            i += 1;
            if i >= WORDS {
                state[0] = state[WORDS - 1];
                i = 1;
            }
        }
        state[0] = UPPER;
    }

    fn refill(&mut self) {
        let state = &mut self.state;
        let twisted = |here: u32, next: u32| {
            let y = (here & UPPER) | (next & LOWER);
            (y >> 1) ^ ((y & 1).wrapping_neg() & MATRIX)
        };
        // Without a division for each word.
        for i in 0..WORDS - SHIFT {
            state[i] = state[i + SHIFT] ^ twisted(state[i], state[i + 1]);
        }
        for i in WORDS - SHIFT..WORDS - 1 {
            state[i] = state[i + SHIFT - WORDS] ^ twisted(state[i], state[i + 1]);
        }
        state[WORDS - 1] = state[SHIFT - 1] ^ twisted(state[WORDS - 1], state[0]);
        self.next = 0;
    }

    /// 32 random bits.
    pub fn word(&mut self) -> u32 {
        if self.next >= WORDS {
            self.refill();
        }
        let mut y = self.state[self.next];
        self.next += 1;
        y ^= y >> 11;
        y ^= (y << 7) & 0x9d2c_5680;
        y ^= (y << 15) & 0xefc6_0000;
        y ^ (y >> 18)
    }

    /// `random()`: a number in [0, 1) with 53 bits.
    pub fn random(&mut self) -> f64 {
        let high = f64::from(self.word() >> 5);
        let low = f64::from(self.word() >> 6);
        (high * 67_108_864.0 + low) * (1.0 / 9_007_199_254_740_992.0)
    }

    /// `int(random() * count)`.
    pub fn below(&mut self, count: i128) -> i128 {
        (self.random() * count as f64) as i128
    }

    /// `getrandbits(bits)` as little-endian words.
    pub fn bits(&mut self, bits: usize, words: &mut Vec<u32>) {
        words.clear();
        let mut left = bits;
        while left > 0 {
            let word = self.word();
            words.push(if left < 32 { word >> (32 - left) } else { word });
            left = left.saturating_sub(32);
        }
    }

    /// `expovariate(rate)`.
    pub fn exponential(&mut self, rate: f64) -> f64 {
        -(1.0 - self.random()).ln() / rate
    }
}

/// The value of one to four bytes.
fn big_endian(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0, |word, &byte| word << 8 | u32::from(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_a_small_seed_are_those_of_python() {
        // random.seed(5); [random.getrandbits(32) for _ in range(3)], then random.random()
        let mut stream = Mt19937::from_key(&[5]);
        assert_eq!([stream.word(), stream.word(), stream.word()], FIRST_OF_SEED_5);
    }

    #[test]
    fn leading_zeros_of_a_key_do_not_count() {
        let (mut one, mut other) = (Mt19937::from_key(&[5]), Mt19937::from_key(&[0, 0, 0, 0, 0, 5]));
        assert_eq!(one.word(), other.word());
    }

    #[test]
    fn bits_of_more_than_a_word_end_with_a_part_of_one() {
        let (mut one, mut other) = (Mt19937::from_key(&[5]), Mt19937::from_key(&[5]));
        let mut words = Vec::new();
        one.bits(40, &mut words);
        assert_eq!(words, [other.word(), other.word() >> 24]);
    }

    const FIRST_OF_SEED_5: [u32; 3] = [2_675_342_405, 1_097_127_993, 3_185_950_873];
}
