//! Several programs change one filter at the same time.
#![cfg(unix)]

use crate::common::{Scene, lines};
use std::io::{BufRead, BufReader, Write};
use std::process::Child;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// Receives the first line that each program writes to standard error.
fn first_words(children: &mut [Child]) -> Receiver<String> {
    let (sender, words) = channel();
    for child in children {
        let (sender, stderr) = (sender.clone(), child.stderr.take().unwrap());
        std::thread::spawn(move || {
            let mut line = String::new();
            let _ = BufReader::new(stderr).read_line(&mut line);
            let _ = sender.send(line);
        });
    }
    words
}

#[track_caller]
fn somebody_waits(words: &Receiver<String>) {
    let said = words.recv_timeout(Duration::from_secs(60)).expect("somebody waits, and says so");
    assert!(said.contains("waiting for another program that changes f.malkoha"), "{said}");
}

#[test]
fn of_changes_at_the_same_time_none_is_lost() {
    const PROGRAMS: usize = 6;
    let scene = Scene::new("at-once");
    scene.run_with("build -o f.malkoha --keys 100k --rate 1e-6", lines("old", 0..1000)).ok();
    let mut children: Vec<_> = (0..PROGRAMS).map(|_| scene.spawn("add f.malkoha -")).collect();
    children.push(scene.spawn("remove f.malkoha -"));
    let words = first_words(&mut children);
    for (at, child) in children.iter_mut().enumerate() {
        let keys = if at < PROGRAMS { lines(&format!("new {at}"), 0..1000) } else { lines("old", 0..500) };
        child.stdin.as_mut().unwrap().write_all(keys.as_bytes()).unwrap();
    }
    // No input has ended: one program holds the filter, and all others wait for it.
    (0..PROGRAMS).for_each(|_| somebody_waits(&words));
    for child in &mut children {
        drop(child.stdin.take());
    }
    for child in children {
        assert!(child.wait_with_output().unwrap().status.success());
    }
    let found = |keys: String| scene.run_with("query -c f.malkoha", keys).out.trim().to_owned();
    for at in 0..PROGRAMS {
        assert_eq!(found(lines(&format!("new {at}"), 0..1000)), "1000", "program {at}");
    }
    assert_eq!(found(lines("old", 0..500)), "0");
    assert_eq!(found(lines("old", 500..1000)), "500");
    assert_eq!(scene.files(), ["f.malkoha"]);
}

#[test]
fn a_new_filter_waits_for_a_change_of_the_old_one() {
    let scene = Scene::new("new-at-once");
    scene.write("new.txt", lines("new", 0..1000));
    scene.run_with("build -o f.malkoha --keys 10k --rate 1e-6", lines("old", 0..1000)).ok();
    let mut adding = scene.spawn("add f.malkoha -");
    // More than a pipe holds: the filter has been read, and is locked.
    adding.stdin.as_mut().unwrap().write_all("added\n".repeat(20_000).as_bytes()).unwrap();
    let mut building = [scene.spawn("build -o f.malkoha new.txt")];
    somebody_waits(&first_words(&mut building));
    assert_eq!(scene.run_with("query -c f.malkoha", "old 17\n").ok().trim(), "1", "nothing was replaced yet");
    drop(adding.stdin.take());
    assert!(adding.wait_with_output().unwrap().status.success());
    let [building] = building;
    assert!(building.wait_with_output().unwrap().status.success());
    assert_eq!(scene.run("query -c f.malkoha new.txt").ok().trim(), "1000");
}
