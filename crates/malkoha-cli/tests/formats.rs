//! Inputs of every format and compression.

use crate::common::{Scene, lines};
use std::io::Write;

/// Compression formats.
#[derive(Clone, Copy, Debug)]
enum Form {
    Gzip,
    Zstd,
    Xz,
    Bzip2,
}

impl Form {
    /// Compresses a text with the crates that the program reads it with.
    fn of(self, text: &str) -> Vec<u8> {
        let text = text.as_bytes();
        match self {
            Self::Gzip => {
                let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
                out.write_all(text).unwrap();
                out.finish().unwrap()
            }
            Self::Zstd => {
                ruzstd::encoding::compress_to_vec(text, ruzstd::encoding::CompressionLevel::Fastest)
            }
            Self::Xz => {
                let options = lzma_rust2::XzOptions::with_preset(1);
                let mut out = lzma_rust2::XzWriter::new(Vec::new(), options).unwrap();
                out.write_all(text).unwrap();
                out.finish().unwrap()
            }
            Self::Bzip2 => {
                let mut out = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
                out.write_all(text).unwrap();
                out.finish().unwrap()
            }
        }
    }
}

#[test]
fn compression_is_recognised_by_content() {
    let scene = Scene::new("compressed");
    let (first, second) = (lines("first", 0..30_000), lines("second", 0..10));
    scene.write("first.txt", &first);
    scene.write("second.txt", &second);
    scene.run("build -o f.malkoha first.txt second.txt").ok();
    for form in [Form::Gzip, Form::Zstd, Form::Xz, Form::Bzip2] {
        let (a, b) = (form.of(&first), form.of(&second));
        assert!(a.len() < first.len() / 2, "{form:?} compresses");
        // Two members in one file, as bgzip and cat make them; the name has no extension.
        scene.write("keys", [a.clone(), b].concat());
        scene.run("build -o g.malkoha keys").ok();
        assert!(scene.read("f.malkoha") == scene.read("g.malkoha"), "{form:?}");
        let asked = scene.run_with("query -c f.malkoha", &a).ok();
        assert_eq!(asked.trim(), "30000", "{form:?} from standard input");
        scene.write("cut", &a[..a.len() / 2]);
        scene.run("build -o h.malkoha cut").fails(&["cannot read cut"]);
        let mut damaged = a.clone();
        damaged[a.len() / 2] ^= 0x10;
        scene.write("damaged", damaged);
        scene.run("build -o h.malkoha damaged").fails(&["cannot read damaged"]);
    }
    assert!(!scene.files().contains(&"h.malkoha".to_owned()));
}

#[test]
fn nul_and_u64_keys() {
    let scene = Scene::new("nul");
    scene.run_with("build -o f.malkoha --format nul --keys 10 --rate 1e-9", "a\nb\0c\0").ok();
    assert_eq!(scene.run_with("query --format nul f.malkoha", "c\0d\0a\nb").ok(), "c\0a\nb\0");
    let numbers = |range: std::ops::Range<u64>| range.flat_map(u64::to_le_bytes).collect::<Vec<u8>>();
    scene.run_with("build -o n.malkoha --format u64 --keys 1000 --rate 1e-9", numbers(0..1000)).ok();
    assert_eq!(scene.run_with("query -c --format u64 n.malkoha", numbers(500..1500)).ok().trim(), "500");
    let odd = [numbers(0..3), vec![1, 2, 3]].concat();
    scene.write("odd", odd);
    scene
        .run("query --format u64 n.malkoha odd")
        .fails(&["odd", "not a whole number of integers of 8 bytes"]);
}

#[test]
fn lines_of_other_systems_and_without_an_end() {
    let scene = Scene::new("ends");
    scene.run_with("build -o f.malkoha --keys 10 --rate 1e-9", "owl\r\neagle").ok();
    scene.write("a.txt", "eagle");
    scene.write("b.txt", "owl\n\n");
    assert_eq!(scene.run("query f.malkoha a.txt b.txt").ok(), "eagle\nowl\n");
}

