//! Measures `malkoha reads` and `malkoha classify` on simulated reads of real genomes, and prints the tables of
//! docs/READS.md.
//!
//! ```text
//! scripts/genomes GENOMES
//! cargo build --release -p malkoha-cli --bin malkoha --example reads_table
//! target/release/examples/reads_table GENOMES target/release/malkoha
//! ```
//!
//! Reads are cut from the genomes with substitutions, and their names tell the truth. The modules of the program that
//! read records and find words are compiled into this one too, so that the limits are those of the same code.
#![allow(clippy::print_stdout, reason = "it prints tables")]
#![allow(dead_code, reason = "parts of the program")]
#![allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small numbers")]
#![allow(clippy::naive_bytecount, reason = "clear enough here")]
#![allow(clippy::type_complexity, clippy::too_many_lines, reason = "one table after the other")]

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::time::Instant;

use malkoha::Filter;
use serde_json::Value;

#[path = "../src/input/fastx.rs"]
mod fastx;
#[path = "../src/input/kmers.rs"]
mod kmers;
#[path = "../src/input/records.rs"]
mod records;
#[path = "../src/input/words.rs"]
mod words;

use kmers::Rule;
use records::Style;
use words::Words;

/// Reads of each genome, their letters, and the share of letters that are wrong.
const READS: usize = 1_000_000;
const LETTERS: usize = 150;
const ERRORS: f64 = 0.01;

const K: u32 = 31;
const WINDOW: u32 = 15;
const THREADS: usize = 2;
const TURNS: usize = 5;

/// Filters of the same words whose false positives are compared.
const SEEDS: u64 = 40;

/// Bytes that are read at a time and words that are looked up at a time, as in the program.
const BLOCK: usize = 512 << 10;
const TOGETHER: usize = 8 << 10;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        ((u128::from(self.next()) * end as u128) >> 64) as usize
    }

    fn happens(&mut self, chance: f64) -> bool {
        ((self.next() >> 11) as f64) < chance * (1u64 << 53) as f64
    }
}

/// All letters of a FASTA file, sequences separated by N.
fn genome(path: &Path) -> Result<Vec<u8>> {
    let text = std::fs::read(path)?;
    let mut letters = Vec::new();
    for line in text.split(|byte| *byte == b'\n') {
        if line.first() == Some(&b'>') {
            letters.push(b'N');
        } else {
            letters.extend(line.to_ascii_uppercase());
        }
    }
    Ok(letters)
}

/// Writes reads of these genomes, shuffled, each named after its genome.
fn simulate(genomes: &[(&str, &[u8])], path: &Path) -> Result<()> {
    let mut random = Random(7);
    let mut file = BufWriter::new(File::create(path)?);
    let quality = vec![b'I'; LETTERS];
    let mut left: Vec<usize> = genomes.iter().map(|_| READS).collect();
    for number in 0..READS * genomes.len() {
        let mut pick = random.below(left.iter().sum());
        let which = left.iter().position(|left| {
            if pick < *left {
                true
            } else {
                pick -= left;
                false
            }
        });
        let which = which.expect("one is left");
        left[which] -= 1;
        let (name, letters) = genomes[which];
        let mut read = loop {
            let begin = random.below(letters.len() - LETTERS);
            let read = &letters[begin..begin + LETTERS];
            if read.iter().filter(|letter| **letter == b'N').count() < 10 {
                break read.to_vec();
            }
        };
        if random.below(2) == 0 {
            read.reverse();
            for letter in &mut read {
                *letter = match *letter {
                    b'A' => b'T',
                    b'C' => b'G',
                    b'G' => b'C',
                    b'T' => b'A',
                    other => other,
                };
            }
        }
        for letter in &mut read {
            if random.happens(ERRORS) {
                *letter = b"ACGT"[random.below(4)];
            }
        }
        write!(file, "@{name}:{number}\n{}\n+\n{}\n", text(&read), text(&quality))?;
    }
    Ok(file.into_inner()?.sync_all()?)
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("ASCII")
}

/// Runs the program, and returns its report and the most memory that it took, in bytes.
fn run(program: &Path, args: &[&str]) -> Result<(Value, u64)> {
    let output = Command::new("/usr/bin/time").arg("-f").arg("%M").arg(program).args(args).output()?;
    let said = text(&output.stderr).trim().to_owned();
    if !output.status.success() {
        return Err(format!("{args:?}: {said}").into());
    }
    let kib: u64 = said.lines().last().unwrap_or("").parse()?;
    Ok((serde_json::from_slice(&output.stdout)?, 1024 * kib))
}

