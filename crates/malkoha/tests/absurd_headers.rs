//! Headers that promise more than there is: nothing is allocated for them. A separate program, because it watches
//! the memory of the process.
#![cfg(target_os = "linux")]

#[path = "common/golden.rs"]
mod golden;

use malkoha::testing::seal;
use malkoha::{Error, Filter};

/// The most bytes of address space that this process has had.
fn peak_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmPeak:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
}

#[test]
fn nothing_is_allocated_for_absurd_headers() {
    // Enough places or blocks for a table of 2^30 to 2^57 bytes.
    let files = [
        ("flexible-4", 128),
        ("windowed-2", 128),
        ("classic-4", 128),
        ("sorted", 128),
        ("bloom", 256),
        ("blocked-2", 256),
    ];
    let mut refused = 0;
    let before = peak_bytes();
    for (name, offset) in files {
        let golden = std::fs::read(golden::path(name)).unwrap();
        for power in 28..56 {
            let mut bytes = golden.clone();
            bytes[offset..offset + 8].copy_from_slice(&(1u64 << power).to_le_bytes());
            seal(&mut bytes);
            let error = Filter::from_bytes(&bytes).map(|_| ()).unwrap_err();
            assert!(matches!(error, Error::Corrupt { .. }), "{name}: {error}");
            refused += u32::from(matches!(error, Error::Corrupt { part: "table", .. }));
            // A stream claims to be longer, and ends.
            let error = Filter::read_from(&bytes[..]).map(|_| ()).unwrap_err();
            assert!(matches!(error, Error::Corrupt { .. } | Error::Allocation { .. }), "{name}: {error}");
        }
    }
    assert!(refused > 100, "most were refused for their length alone: {refused}");
    let grown = peak_bytes() - before;
    assert!(grown < 64 << 20, "{grown} bytes were allocated");
}