/// Letters that look random but are always the same.
fn dna(length: usize, mut state: u64) -> String {
    let letter = |_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ['A', 'C', 'G', 'T'][(state >> 62) as usize]
    };
    (0..length).map(letter).collect()
}

#[test]
fn dna_words_of_fasta_and_fastq() {
    let scene = Scene::new("dna");
    let genome = dna(300_000, 1);
    let folded: Vec<_> = genome.as_bytes().chunks(70).map(|line| String::from_utf8_lossy(line)).collect();
    scene.write("genome.fa", format!(">chromosome\n{}\n>short\nACGT\n>gap\nACGTNACGT\n", folded.join("\n")));
    let reverse: String = genome
        .chars()
        .rev()
        .map(|c| match c {
            'A' => 'T',
            'C' => 'G',
            'G' => 'C',
            _ => 'A',
        })
        .collect();
    scene.write("read.fq", format!("@read\n{reverse}\n+\n{}\n", "I".repeat(reverse.len())));
    for k in [5, 31, 57] {
        scene.run(&format!("build -o f.malkoha --kmer {k} --rate 1e-6 genome.fa")).ok();
        let words = (genome.len() + 1 - k).to_string();
        // k is in the file and need not be repeated. The other strand has the same words.
        assert_eq!(scene.run("query -c f.malkoha read.fq").ok().trim(), words, "k = {k}");
        let absent = scene.run("query -v -c f.malkoha genome.fa").out;
        assert_eq!(absent.trim(), "0", "k = {k}");
    }
    assert!(scene.run("info f.malkoha").ok().contains("DNA words of length 57"));
    scene.run("query --kmer 31 f.malkoha genome.fa").fails(&[
        "DNA words of length 57",
        "DNA words of length 31",
        "leave out --kmer",
    ]);
    let said = scene.run("build -o g.malkoha --kmer 5 genome.fa").ok();
    assert!(said.contains("5 words with letters other than ACGT"), "{said}");
    let asked = scene.run("query -c g.malkoha genome.fa");
    assert!(asked.err.contains("skipped 5 words"), "{}", asked.err);
    let strangers = format!(">other\n{}\n", dna(300_000, 2));
    let wrong: u32 = scene.run_with("query -c f.malkoha", strangers).out.trim().parse().unwrap();
    assert!(wrong < 10, "{wrong} of 300,000 at a rate of 1e-6");
}

#[test]
fn sequences_are_keys_where_no_words_are_asked_for() {
    let scene = Scene::new("sequences");
    scene.run_with("build -o f.malkoha --keys 10 --rate 1e-9 -f fasta", ">a\nACG\nT\n>b\nGG\n").ok();
    assert_eq!(
        scene.run_with("query -f fastq f.malkoha", "@x\nACGT\n+\nIIII\n@y\nCC\n+\nII\n").ok(),
        "ACGT\n"
    );
}

#[test]
fn wrong_formats_are_named() {
    let scene = Scene::new("wrong");
    scene.write("words.txt", "owl\neagle\n");
    scene.run("build -o f.malkoha -f fasta words.txt").fails(&["words.txt", "not FASTA", "--format"]);
    scene.run("build -o f.malkoha -f fastq words.txt").fails(&["words.txt", "line 1 is not FASTQ"]);
    scene.run("build -o f.malkoha --kmer 31 words.txt").fails(&["words.txt", "neither FASTA", "nor FASTQ"]);
    scene.run("build -o f.malkoha --kmer 31 -f lines words.txt").fails(&["--kmer takes sequences"]);
    scene.run("build -o f.malkoha --kmer 0 words.txt").fails(&["--kmer"]);
    scene.run("build -o f.malkoha -f poem words.txt").fails(&["poem", "lines"]);
    assert_eq!(scene.files(), ["words.txt"]);
}
