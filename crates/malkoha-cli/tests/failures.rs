//! Broken pipes, missing and damaged files, full disks.

use crate::common::{Scene, lines};
use std::fs::OpenOptions;
use std::io::Write;
use std::process::{Command, Stdio};
use std::time::Duration;

#[test]
fn files_that_are_not_there() {
    let scene = Scene::new("missing");
    scene.run("build -o f.malkoha nowhere.txt").fails(&["nowhere.txt", "No such file"]);
    scene.run("build -o no/such/folder/f.malkoha").fails(&["no/such/folder", "make it"]);
    scene.run("build -j 0 -o f.malkoha --keys 10").fails(&["--threads"]);
    scene.run("build -j 65 -o f.malkoha --keys 10").fails(&["--threads", "65 is not in 1..=64"]);
    scene.run("build -o . --keys 10").fails(&["is not a file"]);
    scene.run("build -o /dev/null --keys 10").fails(&["/dev/null is not a file"]);
    for command in ["query", "add", "remove", "info", "verify"] {
        scene.run(&format!("{command} nowhere.malkoha")).fails(&["nowhere.malkoha", "No such file"]);
    }
    scene.run_with("build -o f.malkoha --keys 10", "owl\n").ok();
    scene.run("query f.malkoha nowhere.txt").fails(&["cannot open nowhere.txt"]);
    scene.run("query f.malkoha .").fails(&["Is a directory"]);
    assert_eq!(scene.files(), ["f.malkoha"]);
}

#[test]
fn compressed_files_that_end_in_their_first_bytes_are_no_text() {
    let scene = Scene::new("cut-magic");
    scene.run_with("build -q -o f.malkoha --keys 10", "owl\n").ok();
    let cut: [(&[u8], &str); 3] =
        [(&[0x1F, 0x8B], "gzip"), (b"\xFD7zXZ", "xz"), (&[0x28, 0xB5, 0x2F], "zstd")];
    for (bytes, form) in cut {
        scene.write("cut", bytes);
        for command in ["build -o g.malkoha", "add f.malkoha", "query f.malkoha", "dedup"] {
            scene.run(&format!("{command} cut")).fails(&["cannot open cut", form, "ends too early"]);
        }
    }
    for text in ["B", "BZh", "(", "P*M"] {
        assert_eq!(scene.run_with("dedup -q", text).ok(), format!("{text}\n"));
    }
}

/// A stack that is larger than all addresses: no thread can be started.
#[cfg(all(unix, target_pointer_width = "64"))]
#[test]
fn a_system_that_starts_no_threads_is_no_panic() {
    let scene = Scene::new("threads");
    scene.write("keys.txt", lines("key", 0..1000));
    scene.write("genome.fa", ">g\nACGTTGCAACCGGTATATCGGCTAAGCTTAGGACCATA\n");
    scene.write("texts.jsonl", "{\"text\":\"owl\"}\n{\"text\":\"owl\"}\n");
    scene.run("build -q -o f.malkoha keys.txt").ok();
    scene.run("build -q --kmer 21 -o dna.malkoha genome.fa").ok();
    let run = |args: &str| {
        let output = scene.command(args).env("RUST_MIN_STACK", (1u64 << 60).to_string()).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned(), said)
    };
    for args in [
        "query -j 4 -c f.malkoha keys.txt",
        "dedup -q -j 4 keys.txt",
        "dedup -q -j 1 --jsonl text texts.jsonl",
        "reads -q -j 4 dna.malkoha genome.fa",
    ] {
        assert_eq!(run(args), (Some(0), scene.run(args).ok(), String::new()), "{args}");
    }
    for args in
        ["build -o g.malkoha keys.txt", "add f.malkoha keys.txt", "dedup -j 4 --jsonl text texts.jsonl"]
    {
        let (code, _, said) = run(args);
        assert!(code == Some(2) && said.contains("the system starts no more threads"), "{args}: {said}");
    }
    let (code, _, said) = run("query f.malkoha -");
    assert!(code == Some(2) && said.contains("cannot open standard input"), "{said}");
}

#[test]
fn info_of_one_damaged_file_prints_no_list() {
    let scene = Scene::new("info-damaged");
    scene.write("damaged", "no filter");
    let ran = scene.run("info --json damaged");
    assert_eq!(ran.out, "");
    ran.fails(&["cannot use damaged as a filter"]);
    assert_eq!(scene.run("info --json damaged damaged").out, "[]\n");
}

#[test]
fn damaged_filters_are_refused_by_every_command() {
    let scene = Scene::new("damaged");
    scene.write("keys.txt", lines("key", 0..1000));
    scene.run("build -o f.malkoha keys.txt").ok();
    let sound = scene.read("f.malkoha");
    let mut flipped = sound.clone();
    flipped[sound.len() / 2] ^= 1;
    for (what, bytes) in [
        ("flipped", flipped),
        ("cut", sound[..sound.len() - 1].to_vec()),
        ("longer", [&sound[..], b"x"].concat()),
        ("empty", Vec::new()),
        ("text", b"this is no filter at all\n".repeat(100)),
    ] {
        let name = format!("{what}.malkoha");
        scene.write(&name, &bytes);
        for command in ["query", "add", "remove", "info", "verify"] {
            scene.run(&format!("{command} {name}")).fails(&[&name]);
        }
        assert!(scene.read(&name) == bytes, "{what}: a refused file is left as it is");
    }
}

