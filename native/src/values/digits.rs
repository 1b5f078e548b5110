//! Whole numbers of any length as decimal digits, the most significant first; zero has none.
//!
//! The slow path of [`crate::values::decimal`]: numbers of more than 38 digits, and all divisions.

use std::cmp::Ordering;

pub type Digits = Vec<u8>;

pub fn from_number(mut number: u128) -> Digits {
    let mut digits = Digits::new();
    while number > 0 {
        digits.push((number % 10) as u8);
        number /= 10;
    }
    digits.reverse();
    digits
}

/// The number, if 128 bits hold it.
pub fn to_number(digits: &[u8]) -> Option<u128> {
    digits.iter().try_fold(0u128, |number, &digit| number.checked_mul(10)?.checked_add(u128::from(digit)))
}

pub fn trimmed(digits: &[u8]) -> &[u8] {
    &digits[digits.iter().take_while(|&&digit| digit == 0).count()..]
}

/// The number times ten to a power.
pub fn shifted(digits: &[u8], places: usize) -> Digits {
    let mut shifted = digits.to_vec();
    if !shifted.is_empty() {
        shifted.resize(digits.len() + places, 0);
    }
    shifted
}

/// Compares numbers without leading zeros.
pub fn compare(left: &[u8], right: &[u8]) -> Ordering {
    left.len().cmp(&right.len()).then_with(|| left.cmp(right))
}

pub fn add(left: &[u8], right: &[u8]) -> Digits {
    let mut sum = Digits::with_capacity(left.len().max(right.len()) + 1);
    let mut carry = 0;
    for place in 0..left.len().max(right.len()) {
        let digit = from_right(left, place) + from_right(right, place) + carry;
        sum.push(digit % 10);
        carry = digit / 10;
    }
    if carry > 0 {
        sum.push(carry);
    }
    sum.reverse();
    sum
}

/// The difference; the left number must not be the smaller one.
pub fn subtract(left: &[u8], right: &[u8]) -> Digits {
    let mut difference = Digits::with_capacity(left.len());
    let mut borrow = 0;
    for place in 0..left.len() {
        let (from, taken) = (from_right(left, place), from_right(right, place) + borrow);
        borrow = u8::from(from < taken);
        difference.push(from + 10 * borrow - taken);
    }
    difference.reverse();
    trimmed(&difference).to_vec()
}

pub fn multiply(left: &[u8], right: &[u8]) -> Digits {
    let mut sums = vec![0u32; left.len() + right.len()];
    for (i, &a) in left.iter().rev().enumerate() {
        for (j, &b) in right.iter().rev().enumerate() {
            sums[i + j] += u32::from(a) * u32::from(b);
        }
    }
    let mut carry = 0;
    let mut product: Digits = Vec::with_capacity(sums.len());
    for sum in sums {
        carry += sum;
        product.push((carry % 10) as u8);
        carry /= 10;
    }
    product.reverse();
    trimmed(&product).to_vec()
}

/// Quotient and remainder; the divisor must not be zero.
pub fn divide(left: &[u8], right: &[u8]) -> (Digits, Digits) {
    let mut quotient = Digits::with_capacity(left.len());
    let mut rest = Digits::new();
    for &digit in left {
        if !rest.is_empty() || digit > 0 {
            rest.push(digit);
        }
        let mut times = 0;
        while compare(&rest, right) != Ordering::Less {
            rest = subtract(&rest, right);
            times += 1;
        }
        quotient.push(times);
    }
    (trimmed(&quotient).to_vec(), rest)
}

fn from_right(digits: &[u8], place: usize) -> u8 {
    digits.len().checked_sub(place + 1).map_or(0, |index| digits[index])
}

#[cfg(test)]
mod tests {
    use super::*;

    const NUMBERS: [u128; 8] = [0, 1, 9, 10, 99, 12_345, 999_999_999, 18_446_744_073_709_551_616];

    #[test]
    fn arithmetic_is_that_of_128_bits() {
        for left in NUMBERS {
            for right in NUMBERS {
                let (a, b) = (from_number(left), from_number(right));
                assert_eq!(to_number(&add(&a, &b)), Some(left + right));
                assert_eq!(to_number(&multiply(&a, &b)), left.checked_mul(right));
                assert_eq!(compare(&a, &b), left.cmp(&right));
                if left >= right {
                    assert_eq!(to_number(&subtract(&a, &b)), Some(left - right));
                }
                if let (Some(quotient), Some(rest)) = (left.checked_div(right), left.checked_rem(right)) {
                    let (by_digits, rest_by_digits) = divide(&a, &b);
                    assert_eq!(to_number(&by_digits), Some(quotient));
                    assert_eq!(to_number(&rest_by_digits), Some(rest));
                }
            }
        }
    }
}