/// The names of records, which begin with the name of their genome.
fn names(path: &Path) -> Result<Vec<String>> {
    let text = std::fs::read(path)?;
    let mut names = Vec::new();
    records::each(Style::Fastq, &text, |record| {
        let line = text[record.begin + 1..].split(|byte| *byte == b'\n').next().unwrap_or(&[]);
        names.push(self::text(line).to_owned());
    });
    Ok(names)
}

fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers[numbers.len() / 2]
}

/// An exact set of words: a hash table that is at most two thirds full.
struct Exact {
    slots: Vec<u64>,
    words: usize,
    /// By how many bytes the memory of the process in RAM grew with it; less if memory was used again.
    resident: u64,
}

/// What no word of 31 letters is.
const EMPTY: u64 = u64::MAX;

impl Exact {
    fn of(letters: &[u8], rule: Rule) -> Self {
        let mut words = Words::default();
        words.add(letters, rule, false, false);
        let before = resident().unwrap_or(0);
        let slots = vec![EMPTY; (3 * words.len() / 2).next_power_of_two()];
        let mut set = Self { slots, words: 0, resident: 0 };
        for word in words.get() {
            let slot = set.slot(*word);
            set.words += usize::from(set.slots[slot] == EMPTY);
            set.slots[slot] = *word;
        }
        set.resident = resident().unwrap_or(0).saturating_sub(before);
        set
    }

    /// The slot of a word, or the empty one where it would be.
    fn slot(&self, word: u64) -> usize {
        let last = self.slots.len() - 1;
        let mut at = (word.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20) as usize & last;
        while self.slots[at] != EMPTY && self.slots[at] != word {
            at = (at + 1) & last;
        }
        at
    }

    fn holds(&self, word: u64) -> bool {
        self.slots[self.slot(word)] != EMPTY
    }
}

/// The sequences of reads in memory, and the words of each.
fn sequences(path: &Path) -> Result<Vec<u8>> {
    let text = std::fs::read(path)?;
    let (mut all, mut joined) = (Vec::new(), Vec::new());
    records::each(Style::Fastq, &text, |record| {
        let place = record.place(&text, &mut joined);
        all.extend_from_slice(place.get(&text, &joined));
        all.push(b'\n');
    });
    Ok(all)
}

/// Buffers that a thread uses again and again.
#[derive(Default)]
struct Buffers {
    words: Words,
    answers: Vec<bool>,
    joined: Vec<u8>,
}

impl Buffers {
    fn look_up(&mut self, filter: &Filter, words: &[u64]) -> u64 {
        self.answers.resize(words.len(), false);
        filter.contains_slice_into(words, &mut self.answers);
        self.answers.iter().map(|found| u64::from(*found)).sum()
    }
}

/// Runs work on pieces of something on two threads, and returns the seconds.
fn timed<T: Send>(
    pieces: impl Iterator<Item = T> + Send,
    work: impl Fn(T, &mut Buffers) -> u64 + Sync,
) -> f64 {
    let begun = Instant::now();
    let queue = Mutex::new(pieces);
    let next = || queue.lock().expect("no panic").next();
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                let mut buffers = Buffers::default();
                while let Some(piece) = next() {
                    std::hint::black_box(work(piece, &mut buffers));
                }
            });
        }
    });
    begun.elapsed().as_secs_f64()
}

/// Blocks of whole records of a file, as the program reads them.
struct FileBlocks {
    file: File,
    kept: Vec<u8>,
}

impl Iterator for FileBlocks {
    type Item = Vec<u8>;

    fn next(&mut self) -> Option<Vec<u8>> {
        let mut block = std::mem::take(&mut self.kept);
        let before = block.len();
        block.resize(before + BLOCK, 0);
        let read = self.file.read(&mut block[before..]).ok()?;
        block.truncate(before + read);
        if read > 0 {
            let end = records::last_end(Style::Fastq, &block, before)?;
            self.kept.extend_from_slice(&block[end..]);
            block.truncate(end);
        }
        (!block.is_empty()).then_some(block)
    }
}