#[test]
fn verify_checks_all_files_and_names_the_damaged_ones() {
    let scene = Scene::new("verify-all");
    scene.run_with("build -o sound.malkoha --keys 10", "owl\n").ok();
    scene.write("a.malkoha", "no filter");
    scene.write("b.malkoha", "no filter either");
    let ran = scene.run("verify a.malkoha sound.malkoha b.malkoha");
    assert!(ran.out.contains("sound.malkoha: sound"), "{ran}");
    ran.fails(&["2 of 3 files are not sound: a.malkoha, b.malkoha"]);
    // Nobody reads the list of sound files; damaged ones still count.
    let mut child = scene.spawn("verify sound.malkoha sound.malkoha a.malkoha");
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(2));
}

#[test]
fn what_is_no_filter_is_not_overwritten() {
    let scene = Scene::new("overwrite");
    let text = lines("key", 0..100);
    scene.write("keys.txt", &text);
    scene.write("other.txt", &text);
    scene.run("build -o keys.txt keys.txt").fails(&["keys.txt is an input", "-o"]);
    scene.run("build -o ./keys.txt other.txt").fails(&["is not a filter", "-o"]);
    let input = std::fs::File::open(scene.path("keys.txt")).unwrap();
    let output = scene.command("build --keys 100 -o keys.txt").stdin(input).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(scene.read("keys.txt") == text.as_bytes());
    scene.write("empty.malkoha", "");
    scene.run("build -o empty.malkoha keys.txt").ok();
    scene.run("build -o empty.malkoha other.txt").ok();
    scene.run("merge -o empty.malkoha empty.malkoha empty.malkoha").fails(&["is an input"]);
}

#[test]
fn standard_error_that_cannot_be_written_to_changes_nothing() {
    let Ok(full) = OpenOptions::new().write(true).open("/dev/full") else {
        println!("skipped: there is no /dev/full here");
        return;
    };
    let scene = Scene::new("stderr");
    scene.write("lines.txt", "owl\nowl\n");
    let run = |args: &str| {
        let output = scene.command(args).stderr(full.try_clone().unwrap()).output().unwrap();
        (output.status.code(), output.stdout)
    };
    assert_eq!(run("dedup lines.txt"), (Some(0), b"owl\n".to_vec()));
    assert_eq!(run("query nowhere.malkoha").0, Some(2));
}

#[test]
fn a_reader_that_stops_reading_is_no_error() {
    let scene = Scene::new("pipe");
    let members = lines("member", 0..200_000);
    scene.write("members.txt", &members);
    scene.run("build -o f.malkoha members.txt").ok();
    for args in ["query f.malkoha members.txt", "dedup --keys 200k members.txt", "man"] {
        let mut child = scene.spawn(args);
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{args}");
        assert!(output.stderr.is_empty(), "{args}: {}", String::from_utf8_lossy(&output.stderr));
    }
    // Also while the input is still open: nobody waits for its end.
    let mut child = scene.spawn("query f.malkoha -");
    drop(child.stdout.take());
    let mut input = child.stdin.take().unwrap();
    while child.try_wait().unwrap().is_none() {
        let _ = input.write_all(b"member 1\n");
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn output_without_room_is_an_error() {
    let Ok(full) = OpenOptions::new().write(true).open("/dev/full") else {
        println!("skipped: there is no /dev/full here");
        return;
    };
    let scene = Scene::new("full");
    scene.write("keys.txt", lines("key", 0..1000));
    scene.run("build -o f.malkoha keys.txt").ok();
    for args in [
        "query f.malkoha keys.txt",
        "query -c f.malkoha keys.txt",
        "dedup --keys 1k keys.txt",
        "plan --keys 1M --rate 1%",
    ] {
        let output = scene.command(args).stdout(full.try_clone().unwrap()).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{args}");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains("cannot write to standard output"), "{args}: {said}");
    }
}

/// A small file system in memory, where the machine lets us mount one.
struct SmallDisk(std::path::PathBuf);

impl SmallDisk {
    fn new(scene: &Scene) -> Option<Self> {
        let path = scene.path("small");
        std::fs::create_dir(&path).unwrap();
        let mount = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=64k", "tmpfs"])
            .arg(&path)
            .stderr(Stdio::null())
            .status();
        mount.is_ok_and(|status| status.success()).then_some(Self(path))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

#[test]
fn a_full_disk_leaves_the_old_filter_and_nothing_else() {
    let scene = Scene::new("disk");
    let Some(disk) = SmallDisk::new(&scene) else {
        println!("skipped: mounting is not allowed here");
        return;
    };
    scene.write("few.txt", lines("few", 0..10));
    scene.write("many.txt", lines("many", 0..100_000));
    scene.run("build -o small/f.malkoha few.txt").ok();
    let before = scene.read("small/f.malkoha");
    scene.run("build -o small/f.malkoha many.txt").fails(&["small/f.malkoha", "No space left"]);
    assert!(scene.read("small/f.malkoha") == before);
    assert_eq!(std::fs::read_dir(&disk.0).unwrap().count(), 1, "no temporary files");
    scene.run("plan --keys 1M --rate 1% --svg small/none/plan.svg").fails(&["small/none/plan.svg"]);
}
