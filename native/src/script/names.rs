//! Statements by their normalised text: literals are `?`, lists of them one, and numbers at the end of a name `N`.
//!
//! `SELECT c FROM sbtest3 WHERE id IN (5, 'x')` is `SELECT c FROM sbtestN WHERE id IN (?)`: the calls of one place in a
//! script share a name, whatever values and tables they draw.

use std::collections::HashMap;
use std::sync::Mutex;

use crate::panics::lock;

/// Longer texts are cut.
const MOST_CHARACTERS: usize = 120;
/// Further statements share the last name.
const MOST_NAMES: usize = 200;
const OTHER: &str = "(other statements)";

/// The names of all statements of a load, in the order of their first call.
#[derive(Default)]
pub struct Names {
    known: Mutex<(Vec<String>, HashMap<String, usize>)>,
}

impl Names {
    /// The number of a name.
    pub fn number(&self, name: &str) -> usize {
        let mut known = lock(&self.known);
        if let Some(&number) = known.1.get(name) {
            return number;
        }
        let number = known.0.len();
        if number >= MOST_NAMES {
            return MOST_NAMES - 1;
        }
        let name = if number == MOST_NAMES - 1 { OTHER } else { name };
        known.0.push(name.to_string());
        known.1.insert(name.to_string(), number);
        number
    }

    pub fn list(&self) -> Vec<String> {
        lock(&self.known).0.clone()
    }
}

/// The normalised text of a statement, which replaces what is in `to`.
pub fn normalise(sql: &[u8], to: &mut Vec<u8>) {
    to.clear();
    let mut place = 0;
    while place < sql.len() && to.len() < MOST_CHARACTERS {
        let byte = sql[place];
        match byte {
            b'\'' | b'"' => {
                place = behind_quoted(sql, place);
                push_literal(to);
            }
            b'0'..=b'9' => {
                place = behind_word(sql, place);
                push_literal(to);
            }
            b'?' => {
                place += 1;
                push_literal(to);
            }
            b'A'..=b'Z' | b'a'..=b'z' | b'_' | b'$' | b'@' | 0x80..=0xff => {
                let end = behind_word(sql, place);
                push_word(&sql[place..end], to);
                place = end;
            }
            b' ' | b'\t' | b'\n' | b'\r' => {
                place += 1;
                if !to.is_empty() && to.last() != Some(&b' ') {
                    to.push(b' ');
                }
            }
            _ => {
                place += 1;
                to.push(byte);
                fold_rows(to);
            }
        }
    }
    if place < sql.len() {
        let cut: String = String::from_utf8_lossy(to).chars().take(MOST_CHARACTERS).collect();
        to.clear();
        to.extend_from_slice(cut.as_bytes());
        to.extend_from_slice("…".as_bytes());
    } else {
        let end = to.iter().rposition(|byte| !matches!(byte, b' ' | b';')).map_or(0, |last| last + 1);
        to.truncate(end);
    }
}

fn behind_quoted(sql: &[u8], start: usize) -> usize {
    let quote = sql[start];
    let mut place = start + 1;
    while place < sql.len() {
        place += plain(&sql[place..], quote);
        match sql.get(place) {
            Some(b'\\') => place += 2,
            Some(_) if sql.get(place + 1) == Some(&quote) => place += 2,
            Some(_) => return place + 1,
            None => {}
        }
    }
    sql.len()
}

/// How many bytes there are before a quote or a backslash; most are skipped a block at a time.
fn plain(text: &[u8], quote: u8) -> usize {
    const BLOCK: usize = 16;
    let ends = |&byte: &u8| byte == quote || byte == b'\\';
    let blocks =
        text.chunks_exact(BLOCK).take_while(|block| !block.iter().fold(false, |any, byte| any | ends(byte)));
    let skipped = blocks.count() * BLOCK;
    skipped + text[skipped..].iter().position(ends).unwrap_or(text.len() - skipped)
}

