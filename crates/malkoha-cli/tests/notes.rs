//! What the program says although nobody asked: warnings, notes and tips. And inputs that are not there.

use crate::common::{Scene, lines};
use serde_json::Value;

#[test]
fn a_bloom_filter_with_more_keys_than_planned_is_announced() {
    let scene = Scene::new("overfilled");
    scene.write("planned.txt", lines("key", 0..3000));
    scene.write("more.txt", lines("more", 0..3000));
    let warns = |args: &str| {
        let ran = scene.run(args);
        assert!(ran.err.contains("malkoha: warning: "), "{args}: {ran}");
        assert!(ran.err.contains("instead of the promised 0.00100 (1 in 1,000)"), "{args}: {ran}");
        assert!(ran.err.contains("planned for 3,000"), "{args}: {ran}");
        assert_eq!(ran.code, Some(0), "{args}");
    };
    for kind in ["bloom", "blocked:1", "blocked:2"] {
        let ran = scene.run(&format!("build -q --kind {kind} -n 3k -o a.malkoha planned.txt"));
        assert!(ran.err.is_empty(), "{kind}: as many keys as planned: {ran}");
        let info = scene.run("info a.malkoha").ok();
        assert!(!info.contains("warning"), "{kind}: {info}");
        scene.run(&format!("build -q --kind {kind} -n 3k -o b.malkoha more.txt")).ok();
        warns("merge -q -o c.malkoha a.malkoha b.malkoha");
        warns("add -q a.malkoha more.txt");
        warns(&format!("build -q --kind {kind} -n 3k -o d.malkoha planned.txt more.txt"));
        warns(&format!("dedup -q --kind {kind} -n 3k --rate 0.1% planned.txt more.txt"));
        let info = scene.run("info a.malkoha").ok();
        assert!(info.lines().any(|line| line.starts_with("warning")), "{kind}: {info}");
        let info: Value = serde_json::from_str(&scene.run("info --json a.malkoha").ok()).unwrap();
        assert_eq!(info["promise_kept"], false, "{kind}");
    }
}

#[test]
fn a_large_stream_brings_a_tip() {
    let scene = Scene::new("tip");
    let said = scene.run_with("build -o f.malkoha -", lines("key", 0..1_200_000)).ok();
    let tip = said.lines().find(|line| line.starts_with("tip")).expect("there is a tip");
    let keys = tip.split("--keys ").nth(1).unwrap().split(':').next().unwrap();
    scene.run_with(&format!("build -q -o f.malkoha -n {keys} -"), lines("key", 0..1_200_000)).ok();
    assert!(!scene.run_with("build -o f.malkoha -", lines("key", 0..1000)).ok().contains("tip"));
}

#[test]
fn query_goes_on_after_an_input_that_cannot_be_read() {
    let scene = Scene::new("unreadable");
    scene.run_with("build -n 100 --rate 1e-9 -o f.malkoha", "owl\neagle\nwren\n").ok();
    scene.write("a.txt", "owl\nelephant\n");
    scene.write("b.txt", "eagle\n");
    // Compressed, and cut off in the middle.
    scene.write("cut.gz", [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3, 0x4A]);
    for threads in [1, 3] {
        let ran = scene.run(&format!("query -j {threads} f.malkoha a.txt nowhere.txt . cut.gz b.txt"));
        assert_eq!((ran.code, ran.out.as_str()), (Some(2), "owl\neagle\n"), "{ran}");
        for words in
            ["cannot open nowhere.txt: No such file", "cannot open .: Is a directory", "cannot read cut.gz"]
        {
            assert!(ran.err.contains(&format!("malkoha: {words}")), "{words}: {ran}");
        }
        let ran = scene.run(&format!("query -s -c -j {threads} f.malkoha nowhere.txt a.txt b.txt"));
        assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (Some(2), "2\n", ""));
    }
    // A filter that lacks keys would be wrong, so others end.
    scene.run("build -n 100 -o g.malkoha a.txt nowhere.txt").fails(&["nowhere.txt"]);
    scene.run("add f.malkoha a.txt nowhere.txt").fails(&["nowhere.txt"]);
    assert!(!scene.path("g.malkoha").exists());
}

#[test]
fn whole_keys_before_damage_are_asked() {
    let scene = Scene::new("partly");
    let text = lines("key", 0..100_000);
    scene.write("keys.txt", &text);
    scene.run("build --rate 1e-9 -o f.malkoha keys.txt").ok();
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    std::io::Write::write_all(&mut packed, text.as_bytes()).unwrap();
    let packed = packed.finish().unwrap();
    scene.write("cut.gz", &packed[..packed.len() / 2]);
    let ran = scene.run("query f.malkoha cut.gz");
    assert_eq!(ran.code, Some(2), "{ran}");
    assert!(ran.out.len() > 1000 && text.starts_with(&ran.out), "{ran}");
}

