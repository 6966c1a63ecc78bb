//! `reads`: whole records, kept or discarded exactly as a model with sets of words says.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::process::Stdio;

use crate::common::{Blocks, Scene, ends_by_itself};

/// Letters as good as random.
pub(crate) struct Letters(pub(crate) u64);

impl Letters {
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }

    pub(crate) fn sequence(&mut self, length: usize) -> String {
        (0..length).map(|_| ['A', 'C', 'G', 'T'][self.below(4) as usize]).collect()
    }
}

/// The smaller of a word and its reverse complement.
pub(crate) fn canonical(word: &str) -> String {
    let complement = |letter| match letter {
        'A' => 'T',
        'C' => 'G',
        'G' => 'C',
        _ => 'A',
    };
    let reverse: String = word.chars().rev().map(complement).collect();
    reverse.min(word.to_owned())
}

/// All words of a sequence, run by run.
fn runs(sequence: &str, k: usize) -> Vec<Vec<String>> {
    let upper = sequence.to_uppercase();
    let runs = upper.split(|letter| !"ACGT".contains(letter));
    let words = |run: &str| {
        (0..(run.len() + 1).saturating_sub(k)).map(|at| canonical(&run[at..at + k])).collect::<Vec<_>>()
    };
    runs.map(words).collect()
}

pub(crate) fn words(sequence: &str, k: usize) -> Vec<String> {
    runs(sequence, k).concat()
}

/// The minimizers of a sequence, as docs/FORMAT.md defines them.
fn minimizers(sequence: &str, k: usize, w: usize) -> Vec<String> {
    let rank = |word: &String| {
        let number = word.chars().fold(0u64, |n, letter| 4 * n + "ACGT".find(letter).unwrap() as u64);
        (number ^ 0x2D35_8DCC_AA6C_78A5).wrapping_mul(0x9E37_79B9_7F4A_7C15) % (1 << 62)
    };
    let mut all = Vec::new();
    for run in runs(sequence, k).into_iter().filter(|run| !run.is_empty()) {
        let firsts =
            run.windows(w.min(run.len())).map(|window| window.iter().min_by_key(|word| rank(word)).unwrap());
        let mut firsts: Vec<String> = firsts.cloned().collect();
        firsts.dedup();
        all.extend(firsts);
    }
    all
}

/// A read with its name and sequence.
#[derive(Clone, Debug)]
pub(crate) struct Read {
    pub(crate) name: String,
    pub(crate) sequence: String,
}

impl Read {
    pub(crate) fn fastq(&self) -> String {
        let quality = "@+I#"[..].chars().cycle().take(self.sequence.len()).collect::<String>();
        format!("@{}\n{}\n+\n{quality}\n", self.name, self.sequence)
    }

    /// The same over several lines.
    fn fasta(&self) -> String {
        let mut text = format!(">{}\n", self.name);
        for line in self.sequence.as_bytes().chunks(31) {
            writeln!(text, "{}", std::str::from_utf8(line).unwrap()).unwrap();
        }
        text
    }
}

pub(crate) fn fastq(reads: &[Read]) -> String {
    reads.iter().map(Read::fastq).collect()
}

/// A genome, and reads: pieces of it with errors, in either case and on either strand, other sequences, with N's, empty
/// ones, and ones shorter than words.
pub(crate) fn genome_and_reads(count: usize) -> (String, Vec<Read>) {
    let mut letters = Letters(count as u64);
    let genome = letters.sequence(20_000);
    let reads = (0..count).map(|number| {
        let length = [0, 5, 20, 21, 40, 100, 150, 151, 300][letters.below(9) as usize];
        let mut sequence = match letters.below(5) {
            0 => letters.sequence(length),
            1 => {
                // Half of it is from elsewhere.
                let begin = letters.below(19_000) as usize;
                genome[begin..begin + length / 2].to_owned() + &letters.sequence(length - length / 2)
            }
            _ => {
                let begin = letters.below(19_000) as usize;
                genome[begin..begin + length].to_owned()
            }
        };
        for _ in 0..letters.below(4) {
            if length > 0 {
                let at = letters.below(length as u64) as usize;
                sequence.replace_range(at..=at, ["A", "N", "t", "g", "-"][letters.below(5) as usize]);
            }
        }
        match letters.below(4) {
            0 => sequence = sequence.to_lowercase(),
            1 => {
                let complement = |letter: char| match letter {
                    'A' => 'T',
                    'C' => 'G',
                    'G' => 'C',
                    'T' => 'A',
                    other => other,
                };
                sequence = sequence.chars().rev().map(complement).collect();
            }
            _ => {}
        }
        Read { name: format!("read {number}"), sequence }
    });
    let reads = reads.collect();
    (genome, reads)
}

