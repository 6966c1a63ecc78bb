//! Files of records and texts: their names and their permissions.

use crate::common::Scene;
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
