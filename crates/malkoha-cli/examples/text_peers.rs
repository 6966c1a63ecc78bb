//! What `dedup --jsonl text --ngram 13` is compared with in docs/TEXT.md: other ways to remember n-grams.
//!
//! ```text
//! text_peers exact FILE...                       a set of the 64-bit hashes of all n-grams, on one thread
//! text_peers bloom KEYS RATE THREADS FILE...     our model of how bff works: one Bloom filter of atomic words, in
//!                                                which an n-gram sets k bits, each found by hashing its text again;
//!                                                each thread takes whole files
//! ```
//!
//! Both read lines, find words and decide documents as the program does, and write the kept lines.

use std::collections::HashSet;
use std::error::Error;
use std::fs::File;
use std::hash::{BuildHasherDefault, Hasher};
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use malkoha::{KeyHash, KeyHasher};

#[allow(dead_code, reason = "the program uses all of it")]
#[path = "../src/text/field.rs"]
mod field;
#[allow(dead_code, reason = "the program uses all of it")]
#[path = "../src/text/words.rs"]
mod words;

/// The words of an n-gram, and the share of n-grams that makes a duplicate.
const N: usize = 13;
const OVERLAP: f64 = 0.8;

/// The seed that the program has for such n-grams.
const SEED: u64 = 0x7478_6574_0000_000D;

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["exact", ref files @ ..] => exact(files),
        ["bloom", keys, rate, threads, ref files @ ..] => {
            bloom(&Bloom::new(keys.parse()?, rate.parse()?), threads.parse()?, files)
        }
        _ => Err("give exact FILE..., or bloom KEYS RATE THREADS FILE...".into()),
    }
}

/// Passes the text of every line to `keep`, and writes the lines for which it returns true.
fn each_line(
    file: &str,
    out: &mut impl Write,
    mut keep: impl FnMut(&str) -> bool,
) -> Result<(), Box<dyn Error>> {
    let field: field::Field = "text".parse()?;
    let (mut file, mut line) = (BufReader::with_capacity(1 << 18, File::open(file)?), Vec::new());
    while file.read_until(b'\n', &mut line)? > 0 {
        let text = field.locate(&line, None).map_err(|flaw| format!("{flaw:?}"))?.text;
        if keep(&text) {
            out.write_all(&line)?;
        }
        line.clear();
    }
    Ok(())
}

/// Takes hashes as they are.
#[derive(Default)]
struct AsIs(u64);

impl Hasher for AsIs {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("hashes are numbers");
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

fn exact(files: &[&str]) -> Result<(), Box<dyn Error>> {
    let mut seen: HashSet<u64, BuildHasherDefault<AsIs>> = HashSet::default();
    let mut ngrams = words::Ngrams::new(u32::try_from(N)?, KeyHasher::new(SEED));
    let (mut keys, mut out): (Vec<KeyHash>, _) = (Vec::new(), BufWriter::new(io::stdout().lock()));
    for file in files {
        each_line(file, &mut out, |text| {
            keys.clear();
            ngrams.append(text, 1, &mut keys);
            let found = keys.iter().filter(|key| seen.contains(&key.to_raw())).count();
            let keep = is_kept(found, keys.len());
            if keep {
                seen.extend(keys.iter().map(|key| key.to_raw()));
            }
            keep
        })?;
    }
    Ok(())
}

fn is_kept(found: usize, keys: usize) -> bool {
    keys == 0 || (found as f64 / keys as f64) < OVERLAP
}

/// A Bloom filter of atomic words.
struct Bloom {
    words: Vec<AtomicU32>,
    hashers: Vec<KeyHasher>,
}

impl Bloom {
    /// Returns the filter with the best number of hashes for this rate.
    fn new(keys: f64, rate: f64) -> Self {
        let bits = keys * -rate.ln() / std::f64::consts::LN_2.powi(2);
        let hashes = (-rate.log2()).round().max(1.0);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive and small")]
        let (words, hashes) = ((bits / 32.0).ceil() as usize, hashes as u64);
        let words = (0..words).map(|_| AtomicU32::new(0)).collect();
        Self { words, hashers: (0..hashes).map(|hash| KeyHasher::new(SEED + hash)).collect() }
    }

    /// Appends the places of an n-gram: the bits that it sets.
    fn append(&self, ngram: &str, places: &mut Vec<u64>) {
        let bits = self.words.len() as u64 * 32;
        places.extend(self.hashers.iter().map(|hasher| hasher.bytes(ngram.as_bytes()).to_raw() % bits));
    }

    fn contains(&self, places: &[u64]) -> bool {
        places.iter().all(|place| self.word(*place).load(Ordering::Relaxed) >> (place % 32) & 1 == 1)
    }

    fn insert(&self, places: &[u64]) {
        for place in places {
            self.word(*place).fetch_or(1 << (place % 32), Ordering::Relaxed);
        }
    }

    fn word(&self, place: u64) -> &AtomicU32 {
        &self.words[(place / 32) as usize]
    }
}

/// The words of a text with one space after each, and where they begin.
#[derive(Default)]
struct Words {
    text: String,
    begins: Vec<usize>,
}

impl Words {
    /// Calls `found` with every n-gram, or with all words if there are fewer.
    fn each_ngram(&mut self, text: &str, mut found: impl FnMut(&str)) {
        self.text.clear();
        self.begins.clear();
        words::each_word(text, |word| {
            self.begins.push(self.text.len());
            self.text.push_str(word);
            self.text.push(' ');
        });
        self.begins.push(self.text.len());
        if (2..=N).contains(&self.begins.len()) {
            found(&self.text);
        }
        self.begins.windows(N + 1).for_each(|words| found(&self.text[words[0]..words[N]]));
    }
}

fn bloom(filter: &Bloom, threads: usize, files: &[&str]) -> Result<(), Box<dyn Error>> {
    let (waiting, out) = (Mutex::new(files.iter()), Mutex::new(BufWriter::new(io::stdout())));
    let work = || -> Result<(), String> {
        let (mut places, mut words, mut kept) = (Vec::new(), Words::default(), Vec::new());
        loop {
            let Some(file) = waiting.lock().map_err(|error| error.to_string())?.next() else { return Ok(()) };
            let keep = |text: &str| {
                places.clear();
                words.each_ngram(text, |ngram| filter.append(ngram, &mut places));
                let ngrams = places.chunks(filter.hashers.len());
                let found = ngrams.clone().filter(|places| filter.contains(places)).count();
                let keep = is_kept(found, ngrams.len());
                if keep {
                    ngrams.for_each(|places| filter.insert(places));
                }
                keep
            };
            each_line(file, &mut kept, keep).map_err(|error| error.to_string())?;
            let mut out = out.lock().map_err(|error| error.to_string())?;
            out.write_all(&std::mem::take(&mut kept)).map_err(|error| error.to_string())?;
        }
    };
    std::thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        running.into_iter().try_for_each(|thread| thread.join().expect("no thread panics"))
    })?;
    Ok(())
}