/// What `--at-least` asks for.
#[derive(Clone, Copy)]
enum AtLeast {
    Count(usize),
    Percent(usize),
}

impl AtLeast {
    fn text(self) -> String {
        match self {
            Self::Count(count) => count.to_string(),
            Self::Percent(percent) => format!("{percent}%"),
        }
    }

    fn holds(self, found: usize, all: usize) -> bool {
        match self {
            Self::Count(count) => found >= count,
            Self::Percent(percent) => found >= 1 && 100 * found >= percent * all,
        }
    }
}

/// The reads, each alone or several together, that match by an exact set of words.
fn matching(
    units: &[&[Read]],
    set: &HashSet<String>,
    of: &dyn Fn(&str) -> Vec<String>,
    least: AtLeast,
) -> Vec<bool> {
    let matches = |unit: &&[Read]| {
        let words: Vec<String> = unit.iter().flat_map(|read| of(&read.sequence)).collect();
        least.holds(words.iter().filter(|word| set.contains(*word)).count(), words.len())
    };
    units.iter().map(matches).collect()
}

const LEAST: [AtLeast; 5] = [
    AtLeast::Count(1),
    AtLeast::Count(30),
    AtLeast::Percent(10),
    AtLeast::Percent(60),
    AtLeast::Percent(100),
];

/// At this rate, no word is found by chance among those of a test.
const RATE: &str = "--rate 1e-9";

#[test]
fn records_are_kept_or_discarded_as_a_set_says() {
    let scene = Scene::new("reads-model");
    let (genome, reads) = genome_and_reads(700);
    scene.write("genome.fa", format!(">g\n{genome}\n"));
    scene.write("reads.fq", fastq(&reads));
    scene.write("reads.fa", reads.iter().map(Read::fasta).collect::<String>());
    let units: Vec<&[Read]> = reads.chunks(1).collect();
    for k in [21, 31, 33] {
        scene.run(&format!("build -q --kmer {k} {RATE} -o f.malkoha genome.fa")).ok();
        let set: HashSet<String> = words(&genome, k).into_iter().collect();
        for least in LEAST {
            let matches = matching(&units, &set, &|read| words(read, k), least);
            assert!(matches.contains(&true) && matches.contains(&false));
            for (option, keep) in [("", true), ("-v", false)] {
                let kept =
                    reads.iter().zip(&matches).filter(|(_, matches)| **matches == keep).map(|(read, _)| read);
                let kept: Vec<&Read> = kept.collect();
                let options = format!("{option} --at-least {}", least.text());
                let got = scene.run(&format!("reads -q {options} f.malkoha reads.fq")).ok();
                assert!(got == kept.iter().map(|read| read.fastq()).collect::<String>(), "k = {k} {options}");
                let got = scene.run(&format!("reads -q {options} f.malkoha reads.fa")).ok();
                assert!(got == kept.iter().map(|read| read.fasta()).collect::<String>(), "k = {k} {options}");
                let count = scene.run(&format!("reads -c {options} f.malkoha reads.fq")).ok();
                assert_eq!(count.trim(), kept.len().to_string());
                scene.run(&format!("reads --totals {options} f.malkoha reads.fq -o kept.fq")).ok();
                let got = scene.read("kept.fq");
                assert!(got == kept.iter().map(|read| read.fastq()).collect::<String>().into_bytes());
            }
        }
    }
}

