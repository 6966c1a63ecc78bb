//! Files say what their keys are: every command reads keys so, and refuses options that contradict.

use std::path::Path;

use crate::common::Scene;
use serde_json::Value;

type Golden = (&'static str, &'static str, &'static str, u32, &'static str, &'static str, Option<u32>);

/// The golden filters: name, input, the options that made them, how many keys of the input they find, what
/// `info` says that they hold, and their key format and k as JSON.
const GOLDEN: [Golden; 5] = [
    ("lines", "lines.txt", "", 40, "strings of bytes", "bytes", None),
    ("numbers", "numbers.u64", "--format u64", 40, "integers of 8 bytes", "u64", None),
    ("kmers-5", "words.fa", "--kmer 5", 168, "DNA words of length 5", "kmers", Some(5)),
    ("kmers-31", "words.fa", "--kmer 31", 90, "DNA words of length 31", "kmers", Some(31)),
    ("kmers-33", "words.fa", "--kmer 33", 88, "DNA words of length 33", "kmers", Some(33)),
];

/// A scene with the golden files: the inputs, and the filters of a version.
fn golden(name: &str, version: &str) -> Scene {
    let scene = Scene::new(name);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    for input in ["lines.txt", "numbers.u64", "words.fa"] {
        scene.write(input, std::fs::read(folder.join(input)).unwrap());
    }
    for (filter, ..) in GOLDEN {
        let file = format!("{filter}.malkoha");
        scene.write(&file, std::fs::read(folder.join(version).join(&file)).unwrap());
    }
    scene
}

fn info(scene: &Scene, file: &str) -> Value {
    serde_json::from_str(&scene.run(&format!("info --json {file}")).ok()).unwrap()
}

/// How many keys of an input a query prints.
fn count(scene: &Scene, args: &str) -> u32 {
    scene.run(&format!("query -s -c {args}")).out.trim().parse().unwrap()
}

#[test]
fn todays_program_writes_the_golden_files() {
    let scene = golden("golden-written", "v2-even");
    for (name, input, options, ..) in GOLDEN {
        for threads in [1, 2] {
            scene
                .run(&format!("build -j {threads} --keys 200 --rate 1e-6 {options} -o new.malkoha {input}"))
                .ok();
            assert!(scene.read("new.malkoha") == scene.read(&format!("{name}.malkoha")), "{name}");
        }
    }
}

#[test]
fn keys_are_read_as_the_file_says() {
    let scene = golden("golden-read", "v2");
    for (name, input, options, keys, holds, format, k) in GOLDEN {
        let file = format!("{name}.malkoha");
        assert_eq!(count(&scene, &format!("{file} {input}")), keys, "{name}");
        assert_eq!(count(&scene, &format!("{options} {file} {input}")), keys, "{name}");
        assert_eq!(count(&scene, &format!("-v {file} {input}")), 0, "{name}");
        let said = scene.run(&format!("info {file}")).ok();
        assert!(said.lines().any(|line| line.starts_with("holds") && line.ends_with(holds)), "{said}");
        let info = info(&scene, &file);
        assert_eq!((info["key_format"].as_str(), info["seed"].as_u64()), (Some(format), Some(0)), "{name}");
        assert_eq!(info["kmer"].as_u64(), k.map(u64::from), "{name}");
        scene.run(&format!("verify {file}")).ok();

        let before = scene.read(&file);
        assert!(scene.run(&format!("add {file} {input}")).ok().contains(" 0 stored"), "{name}");
        assert!(scene.read(&file) == before, "{name}: all of it was there");
        let said = scene.run(&format!("remove {file} {input}")).ok();
        assert!(said.contains(&format!("{keys} read")), "{name}: {said}");
        assert_eq!(count(&scene, &format!("{file} {input}")), 0, "{name}");
        scene.run(&format!("add {file} {input}")).ok();
        assert_eq!(count(&scene, &format!("{file} {input}")), keys, "{name}");
        assert_eq!(scene.read(&file)[8], 2, "{name}: it says still what its keys are");
    }
}

/// The program kept k in the seed when files had no other place for it, and said nothing of other keys.
#[test]
fn files_of_version_1_are_read_changed_and_stay_what_they_are() {
    let scene = golden("golden-v1", "v1");
    for (name, input, options, keys, holds, format, k) in GOLDEN {
        let file = format!("{name}.malkoha");
        // Which of the others are integers the file does not say.
        let needed = if k.is_some() { "" } else { options };
        assert_eq!(count(&scene, &format!("{needed} {file} {input}")), keys, "{name}");
        assert_eq!(count(&scene, &format!("{options} {file} {input}")), keys, "{name}");
        let (said, info) = (scene.run(&format!("info {file}")).ok(), info(&scene, &file));
        assert_eq!(said.contains(holds), k.is_some(), "{said}");
        assert_eq!(info["key_format"], if k.is_some() { format } else { "any" }, "{name}");
        assert_eq!(info["kmer"].as_u64(), k.map(u64::from), "{name}");
        scene.run(&format!("remove {needed} {file} {input}")).ok();
        scene.run(&format!("add {needed} {file} {input}")).ok();
        assert_eq!(count(&scene, &format!("{needed} {file} {input}")), keys, "{name}");
        assert_eq!(scene.read(&file)[8], 1, "{name}: older programs read it still");
    }
    scene.run("query --kmer 31 lines.malkoha words.fa").fails(&["lines.malkoha was not built with --kmer"]);
    scene.run("query --kmer 31 kmers-5.malkoha words.fa").fails(&[
        "DNA words of length 5",
        "DNA words of length 31",
        "leave out --kmer",
    ]);
}

#[test]
fn options_that_contradict_the_file_are_refused() {
    let scene = golden("contradicted", "v2");
    let (bytes, numbers, words) = ("strings of bytes", "integers of 8 bytes", "DNA words of length");
    let cases = [
        ("lines", "--format u64", bytes, numbers),
        ("lines", "--kmer 31", bytes, "DNA words of length 31"),
        ("numbers", "--format lines", numbers, bytes),
        ("numbers", "-f nul", numbers, bytes),
        ("numbers", "-f fasta", numbers, bytes),
        ("numbers", "-f fastq", numbers, bytes),
        ("numbers", "-k 5", numbers, "DNA words of length 5"),
        ("kmers-31", "--kmer 5", "DNA words of length 31", "DNA words of length 5"),
        ("kmers-31", "--format u64", words, numbers),
        ("kmers-31", "--format lines", words, bytes),
        ("kmers-31", "--format nul", words, bytes),
    ];
    for (name, option, held, asked) in cases {
        let file = format!("{name}.malkoha");
        let before = scene.read(&file);
        for command in ["query", "add", "remove"] {
            let advice = if option.contains("-k") { "leave out --kmer" } else { "leave out --format" };
            let ran = scene.run(&format!("{command} {option} {file} lines.txt"));
            assert!(ran.out.is_empty(), "{ran}");
            ran.fails(&[&file, held, asked, advice]);
        }
        assert!(scene.read(&file) == before, "{name} {option}");
    }
}

#[test]
fn options_that_the_file_leaves_open_are_taken() {
    let scene = golden("left-open", "v2");
    // What separates strings is not part of them.
    assert_eq!(
        scene.run_with("query -f nul lines.malkoha", "line 1\0line 77\0line 2").ok(),
        "line 1\0line 2\0"
    );
    assert_eq!(scene.run_with("query -f fasta lines.malkoha", ">x\nline 1\n>y\nACGT\n").ok(), "line 1\n");
    assert_eq!(count(&scene, "--format fasta kmers-31.malkoha words.fa"), 90);
    assert_eq!(count(&scene, "--format fasta --kmer 31 kmers-31.malkoha words.fa"), 90);
    scene.run("query --format fastq kmers-31.malkoha words.fa").fails(&["words.fa", "not FASTQ"]);
    let integers: Vec<u8> = [4u64, 5, 9].into_iter().flat_map(u64::to_le_bytes).collect();
    assert_eq!(scene.run_with("query -c numbers.malkoha", integers).ok().trim(), "2");
}

#[test]
fn sequences_and_strings_are_bytes() {
    let scene = golden("bytes", "v2");
    for (options, input) in [("-f fasta", "words.fa"), ("-f nul", "lines.txt"), ("-f lines", "lines.txt")] {
        scene.run(&format!("build --keys 100 {options} -o f.malkoha {input}")).ok();
        assert_eq!(info(&scene, "f.malkoha")["key_format"], "bytes", "{options}");
    }
    // Estimated and grown filters say it too.
    scene.run("build --kmer 31 -o f.malkoha words.fa").ok();
    assert_eq!(info(&scene, "f.malkoha")["kmer"], 31);
    scene.run_with("build -f u64 -o f.malkoha -", scene.read("numbers.u64")).ok();
    assert_eq!(info(&scene, "f.malkoha")["key_format"], "u64");
    assert_eq!(count(&scene, "f.malkoha numbers.u64"), 40);
}

#[test]
fn only_filters_of_equal_keys_are_merged() {
    let scene = golden("merged-formats", "v2");
    let old = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/v1");
    for name in ["lines", "numbers", "kmers-5"] {
        let bytes = std::fs::read(old.join(format!("{name}.malkoha"))).unwrap();
        scene.write(&format!("old-{name}.malkoha"), bytes);
    }
    let merge =
        |one: &str, other: &str| scene.run(&format!("merge -o all.malkoha {one}.malkoha {other}.malkoha"));
    for (one, other, words) in [
        ("lines", "numbers", ["key formats (bytes and u64)", "numbers.malkoha"]),
        ("lines", "kmers-5", ["key formats (bytes and kmers:5)", "kmers-5.malkoha"]),
        ("kmers-31", "kmers-5", ["key formats (kmers:31 and kmers:5)", "kmers-5.malkoha"]),
        ("kmers-5", "old-kmers-5", ["old-kmers-5.malkoha was built by an older version", "build it again"]),
        (
            "kmers-5",
            "old-lines",
            ["kmers-5.malkoha holds DNA words of length 5", "old-lines.malkoha was not"],
        ),
        (
            "old-lines",
            "kmers-5",
            ["kmers-5.malkoha holds DNA words of length 5", "old-lines.malkoha was not"],
        ),
        (
            "old-kmers-5",
            "old-lines",
            ["old-kmers-5.malkoha holds DNA words of length 5", "old-lines.malkoha"],
        ),
        ("old-kmers-5", "lines", ["old-kmers-5.malkoha was built by an older version", "lines.malkoha"]),
    ] {
        merge(one, other).fails(&words);
        assert!(!scene.files().contains(&"all.malkoha".to_owned()), "{one} and {other}");
    }
    for (one, other, format, version) in [
        ("lines", "lines", "bytes", 2),
        ("kmers-5", "kmers-5", "kmers", 2),
        ("old-lines", "lines", "bytes", 2),
        ("numbers", "old-numbers", "u64", 2),
        ("old-lines", "old-lines", "any", 1),
        ("old-kmers-5", "old-kmers-5", "kmers", 1),
    ] {
        merge(one, other).ok();
        let said = info(&scene, "all.malkoha");
        assert_eq!(said["key_format"], format, "{one} and {other}");
        assert_eq!(scene.read("all.malkoha")[8], version, "{one} and {other}");
    }
    assert_eq!(count(&scene, "all.malkoha words.fa"), 168);
}