fn throughput(program: &Path, folder: &Path, filters: [&str; 2], reads: &str) -> Result<()> {
    let path = Path::new(reads);
    let sequences = sequences(path)?;
    let letters = sequences.iter().filter(|byte| **byte != b'\n').count();
    let filter = Filter::open(filters[0])?;
    let rule = Rule { k: K, window: None };
    // Pieces of whole sequences, with about as many words as the program has in a block.
    let pieces: Vec<&[u8]> = sequences.chunks((LETTERS + 1) * 400).collect();
    let all_words: Vec<Vec<u64>> = pieces.iter().map(|piece| words_of(piece, rule)).collect();
    let out = folder.join("kept.fq");
    let out = out.to_str().ok_or("a path in Unicode")?;
    let mut seconds: HashMap<&str, Vec<f64>> = HashMap::new();
    let threads = THREADS.to_string();
    for _ in 0..TURNS {
        let mut note = |name, time| seconds.entry(name).or_default().push(time);
        note(
            "words in memory: hashing, `contains_slice`",
            timed(all_words.iter(), |words, buffers| buffers.look_up(&filter, words)),
        );
        note(
            "words in memory, 8192 at a time: hashing, `contains_slice`",
            timed(all_words.iter(), |words, buffers| {
                words.chunks(TOGETHER).map(|words| buffers.look_up(&filter, words)).sum()
            }),
        );
        note(
            "reads in memory: words, hashing, `contains_slice`",
            timed(pieces.iter(), |piece, buffers| {
                let mut words = std::mem::take(&mut buffers.words);
                words.clear();
                for sequence in piece.split(|byte| *byte == b'\n') {
                    words.add(sequence, rule, false, false);
                }
                let found = buffers.look_up(&filter, words.get());
                buffers.words = words;
                found
            }),
        );
        let hasher = *filter.hasher();
        note(
            "reads in a file: reading, words, hashing",
            timed(
                FileBlocks { file: File::open(path)?, kept: Vec::new() },
                |block, Buffers { words, joined, .. }| {
                    words.clear();
                    records::each(Style::Fastq, &block, |record| {
                        let place = record.place(&block, joined);
                        words.add(place.get(&block, joined), rule, false, false);
                    });
                    words.get().iter().map(|word| hasher.number(*word).to_raw()).fold(0, u64::wrapping_add)
                },
            ),
        );
        for (name, args) in [
            ("`reads -c`", vec!["reads", "-c", filters[0], reads]),
            (
                "`reads -c --totals`: all words are looked up",
                vec!["reads", "-c", "--totals", filters[0], reads],
            ),
            ("`reads --totals`, written", vec!["reads", "-q", "--totals", filters[0], reads, "-o", out]),
            ("`reads`, half of the records written", vec!["reads", "-q", filters[0], reads, "-o", out]),
            ("`reads -c --minimizers 15`", vec!["reads", "-c", "--minimizers", "15", filters[0], reads]),
            ("`reads -c`, a filter of minimizers", vec!["reads", "-c", filters[1], reads]),
            ("`reads`, a filter of minimizers, written", vec!["reads", "-q", filters[1], reads, "-o", out]),
        ] {
            let mut all = args.clone();
            all.extend(["-j", &threads]);
            // Its space is given back before, and not by the program that replaces it.
            let _ = std::fs::remove_file(out);
            // From outside, because some have no report.
            let begun = Instant::now();
            let output = Command::new(program).args(&all).output()?;
            let seconds = begun.elapsed().as_secs_f64();
            if !output.status.success() {
                return Err(format!("{all:?}: {}", text(&output.stderr)).into());
            }
            note(name, seconds);
        }
    }
    println!("\n| | Gbp per minute | of words in memory | of reads in memory | of reading and hashing |");
    println!("| --- | --: | --: | --: | --: |");
    let rate = |name: &str| letters as f64 * 60.0 / 1e9 / median(seconds[name].clone());
    let engine = rate("words in memory: hashing, `contains_slice`");
    let memory = rate("reads in memory: words, hashing, `contains_slice`");
    let reading = rate("reads in a file: reading, words, hashing");
    let mut names: Vec<&str> = seconds.keys().copied().collect();
    names.sort_by_key(|name| (name.starts_with('`'), rate(name) as u64));
    for name in names {
        let rate = rate(name);
        println!(
            "| {name} | {rate:.1} | {:.2} | {:.2} | {:.2} |",
            rate / engine,
            rate / memory,
            rate / reading
        );
    }
    Ok(())
}