#[test]
fn long_records_are_asked_in_parts() {
    let scene = Scene::new("reads-long");
    let mut letters = Letters(3);
    let genome = letters.sequence(200_000);
    scene.write("genome.fa", format!(">g\n{genome}\n"));
    scene.run(&format!("build -q --kmer 31 {RATE} -o f.malkoha genome.fa")).ok();
    let set: HashSet<String> = words(&genome, 31).into_iter().collect();
    // What the filter holds is at the end, behind more than it is asked at a time, and N's are in between.
    let sequence =
        [&letters.sequence(150_000), "NN", &letters.sequence(20), &"N".repeat(300), &genome].concat();
    let short = Read { name: "short".to_owned(), sequence: genome[..100].to_owned() };
    let long = Read { name: "long".to_owned(), sequence };
    let reads = [short.clone(), long.clone(), short.clone(), long];
    scene.write("reads.fa", reads.iter().map(Read::fasta).collect::<String>());
    scene.write("reads.fq", fastq(&reads));
    let of = |reads: &[Read]| reads.iter().flat_map(|read| words(&read.sequence, 31)).collect::<Vec<_>>();
    let found = |reads: &[Read]| of(reads).iter().filter(|word| set.contains(*word)).count();
    let (in_long, in_pair) = (found(&reads[1..2]), found(&reads[..2]));
    for file in ["reads.fa", "reads.fq"] {
        let count =
            |options: &str| scene.run(&format!("reads -c {options} f.malkoha {file}")).ok().trim().to_owned();
        for (least, kept) in [(70, 4), (71, 2), (in_long, 2), (in_long + 1, 0)] {
            assert_eq!(count(&format!("-a {least}")), kept.to_string(), "{file}, at least {least}");
        }
        for (least, kept) in [(in_pair, 4), (in_pair + 1, 0)] {
            assert_eq!(count(&format!("-a {least} --interleaved")), kept.to_string(), "{file}, {least}");
        }
        let report: serde_json::Value =
            serde_json::from_str(&scene.run(&format!("reads -c --totals --json f.malkoha {file}")).ok())
                .unwrap();
        assert_eq!(report["words"], of(&reads).len(), "{file}");
        assert_eq!(report["words_found"], found(&reads), "{file}");
    }
}

#[test]
fn long_records_may_come_in_any_number() {
    let scene = Scene::new("reads-many-long");
    scene.write("genome.fa", ">g\nGATTACAGATTACAG\n");
    scene.run("build -q --kmer 15 -o f.malkoha genome.fa").ok();
    // Together, each list is longer than the longest record, which has 256 MiB.
    for megabytes in [vec![5; 55], vec![200, 70]] {
        let (mut command, records) = (scene.command("reads -v -c f.malkoha"), megabytes.len());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let writer = std::thread::spawn(move || {
            // Nothing is looked for in names, so this takes no time.
            let part = vec![b'-'; 1 << 20];
            for length in megabytes {
                stdin.write_all(b">")?;
                (0..length).try_for_each(|_| stdin.write_all(&part))?;
                stdin.write_all(b"\nGATTACA\n")?;
            }
            Ok::<_, std::io::Error>(())
        });
        let output = child.wait_with_output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), format!("{records}\n"));
        writer.join().unwrap().unwrap();
    }
}

#[test]
fn minimizers_are_asked_and_stored() {
    let scene = Scene::new("reads-minimizers");
    let (genome, reads) = genome_and_reads(500);
    // Several sequences, some of them shorter than a window, and N's.
    let pieces: Vec<&str> =
        [0, 7000, 7010, 7040, 7090, 20_000].windows(2).map(|cut| &genome[cut[0]..cut[1]]).collect();
    let pieces: Vec<String> = pieces.iter().map(|piece| piece.replace("ACGTA", "ACNTA")).collect();
    let fasta = pieces.iter().map(|piece| format!(">p\n{piece}\n")).collect::<Vec<_>>().concat();
    scene.write("genome.fa", fasta);
    scene.write("reads.fq", fastq(&reads));
    let units: Vec<&[Read]> = reads.chunks(1).collect();
    for (k, w) in [(21, 11), (31, 15), (5, 40), (15, 1)] {
        let of = |read: &str| minimizers(read, k, w);
        let set: HashSet<String> = pieces.iter().flat_map(|piece| of(piece)).collect();
        let all: HashSet<String> = pieces.iter().flat_map(|piece| words(piece, k)).collect();
        scene.run(&format!("build -q --kmer {k} {RATE} -o all.malkoha genome.fa")).ok();
        for blocks in [None, Some(40), Some(1000)] {
            let blocks = Blocks { bytes: blocks, keys: None };
            let build = format!("build --json --kmer {k} --minimizers {w} {RATE} -o min.malkoha genome.fa");
            let report: serde_json::Value =
                serde_json::from_str(&scene.run_in_blocks(blocks, &build, "").ok()).unwrap();
            let read: usize = pieces.iter().map(|piece| of(piece).len()).sum();
            assert_eq!(
                (report["keys_read"].as_u64(), report["keys"].as_u64()),
                (Some(read as u64), Some(set.len() as u64))
            );
            assert_eq!(
                (report["kmer"].as_u64(), report["window"].as_u64()),
                (Some(k as u64), Some(w as u64))
            );
        }
        for least in LEAST {
            for (filter, option, set) in
                [("min", String::new(), &set), ("all", format!("--minimizers {w}"), &all)]
            {
                let matches = matching(&units, set, &of, least);
                let kept =
                    reads.iter().zip(&matches).filter(|(_, matches)| **matches).map(|(read, _)| read.fastq());
                let got = scene
                    .run(&format!("reads -q {option} -a {} {filter}.malkoha reads.fq", least.text()))
                    .ok();
                assert!(
                    got == kept.collect::<String>(),
                    "k = {k}, w = {w}, {filter}, at least {}",
                    least.text()
                );
            }
        }
    }
}