#[test]
fn a_difference_of_sets_says_what_it_lacks() {
    let scene = Scene::new("difference");
    scene.write("keys.txt", lines("key", 0..10_000));
    scene.write("others.txt", lines("other", 0..10_000));
    scene.run("build --rate 1% -o f.malkoha keys.txt").ok();
    let ran = scene.run("query -v -c f.malkoha others.txt keys.txt");
    let missing = 10_000 - ran.out.trim().parse::<u32>().unwrap();
    assert!(ran.err.contains("absent keys are missing"), "{ran}");
    let said: f64 = ran.err.split("about ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
    // About 95; four standard deviations are 39.
    assert!((said - f64::from(missing)).abs() < 39.0, "{missing} are missing: {ran}");
    assert!(scene.run("query -v -s -c f.malkoha others.txt").err.is_empty());
    assert!(scene.run("query -c f.malkoha others.txt").err.is_empty(), "nothing is missing there");
    let help = scene.run("help query").ok();
    assert!(help.contains("difference of two sets"), "{help}");
}

/// A file of sequences read as lines finds nothing, and nobody would know why.
#[test]
fn sequences_that_are_read_as_lines_are_noted() {
    let scene = Scene::new("sequences-as-lines");
    scene.write("genome.fa", ">chromosome\nACGTACGT\n");
    scene.write("reads.fq", "@read\nACGT\n+\nIIII\n");
    scene.write("mail.txt", ">you wrote\n>that\n");
    scene.run("build -n 10 -f fasta -o f.malkoha genome.fa").ok();
    for file in ["genome.fa", "reads.fq"] {
        let ran = scene.run(&format!("query f.malkoha {file}"));
        assert!(ran.err.contains(&format!("{file} looks like FASTA or FASTQ")), "{ran}");
        assert!(scene.run(&format!("build -n 10 -o g.malkoha {file}")).err.contains("--kmer"));
    }
    assert!(scene.run("query -s f.malkoha genome.fa").err.is_empty());
    for args in ["f.malkoha mail.txt", "-f lines f.malkoha genome.fa", "-f fasta f.malkoha genome.fa"] {
        let ran = scene.run(&format!("query {args}"));
        assert!(ran.err.is_empty(), "{args}: {ran}");
    }
}

#[test]
fn marks_of_encodings_are_noted() {
    let scene = Scene::new("marks");
    scene.write("mark.txt", "\u{FEFF}owl\ncrow\n");
    let ran = scene.run("build -o f.malkoha mark.txt");
    assert!(
        ran.err.contains("mark.txt begins with a byte order mark, which is part of its first key"),
        "{ran}"
    );
    scene.write("wide.txt", b"\xFF\xFEo\0w\0l\0\n\0");
    let ran = scene.run("query f.malkoha wide.txt");
    assert!(ran.err.contains("wide.txt looks like UTF-16"), "{ran}");
    assert!(!scene.run_with("query f.malkoha", "crow\n").err.contains("looks like"));
}

#[test]
fn text_that_is_read_as_integers_is_noted() {
    let scene = Scene::new("text-as-integers");
    let integers: Vec<u8> = (0..100u64).flat_map(u64::to_le_bytes).collect();
    scene.write("integers", &integers);
    // As many bytes as whole integers have, so that reading them succeeds.
    scene.write("text.txt", "1234567\n7654321\n");
    scene.run("build -n 100 -f u64 -o f.malkoha integers").ok();
    let ran = scene.run("query f.malkoha text.txt");
    assert!(
        ran.err.contains("text.txt looks like text, but every 8 bytes of it are read as an integer"),
        "{ran}"
    );
    assert!(scene.run("query -c f.malkoha integers").err.is_empty());
}

/// Files of version 1, and filters of other programs, do not tell what their keys are.
#[test]
fn keys_of_an_unknown_format_are_noted() {
    let scene = Scene::new("unknown-format");
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden");
    scene.write("old.malkoha", std::fs::read(format!("{folder}/v1/numbers.malkoha")).unwrap());
    scene.write("numbers.u64", std::fs::read(format!("{folder}/numbers.u64")).unwrap());
    let words = "old.malkoha does not tell what its keys are, so lines are";
    assert!(scene.run_with("query old.malkoha", "7\n").err.contains(words));
    assert!(scene.run_with("add old.malkoha", "").err.contains(words));
    let ran = scene.run("query -c -f u64 old.malkoha numbers.u64");
    assert!(ran.err.is_empty() && ran.out.trim() == "40", "{ran}");
}