fn words_of(piece: &[u8], rule: Rule) -> Vec<u64> {
    let mut words = Words::default();
    for sequence in piece.split(|byte| *byte == b'\n') {
        words.add(sequence, rule, false, false);
    }
    words.get().to_vec()
}

/// The chance that at least so many words of a read are found wrongly, given the words that are not in the set. A word
/// that occurs several times is found every time or never.
fn chance(absent: &mut [u64], least: usize, rate: f64) -> f64 {
    absent.sort_unstable();
    // The chances of 0, 1, 2 and so on words, up to one less than are needed.
    let mut chances = vec![0.0; least];
    chances[0] = 1.0;
    for same in absent.chunk_by(|one, other| one == other) {
        for hits in (0..least).rev() {
            let before = hits.checked_sub(same.len()).map_or(0.0, |before| chances[before]);
            chances[hits] = chances[hits] * (1.0 - rate) + before * rate;
        }
    }
    (1.0 - chances.iter().sum::<f64>()).max(0.0)
}

/// Compares what the program keeps with the truth, and with an exact set of words.
fn accuracy(
    program: &Path,
    folder: &Path,
    filter: &str,
    reads: &str,
    exact: &Exact,
    rule: Rule,
) -> Result<()> {
    let out = folder.join("kept.fq");
    let out_text = out.to_str().ok_or("a path in Unicode")?;
    let rate = Filter::open(filter)?.stats().predicted_rate;
    let sequences = sequences(Path::new(reads))?;
    let truth = names(Path::new(reads))?;
    let mut found: Vec<(usize, Vec<u64>)> = sequences
        .split(|byte| *byte == b'\n')
        .map(|sequence| {
            let mut words = words_of(sequence, rule);
            let all = words.len();
            words.retain(|word| !exact.holds(*word));
            (all, words)
        })
        .collect();
    for least in ["1", "2", "3", "10%", "25%"] {
        let (_, memory) = run(program, &["reads", "--json", "-a", least, filter, reads, "-o", out_text])?;
        let needed = |words: usize| match least.strip_suffix('%') {
            Some(percent) => (words * percent.parse::<usize>().expect("a number")).div_ceil(100).max(1),
            None => least.parse().expect("a number"),
        };
        let kept = names(&out)?;
        let mut kept = kept.iter().peekable();
        let (mut of_set, mut of_filter) = ([0u64; 4], [0u64; 4]);
        let (mut more, mut fewer, mut expected) = (0, 0, 0.0);
        for (name, (words, absent)) in truth.iter().zip(&mut found) {
            let is_kept = kept.next_if_eq(&name).is_some();
            let in_set = *words - absent.len();
            let by_set = in_set >= needed(*words);
            let target = usize::from(name.starts_with("ecoli"));
            of_set[2 * target + usize::from(by_set)] += 1;
            of_filter[2 * target + usize::from(is_kept)] += 1;
            more += u64::from(is_kept && !by_set);
            fewer += u64::from(!is_kept && by_set);
            if !by_set && *words > 0 && needed(*words) <= *words {
                expected += chance(absent, needed(*words) - in_set, rate);
            }
        }
        let shares = |counts: [u64; 4]| {
            let share = |part: u64, other: u64| 100.0 * part as f64 / (part + other) as f64;
            (share(counts[3], counts[2]), share(counts[0], counts[1]))
        };
        let ((set_found, set_left), (found, left)) = (shares(of_set), shares(of_filter));
        println!(
            "| `-a {least}` | {set_found:.3} % | {found:.3} % | {set_left:.3} % | {left:.3} % | {more} | {expected:.0} | {fewer} | {:.1} |",
            memory as f64 / 1e6
        );
    }
    Ok(())
}