#[test]
fn pairs_are_one_unit_and_stay_together() {
    let scene = Scene::new("reads-pairs");
    let (genome, reads) = genome_and_reads(600);
    scene.write("genome.fa", format!(">g\n{genome}\n"));
    scene.run(&format!("build -q --kmer 21 {RATE} -o f.malkoha genome.fa")).ok();
    let set: HashSet<String> = words(&genome, 21).into_iter().collect();
    let pairs: Vec<&[Read]> = reads.chunks(2).collect();
    let side = |side: usize| pairs.iter().map(|pair| pair[side].clone()).collect::<Vec<_>>();
    scene.write("1.fq", fastq(&side(0)));
    scene.write("2.fq", fastq(&side(1)).replace('\n', "\r\n"));
    // Mates may have another format.
    scene.write("2.fa", side(1).iter().map(Read::fasta).collect::<String>());
    scene.write("both.fq", fastq(&reads));
    for least in LEAST {
        let matches = matching(&pairs, &set, &|read| words(read, 21), least);
        let of = |side: usize| {
            let kept = pairs.iter().zip(&matches).filter(|(_, matches)| **matches);
            kept.map(|(pair, _)| pair[side].fastq()).collect::<String>()
        };
        let together =
            pairs.iter().zip(&matches).filter(|(_, matches)| **matches).map(|(pair, _)| fastq(pair));
        let together: String = together.collect();
        let least = least.text();
        for bytes in [None, Some(300), Some(7)] {
            let run = |args: &str| {
                let args = format!("reads -q -a {least} f.malkoha {args}");
                scene.run_in_blocks(Blocks { bytes, keys: None }, &args, "").ok()
            };
            assert!(run("--interleaved both.fq") == together, "at least {least}, {bytes:?}");
            run("1.fq -2 2.fq -o kept1.fq -O kept2.fq");
            assert!(scene.read("kept1.fq") == of(0).into_bytes(), "at least {least}, {bytes:?}");
            assert!(
                scene.read("kept2.fq") == of(1).replace('\n', "\r\n").into_bytes(),
                "at least {least}, {bytes:?}"
            );
            run("1.fq -2 2.fa -o kept1.fq -O kept2.fa");
            assert!(scene.read("kept1.fq") == of(0).into_bytes());
            run("--interleaved both.fq -o kept1.fq -O kept2.fq");
            assert!(
                scene.read("kept1.fq") == of(0).into_bytes() && scene.read("kept2.fq") == of(1).into_bytes()
            );
            assert!(run("1.fq -2 2.fq").replace('\r', "") == together);
        }
    }
}