/// The end of a name or a number.
fn behind_word(sql: &[u8], start: usize) -> usize {
    let is_number = sql[start].is_ascii_digit();
    let belongs = |&byte: &u8| {
        byte.is_ascii_alphanumeric()
            || byte == b'_'
            || byte == b'$'
            || byte == b'@'
            || byte >= 0x80
            || (is_number && byte == b'.')
    };
    sql[start..].iter().position(|byte| !belongs(byte)).map_or(sql.len(), |size| start + size)
}

/// A `?`; one for a list, and without the sign of a negative number.
fn push_literal(to: &mut Vec<u8>) {
    let before = to.iter().rposition(|&byte| byte != b' ').map_or(0, |last| last + 1);
    let head = &to[..before];
    if head.ends_with(b"-") && matches!(last_word(&head[..before - 1]), b'=' | b'(' | b',' | b'<' | b'>') {
        to.truncate(before - 1);
        return push_literal(to);
    }
    if head.ends_with(b",") {
        let list = head[..before - 1].trim_ascii_end();
        if list.ends_with(b"?") {
            let end = list.len();
            to.truncate(end);
            return;
        }
    }
    to.push(b'?');
}

fn last_word(head: &[u8]) -> u8 {
    head.trim_ascii_end().last().copied().unwrap_or(b'(')
}

fn push_word(word: &[u8], to: &mut Vec<u8>) {
    let digits = word.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    to.extend_from_slice(&word[..word.len() - digits]);
    if digits > 0 {
        to.push(b'N');
    }
}

/// The rows of an INSERT are one: `(?), (?)` becomes `(?)`.
fn fold_rows(to: &mut Vec<u8>) {
    const ROW: &[u8] = b"(?)";
    if !to.ends_with(ROW) {
        return;
    }
    let head = to[..to.len() - ROW.len()].trim_ascii_end();
    if let Some(head) = head.strip_suffix(b",") {
        let head = head.trim_ascii_end();
        if head.ends_with(ROW) {
            let end = head.len();
            to.truncate(end);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn normalised(sql: &[u8]) -> String {
        let mut text = b"before".to_vec();
        normalise(sql, &mut text);
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn values_lists_and_numbers_of_tables_are_no_part_of_a_name() {
        for (sql, name) in [
            ("SELECT c FROM sbtest12 WHERE id=507", "SELECT c FROM sbtestN WHERE id=?"),
            ("SELECT c FROM t  WHERE k IN (1, 2,3 , 'x')\n", "SELECT c FROM t WHERE k IN (?)"),
            ("INSERT INTO t VALUES (0, -5, 'it''s'),(1,2,\"\\\"\"), (3,4,'')", "INSERT INTO t VALUES (?)"),
            ("UPDATE t SET a=a-1, b = -1.5e3 WHERE d_3.x=`q`", "UPDATE t SET a=a-?, b = ? WHERE d_N.x=`q`"),
            ("SELECT 'a quote '' behind a block, and \\' another', 'rest", "SELECT ?"),
            ("COMMIT;", "COMMIT"),
            ("SELECT ?, x FROM t WHERE y BETWEEN ? AND ?", "SELECT ?, x FROM t WHERE y BETWEEN ? AND ?"),
        ] {
            assert_eq!(normalised(sql.as_bytes()), name);
        }
    }

    #[test]
    fn a_long_text_is_cut() {
        let name = normalised(format!("SELECT {} FROM t", "column, ".repeat(100)).as_bytes());
        assert!(name.ends_with('…') && name.chars().count() <= MOST_CHARACTERS + 1, "{name}");
    }

    #[test]
    fn names_beyond_the_limit_share_one() {
        let names = Names::default();
        let numbers: Vec<usize> = (0..MOST_NAMES + 9).map(|one| names.number(&format!("s{one}x"))).collect();
        assert_eq!(numbers[3], names.number("s3x"));
        assert_eq!(numbers[MOST_NAMES + 5], MOST_NAMES - 1);
        assert_eq!(names.list().last().map(String::as_str), Some(OTHER));
    }
}