/// Does the same in the engine for filters of many seeds, which find other words wrongly: how many reads match that do
/// not match by the set, on average and by how much they vary.
fn spread(reads: &str, exact: &Exact, rule: Rule) -> Result<()> {
    let stored: Vec<u64> = exact.slots.iter().copied().filter(|word| *word != EMPTY).collect();
    let sequences = sequences(Path::new(reads))?;
    let mut absent: Vec<(usize, Vec<u64>)> = Vec::new();
    for sequence in sequences.split(|byte| *byte == b'\n') {
        let mut words = words_of(sequence, rule);
        let all = words.len();
        words.retain(|word| !exact.holds(*word));
        absent.push((all - words.len(), words));
    }
    let leasts = [1, 2, 3];
    let mut counts = leasts.map(|_| Vec::new());
    let mut expected = leasts.map(|_| 0.0);
    for seed in 0..SEEDS {
        let mut filter =
            malkoha::Spec::new(stored.len() as u64, 0.001).kind(malkoha::Kind::Sorted).seed(seed).build()?;
        filter.extend_unique(&stored, THREADS)?;
        let rate = filter.stats().predicted_rate;
        let mut more = leasts.map(|_| 0);
        let mut buffers = Buffers::default();
        for (in_set, words) in &mut absent {
            let wrong = buffers.look_up(&filter, words) as usize;
            for ((least, more), expected) in leasts.into_iter().zip(&mut more).zip(&mut expected) {
                if *in_set < least {
                    *more += u64::from(*in_set + wrong >= least);
                    if seed == 0 {
                        *expected += chance(words, least - *in_set, rate);
                    }
                }
            }
        }
        counts.iter_mut().zip(more).for_each(|(counts, more)| counts.push(more as f64));
    }
    println!("\n| | more, on average | expected | standard deviation | of a Poisson distribution |");
    println!("| --- | --: | --: | --: | --: |");
    for ((least, counts), expected) in leasts.into_iter().zip(counts).zip(expected) {
        let mean = counts.iter().sum::<f64>() / counts.len() as f64;
        let squares: f64 = counts.iter().map(|count| (count - mean).powi(2)).sum();
        let deviation = (squares / (counts.len() - 1) as f64).sqrt();
        println!("| `-a {least}` | {mean:.0} | {expected:.0} | {deviation:.0} | {:.0} |", mean.sqrt());
    }
    Ok(())
}

/// Prints how fast reads are classified, beside `reads` with the same filter, on one thread and on two.
fn classify_speed(program: &Path, filter: &str, reads: &str) -> Result<()> {
    let jobs = ["1", "2"].into_iter().flat_map(|threads| [("classify", threads), ("reads", threads)]);
    let jobs: Vec<_> = jobs.collect();
    let mut rates = vec![Vec::new(); jobs.len()];
    for _ in 0..TURNS {
        for ((command, threads), rates) in jobs.iter().zip(&mut rates) {
            let count: &[&str] = if *command == "reads" { &["-c", "--totals"] } else { &[] };
            let (report, _) =
                run(program, &[&[*command, "--json", "-j", threads, filter, reads], count].concat())?;
            rates.push(report["gbp_per_minute"].as_f64().ok_or("no speed")?);
        }
    }
    println!("\n| | threads | Gbp per minute |\n| --- | --: | --: |");
    for ((command, threads), rates) in jobs.iter().zip(rates) {
        println!("| `{command}` | {threads} | {:.1} |", median(rates));
    }
    Ok(())
}

/// The memory of this process that is in RAM, in bytes.
fn resident() -> Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("no VmRSS")?;
    let kib: u64 = line.trim().trim_end_matches(" kB").parse()?;
    Ok(1024 * kib)
}

fn confusion(program: &Path, filter: &str, reads: &Path, folder: &Path, labels: &[&str]) -> Result<()> {
    let pattern = folder.join("class-{}.fq");
    let pattern = pattern.to_str().ok_or("a path in Unicode")?;
    let (report, memory) = run(
        program,
        &["classify", "--json", filter, reads.to_str().ok_or("a path in Unicode")?, "-o", pattern],
    )?;
    let classes: Vec<&str> = labels.iter().copied().chain(["both", "neither", "ambiguous"]).collect();
    println!("\n| reads of | {} |\n| --- |{}", classes.join(" | "), " --: |".repeat(classes.len()));
    let mut counts: HashMap<(String, &str), u64> = HashMap::new();
    for class in &classes {
        for name in names(Path::new(&pattern.replace("{}", class)))? {
            let origin = name.split(':').next().unwrap_or("").to_owned();
            *counts.entry((origin, class)).or_default() += 1;
        }
    }
    for origin in labels.iter().chain(&["ecoli"]) {
        let counts =
            classes.iter().map(|class| counts.get(&((*origin).to_owned(), *class)).copied().unwrap_or(0));
        let counts: Vec<String> = counts.map(|count| count.to_string()).collect();
        println!("| {origin} | {} |", counts.join(" | "));
    }
    let gbp = report["gbp_per_minute"].as_f64().unwrap_or(0.0);
    println!("\n{gbp:.1} Gbp per minute, {:.0} MB of memory at most", memory as f64 / 1e6);
    Ok(())
}