#[test]
fn unequal_pairs_are_refused() {
    let scene = Scene::new("reads-unequal");
    let (genome, reads) = genome_and_reads(30);
    scene.write("genome.fa", format!(">g\n{genome}\n"));
    scene.run("build -q --kmer 21 -o f.malkoha genome.fa").ok();
    scene.write("all.fq", fastq(&reads));
    scene.write("29.fq", fastq(&reads[..29]));
    scene.write("none.fq", "");
    scene.write("blank.fq", fastq(&reads).replace("@read 7\n", "\n\n@read 7\n") + "\n\n\n");
    for bytes in [None, Some(50)] {
        let run = |args: &str| {
            scene.run_in_blocks(Blocks { bytes, keys: None }, &format!("reads f.malkoha {args}"), "")
        };
        run("all.fq -2 29.fq -o x.fq").fails(&["all.fq has more records than 29.fq"]);
        run("29.fq -2 all.fq -o x.fq").fails(&["all.fq has more records than 29.fq"]);
        run("all.fq -2 none.fq -o x.fq").fails(&["all.fq has more records than none.fq"]);
        run("all.fq 29.fq -2 29.fq -2 all.fq -o x.fq").fails(&["all.fq has more records than 29.fq"]);
        run("--interleaved 29.fq -o x.fq").fails(&["29.fq: record 30", "no mate"]);
        run("all.fq -2 blank.fq -o x.fq").ok();
        run("all.fq 29.fq -2 all.fq -2 29.fq -o x.fq").ok();
        run("none.fq -2 none.fq -o x.fq").ok();
    }
    scene.run("reads f.malkoha all.fq -2 all.fq -2 all.fq").fails(&["1 file of reads and 2 files of mates"]);
    scene.run("reads f.malkoha all.fq -O x.fq").fails(&["--out"]);
    scene.run("reads f.malkoha all.fq -o x.fq -O y.fq").fails(&["-O is for the mates"]);
    scene.run("reads - - ").fails(&["standard input can be only one"]);
    assert_eq!(scene.files().iter().filter(|name| name.ends_with(".partial")).count(), 0);
}

#[test]
fn blocks_threads_and_compression_change_nothing() {
    let scene = Scene::new("reads-blocks");
    let (genome, reads) = genome_and_reads(400);
    scene.write("genome.fa", format!(">g\n{genome}\n"));
    scene.run("build -q --kmer 21 -o f.malkoha genome.fa").ok();
    // Empty lines between records are harmless, and a line end after the last may be missing.
    let text = fastq(&reads).replace("@read 9\n", "\n\n\n@read 9\n") + "\n\n";
    scene.write(
        "reads.fq",
        text.trim_end_matches('\n').to_owned() + if reads[399].sequence.is_empty() { "\n" } else { "" },
    );
    let expected = scene.run("reads -q -j 1 f.malkoha reads.fq").ok();
    assert!(!expected.is_empty() && expected.len() < text.len());
    for bytes in [1, 3, 50, 1000, 100_000] {
        for threads in [1, 2, 5] {
            let blocks = Blocks::of_bytes(bytes);
            let got =
                scene.run_in_blocks(blocks, &format!("reads -q -j {threads} f.malkoha reads.fq"), "").ok();
            assert!(got == expected, "blocks of {bytes}, {threads} threads");
        }
    }
    for end in ["gz", "zst", "bz2", "xz"] {
        for bytes in [None, Some(500)] {
            let run = |args: &str| scene.run_in_blocks(Blocks { bytes, keys: None }, args, "").ok();
            run(&format!("reads -q f.malkoha reads.fq -o kept.fq.{end}"));
            assert!(scene.read(&format!("kept.fq.{end}")) != expected.as_bytes());
            // All of them match again, also compressed.
            assert!(run(&format!("reads -q f.malkoha kept.fq.{end}")) == expected, "{end}");
        }
    }
    assert!(scene.run_with("reads -q f.malkoha", &text).ok() == expected, "standard input");
    scene.run("reads -q f.malkoha reads.fq -o /dev/null").ok();
    assert!(!std::path::Path::new("/dev/null").is_file());
}

