//! Files from an attacker, and memory.
#![cfg(target_os = "linux")]

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::process::{Child, Stdio};

use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::common::{Blocks, Scene, lines};

/// Bytes of the header of a filter.
const HEADER: usize = 512;

/// Sets numbers of a header, given their offsets, and its checksum, which is returned.
fn forge(bytes: &mut [u8], numbers: &[(usize, u64)]) -> u64 {
    for (offset, number) in numbers {
        bytes[*offset..offset + 8].copy_from_slice(&number.to_le_bytes());
    }
    seal(&mut bytes[..HEADER], 0)
}

/// Sets the checksum of a section that follows one with the checksum `before`.
fn seal(section: &mut [u8], before: u64) -> u64 {
    let end = section.len() - 8;
    let checksum = xxh3_64_with_seed(&section[..end], before);
    section[end..].copy_from_slice(&checksum.to_le_bytes());
    checksum
}

/// The most bytes of memory that a running program has had; `None` if it has ended.
fn peak(child: &Child) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kib| 1024 * kib)
}

#[test]
fn a_forged_number_of_keys_does_not_spoil_a_bloom_filter() {
    let scene = Scene::new("forged-count");
    for kind in ["bloom", "blocked:1", "blocked:2"] {
        scene.run_with(&format!("build --kind {kind} -n 100 -o f.malkoha"), "owl\n").ok();
        let mut bytes = scene.read("f.malkoha");
        let checksum = forge(&mut bytes, &[(64, 1 << 62)]);
        seal(&mut bytes[HEADER..], checksum);
        scene.write("f.malkoha", bytes);
        scene.run("verify f.malkoha").ok();
        scene.run_with("add f.malkoha", lines("key", 0..50)).ok();
        scene.run("verify f.malkoha").ok();
        assert_eq!(scene.run_with("query f.malkoha", "owl\nkey 49\n").ok(), "owl\nkey 49\n", "{kind}");
    }
}

/// A header that promises a table of a gigabyte, and a file that has it, but as a hole.
#[test]
fn a_header_that_promises_much_is_refused_with_little_memory() {
    let scene = Scene::new("sparse");
    scene.run_with("build --kind bloom -n 100 -o small.malkoha", "owl\n").ok();
    let mut header = scene.read("small.malkoha")[..HEADER].to_vec();
    let table = (1u64 << 30) + 64;
    forge(&mut header, &[(256, 1 << 33), (80, table)]);
    let mut file = File::create(scene.path("large.malkoha")).unwrap();
    file.write_all(&header).unwrap();
    file.seek(SeekFrom::Start(0)).unwrap();
    file.set_len(HEADER as u64 + table + 64).unwrap();
    scene.write("reads.fa", ">a\nACGT\n");
    let commands = [
        "verify large.malkoha",
        "info large.malkoha",
        "query large.malkoha reads.fa",
        "add large.malkoha reads.fa",
        "remove large.malkoha reads.fa",
        "merge small.malkoha large.malkoha -o merged.malkoha",
        "merge large.malkoha small.malkoha -o merged.malkoha",
        "reads large.malkoha reads.fa",
        "classify large.malkoha reads.fa",
        "dedup --jsonl text --filter large.malkoha reads.fa",
    ];
    for command in commands {
        let mut child = scene.spawn(command);
        let mut most = 0;
        while child.try_wait().unwrap().is_none() {
            most = most.max(peak(&child).unwrap_or(0));
        }
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2));
        assert!(said.contains("table at byte 512: its checksum is"), "{said}");
        assert!((1..64 << 20).contains(&most), "{command} took {most} bytes");
    }
}

/// Builds a filter of many keys that waits for somebody to take it, and returns its size and the memory used.
fn memory_of_build(blocks: Blocks, options: &str) -> (u64, u64) {
    let scene = Scene::new("build-memory");
    let keys: Vec<u8> = (0..8_000_000u64).flat_map(u64::to_le_bytes).collect();
    scene.write("keys.u64", keys);
    let mut command = scene.command(&format!("build -q --format u64 {options} -o - keys.u64"));
    command.stderr(Stdio::null());
    let mut child = blocks.spawn(command);
    let (mut out, mut bytes) = (child.stdout.take().unwrap(), vec![0; 1]);
    out.read_exact(&mut bytes).unwrap();
    let most = peak(&child).unwrap();
    out.read_to_end(&mut bytes).unwrap();
    assert!(child.wait().unwrap().success());
    (bytes.len() as u64, most)
}

#[test]
fn a_build_takes_little_memory_beside_the_filter() {
    for options in ["-n 8M", "", "--copies"] {
        let (filter, most) = memory_of_build(Blocks::default(), options);
        assert!(most < filter + 64_000_000, "{options}: {most} bytes for a filter of {filter}");
    }
    // The measurement shows what larger batches would take.
    let (filter, most) = memory_of_build(Blocks { bytes: None, keys: Some(1 << 22) }, "-n 8M");
    assert!(most > filter + 64_000_000, "{most} bytes for a filter of {filter}");
}
