//! What a file is to the server, by its path.

/// The kinds of files that a disk can be slow for; `Other` is everything else: sockets, error logs,
/// definitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    Other = 0,
    Redo = 1,
    Binlog = 2,
    Data = 3,
    Doublewrite = 4,
    Temporary = 5,
}

pub const KINDS: usize = 6;

impl Kind {
    pub fn of_number(number: u8) -> Kind {
        match number {
            1 => Kind::Redo,
            2 => Kind::Binlog,
            3 => Kind::Data,
            4 => Kind::Doublewrite,
            5 => Kind::Temporary,
            _ => Kind::Other,
        }
    }

    /// True if a write goes to the disk at once: logs are collected by the page cache until they are
    /// flushed.
    pub fn writes_pages(self) -> bool {
        matches!(self, Kind::Data | Kind::Doublewrite | Kind::Temporary)
    }
}

const DELETED: &[u8] = b" (deleted)";
const TABLES: [&[u8]; 6] = [b".ibd", b".ibu", b".MYD", b".MYI", b".MAD", b".MAI"];

/// The kind of a file, from the target of its link in `/proc/self/fd`. `binlog` is the base name of the
/// binary log, `tmpdir` the folder of temporary files; either may be empty.
pub fn classify(path: &[u8], binlog: &[u8], tmpdir: &[u8]) -> Kind {
    let path = path.strip_suffix(DELETED).unwrap_or(path);
    if path.first() != Some(&b'/') || path.starts_with(b"/proc/") || path.starts_with(b"/dev/") {
        return Kind::Other;
    }
    if !tmpdir.is_empty() && path.strip_prefix(tmpdir).map_or(false, |rest| rest.first() == Some(&b'/')) {
        return Kind::Temporary;
    }
    let name = path.rsplit(|&byte| byte == b'/').next().unwrap_or(path);
    let starts = |prefix: &[u8]| name.starts_with(prefix);
    let ends = |suffix: &[u8]| name.ends_with(suffix);
    if starts(b"ib_logfile") || starts(b"#ib_redo") || starts(b"aria_log") {
        return Kind::Redo;
    }
    if ends(b".dblwr") {
        return Kind::Doublewrite;
    }
    if is_binlog(name, binlog) {
        return Kind::Binlog;
    }
    if ends(b".ibt") || starts(b"ibtmp") || (starts(b"#sql") && TABLES[2..].iter().any(|suffix| ends(suffix)))
    {
        return Kind::Temporary;
    }
    if TABLES.iter().any(|suffix| ends(suffix)) || starts(b"ibdata") || starts(b"undo") {
        return Kind::Data;
    }
    Kind::Other
}

/// binlog.000001, binlog.index; MariaDB's binary log in InnoDB is binlog-000001.ibb.
fn is_binlog(name: &[u8], base: &[u8]) -> bool {
    if base.is_empty() {
        return false;
    }
    match name.strip_prefix(base) {
        Some([b'.', rest @ ..]) => {
            rest == b"index" || (!rest.is_empty() && rest.iter().all(u8::is_ascii_digit))
        }
        Some([b'-', rest @ ..]) => rest.ends_with(b".ibb"),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(path: &str) -> Kind {
        classify(path.as_bytes(), b"binlog", b"/x/tmp")
    }

    #[test]
    fn files_of_both_flavours() {
        for (path, expected) in [
            ("/x/data/ib_logfile0", Kind::Redo),
            ("/x/data/#innodb_redo/#ib_redo12", Kind::Redo),
            ("/x/data/#innodb_redo/#ib_redo12_tmp", Kind::Redo),
            ("/x/data/aria_log.00000001", Kind::Redo),
            ("/x/data/binlog.000001", Kind::Binlog),
            ("/x/data/binlog.index", Kind::Binlog),
            ("/x/data/binlog-000001.ibb", Kind::Binlog),
            ("/x/data/binlog.tmp", Kind::Other),
            ("/x/data/mybinlog.000001", Kind::Other),
            ("/x/data/binlog.", Kind::Other),
            ("/x/data/ibdata1", Kind::Data),
            ("/x/data/undo_001", Kind::Data),
            ("/x/data/undo001", Kind::Data),
            ("/x/data/sbtest/sbtest1.ibd", Kind::Data),
            ("/x/data/sbtest/#sql-ib12.ibd", Kind::Data),
            ("/x/data/sbtest/old.ibd (deleted)", Kind::Data),
            ("/x/data/mysql/proc.MAD", Kind::Data),
            ("/x/data/#ib_16384_0.dblwr", Kind::Doublewrite),
            ("/x/data/#innodb_temp/temp_1.ibt", Kind::Temporary),
            ("/x/data/ibtmp1", Kind::Temporary),
            ("/x/data/sbtest/#sql-temptable-1.MAI", Kind::Temporary),
            ("/x/tmp/ibabcdef (deleted)", Kind::Temporary),
            ("/x/tmpfile.ibd", Kind::Data),
            ("/x/error.log", Kind::Other),
            ("/x/data/sbtest/sbtest1.frm", Kind::Other),
            ("socket:[1234]", Kind::Other),
            ("/dev/null", Kind::Other),
            ("", Kind::Other),
        ] {
            assert_eq!(kind(path), expected, "{path}");
        }
    }

    #[test]
    fn nothing_is_a_binlog_or_temporary_without_names() {
        assert_eq!(classify(b"/x/.000001", b"", b""), Kind::Other);
        assert_eq!(classify(b"/x/tmp/a", b"", b""), Kind::Other);
    }
}