#[test]
fn empty_inputs_have_empty_outputs() {
    let scene = Scene::new("reads-empty");
    scene.write("genome.fa", ">g\nACGTTGCAACCGGTATATCGGCTAAGCTTAGGACCATA\n");
    scene.run("build -q --kmer 21 -o f.malkoha genome.fa").ok();
    scene.write("empty.fq", "");
    scene.write("blank.fq", "\n\n\n");
    for input in ["empty.fq", "blank.fq"] {
        for option in ["", "-v"] {
            assert_eq!(scene.run(&format!("reads -q {option} f.malkoha {input}")).ok(), "");
            scene.run(&format!("reads -q {option} f.malkoha {input} -o out.fq.gz")).ok();
            assert_eq!(scene.run("reads -q -v f.malkoha out.fq.gz").ok(), "", "a sound file of nothing");
        }
    }
    // Records without words never match.
    let short = "@a\nACGT\n+\nIIII\n@b\n\n+\n\n@c\nNNNNNNNNNNNNNNNNNNNNNNNNN\n+\nIIIIIIIIIIIIIIIIIIIIIIIII\n";
    assert_eq!(scene.run_with("reads -q f.malkoha", short).ok(), "");
    assert_eq!(scene.run_with("reads -q -v f.malkoha", short).ok(), short);
    let report = scene.run_with("reads --json -v f.malkoha -o out.fq", short).ok();
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    assert_eq!((&report["records_without_words"], &report["words"]), (&3.into(), &0.into()));
    // Of pairs both records count, if there is a word in neither.
    let pairs = format!("{short}@d\nACGTTGCAACCGGTATATCGGCTAA\n+\nIIIIIIIIIIIIIIIIIIIIIIIII\n");
    let report = scene.run_with("reads --json -v --interleaved f.malkoha -o out.fq", pairs).ok();
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    assert_eq!((&report["records_read"], &report["records_without_words"]), (&4.into(), &2.into()));
}

#[test]
fn empty_lines_before_the_first_record_are_left_out() {
    let scene = Scene::new("reads-empty-lines");
    scene.write("genome.fa", ">g\nGATTACAGATTACAG\n");
    scene.run("build -q --kmer 7 -o f.malkoha genome.fa").ok();
    for record in ["@read\nGATTACAG\n+\nIIIIIIII\n", ">read\nGATTACAG\n"] {
        scene.write("read", record);
        for empty in ["\n", "\r\n\n\n"] {
            scene.write("empty", [empty, record].concat());
            for bytes in [None, Some(1)] {
                let run = |args: &str| scene.run_in_blocks(Blocks { bytes, keys: None }, args, "");
                assert_eq!(run("reads -q f.malkoha empty").ok(), record);
                let both = [record, record].concat();
                assert_eq!(run("reads -q f.malkoha --interleaved empty empty").code, Some(2), "no mates");
                assert_eq!(run("reads -q f.malkoha empty -2 read").ok(), both);
                assert_eq!(run("reads -q f.malkoha read -2 empty").ok(), both);
                assert_eq!(run("query -c f.malkoha empty").ok(), "2\n");
                run("build -q --kmer 7 -o g.malkoha empty").ok();
                assert_eq!(run("query -c g.malkoha read").ok(), "2\n");
            }
        }
    }
}

#[test]
fn what_cannot_be_read_is_told_and_leaves_no_output() {
    let scene = Scene::new("reads-broken");
    let (genome, reads) = genome_and_reads(300);
    scene.write("genome.fa", format!(">g\n{genome}\n"));
    scene.run("build -q --kmer 21 -o f.malkoha genome.fa").ok();
    let text = fastq(&reads);
    let cases = [
        (text.replace("@read 250\n", "@read 250\nACGT\n"), "record 251"),
        (text.replace("@read 7\n", "@read 7"), "cannot be read"),
        (text.replace("@read 299\n", "read 299\n"), "record 300"),
        (text[..text.len() - 3].to_owned() + "\n", "record"),
        ("hello\n".to_owned(), "neither FASTA"),
        ("+\n".to_owned(), "neither FASTA"),
    ];
    for (broken, why) in cases {
        scene.write("broken.fq", &broken);
        for bytes in [None, Some(100)] {
            let args = "reads f.malkoha broken.fq -v -o out.fq";
            scene.run_in_blocks(Blocks { bytes, keys: None }, args, "").fails(&["broken.fq", why]);
            assert!(!scene.path("out.fq").exists() && !scene.path("out.fq.partial").exists(), "{why}");
        }
    }
    // A compressed file that was cut off.
    scene.write("reads.fq", &text);
    scene.run("reads -q -v -a 100% f.malkoha reads.fq -o whole.fq.gz").ok();
    let packed = scene.read("whole.fq.gz");
    scene.write("cut.fq.gz", &packed[..packed.len() / 2]);
    scene.run("reads f.malkoha cut.fq.gz -o out.fq").fails(&["cut.fq.gz", "gzip data ends too early"]);
    scene.run("reads f.malkoha nowhere.fq -o out.fq").fails(&["nowhere.fq"]);
    scene.run("reads f.malkoha reads.fq -o reads.fq/out.fq").fails(&["cannot write reads.fq/out.fq"]);
    assert!(!scene.path("out.fq").exists());
    scene.write("out.fq.partial", "");
    scene.run("reads f.malkoha reads.fq -o out.fq").fails(&["out.fq.partial exists", "remove it"]);
    std::fs::remove_file(scene.path("out.fq.partial")).unwrap();
    // Nothing that is read is overwritten.
    scene.run("reads f.malkoha reads.fq -o reads.fq").fails(&["would be lost"]);
    scene.run("reads f.malkoha reads.fq -o f.malkoha").fails(&["would be lost"]);
    scene.run("reads f.malkoha --interleaved reads.fq -o x.fq -O x.fq").fails(&["written twice"]);
    assert!(scene.read("reads.fq") == text.as_bytes());
}

