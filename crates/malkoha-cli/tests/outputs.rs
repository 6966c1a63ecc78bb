//! Files of records and texts: their names, their permissions, and whether they reach the disk.

use crate::common::{Scene, lines};
use std::fs;

/// Makes a filter of DNA words and a read that has none of them.
fn with_reads(name: &str) -> Scene {
    let scene = Scene::new(name);
    scene.write("genome.fa", ">g\nACGTTGCAACCGGTATATCGGCTAAGCTTAGGACCATA\n");
    scene.run("build -q --kmer 21 -o f.malkoha genome.fa").ok();
    scene.write("reads.fq", format!("@a\n{0}\n+\n{0}\n", "TTTTTTTTTTTTTTTTTTTTTTTTT"));
    scene
}

#[test]
fn a_name_in_capitals_compresses_too() {
    let scene = with_reads("capitals");
    scene.run("reads -q -v f.malkoha reads.fq -o out.fq.GZ").ok();
    assert_eq!(scene.read("out.fq.GZ")[..2], [0x1F, 0x8B]);
    fs::create_dir(scene.path("in")).unwrap();
    scene.write("in/A.JSONL", "{\"text\":\"owl\"}\n");
    scene.write("in/b.jsonl.Zst", "{\"text\":\"eagle\"}\n");
    scene.run("dedup -q --jsonl text -o out in").ok();
    assert_eq!(scene.read("out/A.JSONL"), b"{\"text\":\"owl\"}\n");
    assert_eq!(scene.read("out/b.jsonl.Zst")[..4], [0x28, 0xB5, 0x2F, 0xFD]);
}

#[cfg(unix)]
#[test]
fn a_file_that_is_replaced_keeps_its_permissions() {
    use std::os::unix::fs::PermissionsExt;

    let scene = with_reads("private");
    for mode in [0o600, 0o664] {
        fs::set_permissions(scene.write("out.fq", "old\n"), PermissionsExt::from_mode(mode)).unwrap();
        scene.run("reads -q -v f.malkoha reads.fq -o out.fq").ok();
        assert_eq!(scene.read("out.fq"), scene.read("reads.fq"));
        assert_eq!(scene.path("out.fq").metadata().unwrap().permissions().mode() & 0o777, mode);
    }
}

/// What a system does whose disk takes no more: all is well until the content must be on it.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const LATE: &str = r#"
use std::io::Write;

#[no_mangle]
pub extern "C" fn fsync(_: i32) -> i32 {
    // This sets errno.
    let _ = std::fs::File::create("/dev/full").and_then(|mut full| full.write(b"x"));
    -1
}
"#;

#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[test]
fn what_does_not_reach_the_disk_is_an_error_and_leaves_what_was_there() {
    use std::process::Command;

    let scene = with_reads("late");
    scene.write("late.rs", LATE);
    let compiler = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
    let compiled = Command::new(compiler)
        .args(["--edition=2021", "--crate-type=cdylib", "-o", "late.so", "late.rs"])
        .current_dir(scene.folder())
        .status();
    assert!(compiled.unwrap().success());
    let late = |args: &str| {
        let output = scene.command(args).env("LD_PRELOAD", scene.path("late.so")).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{args}: {said}");
        assert!(said.contains("No space left on device"), "{args}: {said}");
    };
    scene.write("keys.txt", lines("key", 0..100));
    scene.write("texts.jsonl", "{\"text\":\"owl\"}\n");
    scene.write("out.fq", "old\n");
    let before = scene.files();
    late("build -q -o new.malkoha keys.txt");
    late("reads -q -v f.malkoha reads.fq -o out.fq");
    late("reads -q -v f.malkoha reads.fq -o new.fq.gz");
    late("dedup -q --jsonl text -o tree --filter texts.malkoha texts.jsonl");
    assert_eq!(fs::read_dir(scene.path("tree")).unwrap().count(), 0);
    fs::remove_dir(scene.path("tree")).unwrap();
    assert_eq!(scene.files(), before);
    assert_eq!(scene.read("out.fq"), b"old\n");
    // Pipes have no disk.
    let mut piped = scene.command("reads -q -v f.malkoha reads.fq");
    assert_eq!(piped.env("LD_PRELOAD", scene.path("late.so")).output().unwrap().status.code(), Some(0));
}

/// Nobody can create files in `/proc`, not even the superuser.
#[cfg(target_os = "linux")]
#[test]
fn a_folder_that_takes_no_file_is_told_before_any_work() {
    let scene = Scene::new("before-work");
    scene.run_with("build -q -o f.malkoha --keys 10", "owl\n").ok();
    let told = ["/proc/f.malkoha", "nothing was written"];
    scene.run("build -o /proc/f.malkoha nowhere.txt").fails(&told);
    scene.run("merge -o /proc/f.malkoha f.malkoha nowhere.malkoha").fails(&told);
    scene.run_with("dedup --jsonl text --filter /proc/f.malkoha", "{").fails(&told);
}
