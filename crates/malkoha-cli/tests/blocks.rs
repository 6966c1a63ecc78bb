//! Inputs that are read in many blocks and stored in many batches give the same answers as in one.

use crate::common::{Blocks, Scene, ends_by_itself, lines};
use std::collections::HashSet;
use std::io::Write;
use std::time::Duration;

/// Lines of all lengths around that of a block, empty ones and some repeated ones; the last has no line end.
fn text() -> String {
    let long = |length: usize| "x".repeat(length) + &length.to_string() + "\n";
    let around: String = (0..130).map(|i| long(i * 5)).collect();
    let all =
        [&lines("a", 0..300), "\n\n", &around, &long(5000), &lines("a", 200..400), "\n", &around, "last"];
    all.concat()
}

/// The first occurrence of every line.
fn first_occurrences(text: &str) -> String {
    let mut seen = HashSet::new();
    text.lines().filter(|line| seen.insert(*line)).flat_map(|line| [line, "\n"]).collect()
}

const BYTES: [usize; 5] = [1, 63, 64, 300, 4096];

#[test]
fn lines_that_cross_blocks_are_whole() {
    let scene = Scene::new("blocks");
    let text = text();
    let other = lines("b", 0..500);
    scene.write("text", &text);
    // The same with the line ends of other systems, the last of them missing.
    scene.write("returns", text.replace('\n', "\r\n"));
    scene.write("other", &other);
    scene.run("build -o whole.malkoha --keys 10k --rate 1e-9 text").ok();
    let whole = scene.read("whole.malkoha");
    for (bytes, threads) in BYTES.into_iter().flat_map(|bytes| [(bytes, 1), (bytes, 3)]) {
        let run =
            |args: &str| scene.run_in_blocks(Blocks::of_bytes(bytes), &format!("{args} -j {threads}"), "");
        let case = format!("blocks of {bytes} bytes, {threads} threads");
        for name in ["text", "returns"] {
            run(&format!("build -o f.malkoha --keys 10k --rate 1e-9 {name}")).ok();
            assert!(scene.read("f.malkoha") == whole, "{name}, {case}");
        }
        // Every printed line has an end, even the last of a file.
        assert!(run("query f.malkoha text other").ok() == text.clone() + "\n", "{case}");
        assert!(run("query -v f.malkoha text other").ok() == other, "{case}");
        assert!(
            run("dedup -q --keys 10k --rate 1e-9 text other text").ok() == first_occurrences(&text) + &other
        );
    }
}

#[test]
fn streams_are_read_as_files_are() {
    let scene = Scene::new("streams");
    let text = text();
    for bytes in BYTES {
        let ran = scene.run_in_blocks(Blocks::of_bytes(bytes), "dedup -q --keys 10k --rate 1e-9", &text);
        assert!(ran.ok() == first_occurrences(&text), "blocks of {bytes} bytes");
    }
}

#[test]
fn a_stream_that_is_idle_has_not_ended() {
    let scene = Scene::new("idle-stream");
    for threads in [1, 2] {
        let mut child = scene.spawn(&format!("dedup -q --keys 10k -j {threads} -"));
        let mut input = child.stdin.take().unwrap();
        for part in ["owl\nea", "gle\nowl\n", "cuckoo"] {
            std::thread::sleep(Duration::from_millis(250));
            input.write_all(part.as_bytes()).unwrap();
        }
        drop(input);
        let output = child.wait_with_output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), "owl\neagle\ncuckoo\n", "{threads} threads");
    }
}

#[test]
fn other_formats_cross_blocks_too() {
    let scene = Scene::new("block-formats");
    let sequence: String =
        (0..3000u32).map(|i| ['A', 'C', 'G', 'T', 'N'][(i * i % 31 % 5) as usize]).collect();
    let folded: Vec<_> = sequence.as_bytes().chunks(60).map(String::from_utf8_lossy).collect();
    scene.write("f.fa", format!(">name of it\n{}\n>second\nACGTACGTACGTAC", folded.join("\n")));
    scene.write("f.fq", format!("@read\n{sequence}\n+\n{}\n", "@".repeat(sequence.len())));
    scene.write("numbers", (0..2000u64).flat_map(u64::to_le_bytes).collect::<Vec<u8>>());
    scene.write("strings", lines("a\nb", 0..500).replace('\n', "\0"));
    for options in ["--kmer 5 f.fa", "--kmer 40 f.fq", "-f fasta f.fa", "-f u64 numbers", "-f nul strings"] {
        let build = |blocks: Blocks| {
            let said =
                scene.run_in_blocks(blocks, &format!("build --keys 10k -o f.malkoha {options}"), "").ok();
            // What was read, stored and skipped; the time differs.
            let facts: Vec<_> = said.lines().filter(|line| !line.starts_with("time")).collect();
            (facts.join("\n"), scene.read("f.malkoha"))
        };
        let whole = build(Blocks::default());
        for bytes in BYTES {
            assert!(build(Blocks::of_bytes(bytes)) == whole, "{options}, blocks of {bytes} bytes");
        }
    }
}

#[test]
fn batches_follow_from_the_input_alone() {
    let scene = Scene::new("batches");
    scene.write("keys.txt", [lines("key", 0..20_000), lines("key", 5000..15_000)].concat());
    let blocks = Blocks { bytes: Some(1000), keys: Some(700) };
    let mut filters = Vec::new();
    for threads in [1, 2, 5] {
        for options in ["--keys 20k", ""] {
            let args = format!("build {options} -j {threads} -o f.malkoha keys.txt");
            let said = scene.run_in_blocks(blocks, &args, "").ok();
            assert!(said.contains("30,000 read"), "{said}");
            assert_eq!(scene.run("query -c f.malkoha keys.txt").ok().trim(), "30000", "{args}");
            filters.push(scene.read("f.malkoha"));
        }
    }
    let (first, rest) = filters.split_at(2);
    assert!(rest.chunks(2).all(|filters| filters == first), "threads do not matter");
    let before = scene.read("f.malkoha");
    scene.write("more.txt", lines("more", 0..20_000));
    scene.run_in_blocks(blocks, "add f.malkoha more.txt", "").fails(&["no room for all of these keys"]);
    assert!(scene.read("f.malkoha") == before, "refused after some batches were stored");
}

#[test]
fn an_error_does_not_wait_for_an_input_that_is_idle() {
    let scene = Scene::new("idle-error");
    scene.run_with("build -o small.malkoha --keys 100", "owl\n").ok();
    let blocks = Blocks { bytes: None, keys: Some(1000) };
    for (command, said) in [
        ("dedup --keys 100 -j 2 -", "more different lines than --keys 100"),
        ("add -j 2 small.malkoha -", "no room for all of these keys"),
        ("add -j 1 small.malkoha -", "no room for all of these keys"),
        ("build -j 2 --keys 100 -o new.malkoha -", "more different keys than --keys 100"),
    ] {
        let mut child = blocks.spawn(scene.command(command));
        let mut input = child.stdin.take().unwrap();
        // It may end before it has read everything.
        let _ = input.write_all(lines("key", 0..5000).as_bytes());
        let status = ends_by_itself(&mut child);
        let output = child.wait_with_output().unwrap();
        let err = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(status.code(), Some(2), "{command}: {err}");
        assert!(err.contains(said), "{command}: {err}");
        drop(input);
    }
}