/// A few records are compressed at the end, when the first file could have its name already.
#[cfg(target_os = "linux")]
#[test]
fn a_device_without_room_leaves_no_other_output() {
    let scene = Scene::new("reads-full");
    let (genome, reads) = genome_and_reads(20);
    scene.write("genome.fa", format!(">g\n{genome}\n"));
    scene.run("build -q --kmer 21 -o f.malkoha genome.fa").ok();
    scene.run("build -q --kmer 21 --label a=genome.fa -o labels.malkoha").ok();
    scene.write("reads.fq", fastq(&reads));
    std::os::unix::fs::symlink("/dev/full", scene.path("full_a.gz")).unwrap();
    let before = scene.files();
    for args in [
        "reads -v -a 100% f.malkoha --interleaved reads.fq -o out.gz -O full_a.gz",
        "classify labels.malkoha --interleaved reads.fq -o {}.gz -O full_{}.gz",
    ] {
        scene.run(args).fails(&["cannot write full_a.gz"]);
        assert_eq!(scene.files(), before, "{args}");
    }
}

#[test]
fn filters_of_other_keys_are_refused() {
    let scene = Scene::new("reads-keys");
    scene.write("genome.fa", ">g\nACGTTGCAACCGGTATATCGGCTAAGCTTAGGACCATA\n");
    scene.write("reads.fq", "@a\nACGT\n+\nIIII\n");
    scene.run_with("build -q -o lines.malkoha", "owl\n").ok();
    scene.run("reads lines.malkoha reads.fq").fails(&["lines.malkoha holds strings of bytes", "--kmer"]);
    scene.run("build -q --kmer 21 --minimizers 5 -o min.malkoha genome.fa").ok();
    scene.run("reads --minimizers 6 min.malkoha reads.fq").fails(&["each the first of 5 words, not of 6"]);
    scene.run("query min.malkoha genome.fa").fails(&["min.malkoha holds minimizers", "malkoha reads"]);
    scene.run("build -q --kmer 33 -o long.malkoha genome.fa").ok();
    scene.run("reads --minimizers 6 long.malkoha reads.fq").fails(&["words of 33 letters", "at most 31"]);
    scene.run("build -q --kmer 33 --minimizers 6 -o x.malkoha genome.fa").fails(&["33"]);
    scene.run("build -q --minimizers 6 -o x.malkoha genome.fa").fails(&["--kmer"]);
    scene.run("classify min.malkoha reads.fq").fails(&["min.malkoha has no labels", "--label"]);
    // Files of minimizers can be added to, as they were built, and merged only with their like.
    scene.run("add -q min.malkoha genome.fa").ok();
    scene.run("build -q --kmer 21 -n 100 -o a.malkoha genome.fa").ok();
    scene.run("build -q --kmer 21 --minimizers 5 -n 100 -o b.malkoha genome.fa").ok();
    scene.run("merge a.malkoha b.malkoha -o c.malkoha").fails(&["key formats"]);
    assert!(
        scene
            .run("info min.malkoha")
            .ok()
            .contains("minimizers: DNA words of length 21, each the first of 5")
    );
}

