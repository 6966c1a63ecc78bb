//! Signals: what they end, and what they leave behind.
#![cfg(target_os = "linux")]

use crate::common::{Scene, ends_by_itself, lines};
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Sends a signal to a program, which may have ended already.
fn send(signal: &str, child: &Child) {
    let sent = Command::new("kill").args([signal, &child.id().to_string()]).stderr(Stdio::null()).status();
    sent.expect("there is a program that sends signals");
}

/// Starts the program with default signal handling: the process that runs the tests, such as a shell in the
/// background, may ignore some signals, and child processes inherit that.
fn spawn(scene: &Scene, args: &str) -> Child {
    let mut command = Command::new("env");
    command.args(["--default-signal=INT,TERM,HUP", env!("CARGO_BIN_EXE_malkoha")]);
    command.args(args.split_whitespace()).current_dir(scene.folder());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

#[test]
fn a_program_whose_input_is_idle_dies_of_its_signal_at_once() {
    let scene = Scene::new("idle");
    scene.run_with("build -o f.malkoha --keys 1M", "owl\n").ok();
    let before = scene.read("f.malkoha");
    let commands = [
        "build -o g.malkoha --keys 1M -",
        "add f.malkoha -",
        "remove f.malkoha -",
        "query f.malkoha -",
        "dedup -j 1 -",
    ];
    for (signal, number) in [("-INT", 2), ("-TERM", 15), ("-HUP", 1)] {
        for command in commands {
            let mut child = spawn(&scene, command);
            // More than a pipe holds: the program has begun to read.
            let mut input = child.stdin.take().unwrap();
            let output = child.stdout.take();
            input.write_all(lines("key", 0..20_000).as_bytes()).unwrap();
            send(signal, &child);
            let status = ends_by_itself(&mut child);
            assert_eq!((status.signal(), status.code()), (Some(number), None), "{command}, {signal}");
            drop((input, output));
        }
    }
    assert_eq!(scene.files(), ["f.malkoha"]);
    assert!(scene.read("f.malkoha") == before);
}

#[test]
fn a_signal_that_is_ignored_stays_ignored() {
    let scene = Scene::new("nohup");
    for (signal, name) in [("-HUP", "HUP"), ("-INT", "INT"), ("-TERM", "TERM")] {
        let ignoring = format!("trap '' {name}; exec \"$0\" \"$@\"");
        let mut command = Command::new("sh");
        command.args(["-c", &ignoring, env!("CARGO_BIN_EXE_malkoha")]);
        command.args(["build", "-q", "-o", "f.malkoha", "--keys", "1M", "-"]).current_dir(scene.folder());
        let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        input.write_all(lines("before", 0..20_000).as_bytes()).unwrap();
        for _ in 0..3 {
            send(signal, &child);
            std::thread::sleep(Duration::from_millis(50));
        }
        input.write_all(lines("after", 0..20_000).as_bytes()).unwrap();
        drop(input);
        assert_eq!(child.wait().unwrap().code(), Some(0), "{name}");
        assert_eq!(scene.run_with("query -c f.malkoha", lines("after", 0..20_000)).ok().trim(), "20000");
    }
}

#[test]
fn a_save_that_has_begun_ends_before_the_signal_acts() {
    let scene = Scene::new("save");
    let temporary = || scene.files().into_iter().find(|name| name.starts_with(".malkoha"));
    // The larger the filter, the longer its save, and the likelier a signal arrives in the middle of it.
    for keys in ["20M", "80M", "320M"] {
        let mut child = spawn(&scene, &format!("build -q -o f.malkoha --keys {keys} -"));
        child.stdin.take().unwrap().write_all(b"owl\neagle\n").unwrap();
        while temporary().is_none() && child.try_wait().unwrap().is_none() {}
        send("-INT", &child);
        let in_the_middle = temporary().is_some();
        let status = ends_by_itself(&mut child);
        assert_eq!(temporary(), None, "the save was cut off");
        assert!(status.signal() == Some(2) || status.success(), "{status}");
        if in_the_middle {
            scene.run("verify f.malkoha").ok();
            assert_eq!(scene.run_with("query -c f.malkoha", "owl\neagle\n").ok().trim(), "2");
        }
        if in_the_middle && status.signal() == Some(2) {
            return;
        }
    }
    panic!("no program died of a signal that came in the middle of its save");
}

#[test]
fn a_build_interrupted_at_any_moment_leaves_a_whole_file_or_none() {
    let scene = Scene::new("moments");
    scene.write("keys.txt", lines("key", 0..400_000));
    let start = Instant::now();
    scene.run("build -q -o whole.malkoha --keys 400k keys.txt").ok();
    let all = start.elapsed();
    let whole = scene.read("whole.malkoha");
    for part in 0..12u32 {
        let mut child = spawn(&scene, "build -q -o f.malkoha --keys 400k keys.txt");
        std::thread::sleep(all * (part + 1) / 10);
        send("-INT", &child);
        let status = child.wait().unwrap();
        match scene.files().iter().map(String::as_str).collect::<Vec<_>>()[..] {
            ["keys.txt", "whole.malkoha"] => assert_eq!(status.signal(), Some(2)),
            ["f.malkoha", "keys.txt", "whole.malkoha"] => {
                assert!(scene.read("f.malkoha") == whole, "half a file");
                std::fs::remove_file(scene.path("f.malkoha")).unwrap();
            }
            ref files => panic!("left behind: {files:?}"),
        }
    }
}
