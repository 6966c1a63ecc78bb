//! Kills a process while it saves, again and again.
#![cfg(unix)]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use malkoha::{Filter, Spec};

mod common;

/// Where the child saves.
const PATH: &str = "MALKOHA_CRASH_PATH";

/// Two different filters of a few megabytes.
fn filters() -> [Filter; 2] {
    [0.001, 0.0001].map(|rate| {
        let mut filter = Spec::new(1_000_000, rate).build().unwrap();
        filter.insert_slice(&(0..10_000u64).collect::<Vec<_>>()).unwrap();
        filter
    })
}

/// The child process; not a test by itself.
#[test]
#[ignore = "started and killed by another test"]
fn child_that_saves_forever() {
    let Ok(path) = std::env::var(PATH) else { return };
    let filters = filters();
    for filter in filters.iter().cycle() {
        filter.save(Path::new(&path)).unwrap();
    }
}

#[test]
fn a_process_that_is_killed_while_saving_leaves_a_whole_file() {
    let folder = std::env::temp_dir().join(format!("malkoha-crash-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path: PathBuf = folder.join("filter");
    let filters = filters();
    filters[0].save(&path).unwrap();
    let mut replaced = 0;
    for round in 0..common::scale(12, 200) {
        let before = std::fs::metadata(&path).unwrap().modified().unwrap();
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["child_that_saves_forever", "--exact", "--ignored"])
            .env(PATH, &path)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(150 + 37 * (round % 8)));
        child.kill().unwrap();
        child.wait().unwrap();
        let found = Filter::open(&path).unwrap();
        assert!(filters.contains(&found), "round {round}");
        replaced += u64::from(std::fs::metadata(&path).unwrap().modified().unwrap() != before);
    }
    assert!(replaced > 0, "some child saved something before it was killed");
    std::fs::remove_dir_all(&folder).unwrap();
}