fn main() -> Result<()> {
    let args: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let [genomes, program, parts @ ..] = args.as_slice() else {
        return Err(
            "give the folder of scripts/genomes and the program, then which of speed, accuracy, classify, classify-speed"
                .into(),
        );
    };
    let wanted = |part: &str| parts.is_empty() || parts.iter().any(|given| given.as_os_str() == part);
    let folder = genomes.join("reads");
    std::fs::create_dir_all(&folder)?;
    let at = |name: &str| folder.join(name).to_str().expect("a path in Unicode").to_owned();
    let fasta = |name: &str| genomes.join(name).to_str().expect("a path in Unicode").to_owned();
    let (ecoli_fa, human_fa) = (fasta("1 E. coli.fa"), fasta("4 human X, first 70 Mbp.fa"));
    let contigs_fa = fasta("5 contigs.fa");
    let (mix, three) = (at("mix.fq"), at("three.fq"));
    let ecoli = genome(Path::new(&ecoli_fa))?;
    if !Path::new(&three).exists() {
        let (human, contigs) = (genome(Path::new(&human_fa))?, genome(Path::new(&contigs_fa))?);
        simulate(&[("ecoli", &ecoli), ("human", &human)], Path::new(&mix))?;
        simulate(&[("human", &human), ("contigs", &contigs), ("ecoli", &ecoli)], Path::new(&three))?;
    }
    let (all, minimizers) = (at("ecoli.malkoha"), at("ecoli.minimizers.malkoha"));
    let (k, w) = (K.to_string(), WINDOW.to_string());
    run(program, &["build", "--json", "--kmer", &k, "-o", &all, &ecoli_fa])?;
    run(program, &["build", "--json", "--kmer", &k, "--minimizers", &w, "-o", &minimizers, &ecoli_fa])?;
    if wanted("speed") {
        throughput(program, &folder, [&all, &minimizers], &mix)?;
    }
    if wanted("accuracy") {
        for (filter, window) in [(&all, None), (&minimizers, Some(WINDOW))] {
            let rule = Rule { k: K, window };
            let exact = Exact::of(&ecoli, rule);
            let bytes = Filter::open(filter)?.stats().memory_bytes;
            println!(
                "\n{} words; exact set {:.1} MB as a sorted list, {:.1} MB as a hash table ({:.1} MB more in RAM); filter {:.2} MB\n",
                exact.words,
                exact.words as f64 * 8.0 / 1e6,
                exact.slots.len() as f64 * 8.0 / 1e6,
                exact.resident as f64 / 1e6,
                bytes as f64 / 1e6
            );
            println!(
                "| | sensitivity, set | filter | specificity, set | filter | more | expected | fewer | MB |"
            );
            println!("| --- | --: | --: | --: | --: | --: | --: | --: | --: |");
            accuracy(program, &folder, filter, &mix, &exact, rule)?;
            if window.is_none() {
                spread(&mix, &exact, rule)?;
            }
        }
    }
    let labelled = at("human-contigs.malkoha");
    if wanted("classify") {
        let (human, contigs) = (format!("human={human_fa}"), format!("contigs={contigs_fa}"));
        let build =
            ["build", "--json", "--kmer", "27", "--rate", "2^-16", "--label", &human, "--label", &contigs];
        let (report, memory) = run(program, &[&build[..], &["-o", &labelled]].concat())?;
        let (keys, bytes) = (report["keys"].as_f64().unwrap_or(0.0), report["bytes"].as_f64().unwrap_or(0.0));
        println!(
            "\n{:.1} million words with labels: filter {:.0} MB ({:.2} bits per word), exact sorted list {:.0} MB; \
             build {:.1} seconds, {:.0} MB at most",
            keys / 1e6,
            bytes / 1e6,
            8.0 * bytes / keys,
            9.0 * keys / 1e6,
            report["seconds"].as_f64().unwrap_or(0.0),
            memory as f64 / 1e6
        );
        confusion(program, &labelled, Path::new(&three), &folder, &["human", "contigs"])?;
    }
    if wanted("classify-speed") {
        classify_speed(program, &labelled, &three)?;
    }
    Ok(())
}