#[test]
fn the_report_counts_everything() {
    let scene = Scene::new("reads-report");
    let (genome, reads) = genome_and_reads(200);
    scene.write("genome.fa", format!(">g\n{genome}\n"));
    scene.write("reads.fq", fastq(&reads));
    scene.run(&format!("build -q --kmer 21 {RATE} -o f.malkoha genome.fa")).ok();
    let set: HashSet<String> = words(&genome, 21).into_iter().collect();
    let all: Vec<String> = reads.iter().flat_map(|read| words(&read.sequence, 21)).collect();
    let found = all.iter().filter(|word| set.contains(*word)).count();
    let units: Vec<&[Read]> = reads.chunks(1).collect();
    let matches = matching(&units, &set, &|read| words(read, 21), AtLeast::Count(5));
    let kept: Vec<&Read> =
        reads.iter().zip(&matches).filter(|(_, matches)| !**matches).map(|(read, _)| read).collect();
    let letters = |reads: &[&Read]| reads.iter().map(|read| read.sequence.len()).sum::<usize>();
    let ran = scene.run("reads --totals --json -v -a 5 f.malkoha reads.fq -o out.fq");
    let report: serde_json::Value = serde_json::from_str(&ran.ok()).unwrap();
    let expected = [
        ("records_read", 200),
        ("records_kept", kept.len()),
        ("records_discarded", 200 - kept.len()),
        ("letters_read", letters(&reads.iter().collect::<Vec<_>>())),
        ("letters_kept", letters(&kept)),
        ("words", all.len()),
        ("words_found", found),
        ("at_least", 5),
        ("k", 21),
    ];
    for (name, number) in expected {
        assert_eq!(report[name], number, "{name}");
    }
    assert_eq!((&report["inverted"], &report["window"]), (&true.into(), &serde_json::Value::Null));
    // Without --totals, nobody knows how many words would have been found.
    let less: serde_json::Value =
        serde_json::from_str(&scene.run("reads --json -v -a 5 f.malkoha reads.fq -o out.fq").ok()).unwrap();
    assert!(less["words_found"].is_null() && less["words"] == all.len());
    assert_eq!(less["records_kept"], report["records_kept"]);
    assert_eq!(less["expected_by_chance"], report["expected_by_chance"]);
    let said = scene.run("reads --totals -a 5 f.malkoha reads.fq -o out.fq").ok();
    assert!(said.contains(" found ("), "{said}");
    // Records on standard output leave the report on standard error, on one line.
    let ran = scene.run("reads --json f.malkoha reads.fq");
    assert!(serde_json::from_str::<serde_json::Value>(&ran.err).is_ok() && ran.out.starts_with('@'), "{ran}");
    // A high rate and a low threshold: what matches by chance is told, and about right.
    scene.run("build -q --kmer 21 --rate 5% -o high.malkoha genome.fa").ok();
    let mut strangers = Letters(77);
    let strangers: Vec<String> = (0..2000).map(|_| format!(">s\n{}\n", strangers.sequence(60))).collect();
    scene.write("strangers.fa", strangers.concat());
    let report = scene.run("reads --json -a 4 high.malkoha strangers.fa -o out.fa").ok();
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    let (kept, expected) =
        (report["records_kept"].as_f64().unwrap(), report["expected_by_chance"].as_f64().unwrap());
    // Four standard deviations.
    assert!((kept - expected).abs() < 4.0 * expected.sqrt(), "{kept} where {expected} are expected");
    for columns in [60, 80] {
        let said = scene.run_in_columns(columns, "reads -a 4 high.malkoha strangers.fa -o out.fa").ok();
        assert!(said.lines().all(|line| line.chars().count() <= columns), "{said}");
        let words: Vec<&str> = said.split_whitespace().collect();
        assert!(words.join(" ").contains("match by false positives alone"), "{said}");
    }
}

#[test]
fn a_reader_that_goes_away_ends_the_program_quietly() {
    let scene = Scene::new("reads-pipe");
    let (genome, reads) = genome_and_reads(300);
    scene.write("genome.fa", format!(">g\n{genome}\n"));
    scene.run("build -q --kmer 21 -o f.malkoha genome.fa").ok();
    let mut command = scene.command("reads -v -a 100% f.malkoha");
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let text = fastq(&reads);
    stdin.write_all(text.as_bytes()).unwrap();
    let mut some = [0; 10];
    child.stdout.take().unwrap().read_exact(&mut some).unwrap();
    // The input stays open, and more comes.
    while stdin.write_all(text.as_bytes()).is_ok() {}
    let status = ends_by_itself(&mut child);
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!((status.code(), said.as_str()), (Some(0), ""));
}
