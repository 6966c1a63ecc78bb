//! Reading, working and collecting at the same time.
//!
//! ```text
//!   source   one thread at a time takes the next block, and a number in the order of the input
//!   work     every thread works on its own block
//!   sink     the calling thread takes the results in the order of the input, and gives them back to be used again
//! ```
//!
//! Channels are bounded, so no thread runs far ahead of the others, however long the input is. Blocks and
//! results stay with their threads, so nothing is allocated after the first few.
//!
//! All results have one type, and work and sink are called through pointers, once per block, so threads and
//! channels are compiled once for all subcommands.

use std::path::PathBuf;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::Builder;

use anyhow::{Context, Result, bail};
use malkoha::KeyHasher;

use crate::input::{self, Keys, Origin, Source, Stop};
use crate::reads::ReadBlock;

/// What is said if work that needs a thread of its own gets none.
pub(crate) const NO_THREADS: &str =
    "the system starts no more threads; end other programs, or raise the limit";

/// Results of one thread that may wait for the sink.
const WAITING: usize = 2;

/// What blocks are read from.
pub(crate) trait Blocks: Send {
    /// Replaces the content of `block` with the next block; `None` if there is none.
    fn next(&mut self, block: &mut Vec<u8>) -> Result<Option<Origin>>;
    /// Returns the inputs, by whose numbers blocks say where they come from.
    fn inputs(&self) -> Arc<[PathBuf]>;
    /// Returns the handle that ends the wait for an idle input.
    fn stop(&self) -> Stop;
}

impl Blocks for Source {
    fn next(&mut self, block: &mut Vec<u8>) -> Result<Option<Origin>> {
        self.next(block)
    }

    fn inputs(&self) -> Arc<[PathBuf]> {
        self.inputs()
    }

    fn stop(&self) -> Stop {
        self.stop()
    }
}

/// What is done with a block, on any thread.
type Work<'a> = dyn Fn(&mut Vec<u8>, &mut Worked) + Sync + 'a;

/// The result for a block. A subcommand uses the fields that it needs.
#[derive(Default)]
pub(crate) struct Worked {
    /// Where the block comes from.
    pub(crate) origin: Origin,
    pub(crate) keys: Keys,
    /// Whether each key is wanted.
    pub(crate) answers: Vec<bool>,
    /// How many keys are wanted.
    pub(crate) matched: u64,
    /// Text of keys.
    pub(crate) text: Vec<u8>,
    /// What became of records.
    pub(crate) reads: ReadBlock,
}

impl Worked {
    /// Hashes the keys of the block.
    pub(crate) fn hash(&mut self, block: &[u8], hasher: &KeyHasher) {
        self.keys.read(block, self.origin, hasher);
    }
}

/// The lines of a table before the current block.
struct LinesBefore {
    inputs: Arc<[PathBuf]>,
    input: usize,
    lines: usize,
}

impl LinesBefore {
    fn new(source: &dyn Blocks) -> Self {
        Self { inputs: source.inputs(), input: 0, lines: 0 }
    }

    /// Goes on to the next block, and refuses one with a record that lacks the key.
    fn pass(&mut self, worked: &Worked) -> Result<()> {
        let (keys, input) = (&worked.keys, worked.origin.input);
        if self.input != input {
            (self.input, self.lines) = (input, 0);
        }
        if let Some(line) = keys.flaw {
            let (name, line) = (input::name(&self.inputs[input]), self.lines + line + 1);
            bail!("{name}: line {line} has too few columns; is this the right --column and --delimiter?");
        }
        self.lines += keys.lines;
        Ok(())
    }
}

/// Runs every block of a source through `work` on this many threads, and the results through `sink` in the
/// order of the input. Stops at the first error, even if the input is idle.
///
/// The result passed to `work` still contains what the sink left in it, and `work` may take the block away.
pub(crate) fn run(
    source: impl Blocks + 'static,
    threads: usize,
    work: &Work,
    sink: &mut dyn FnMut(&mut Worked) -> Result<()>,
) -> Result<()> {
    run_blocks(Box::new(source), threads, work, sink)
}

fn run_blocks(
    source: Box<dyn Blocks>,
    threads: usize,
    work: &Work,
    sink: &mut dyn FnMut(&mut Worked) -> Result<()>,
) -> Result<()> {
    if threads <= 1 {
        return run_alone(source, work, sink);
    }
    let stop = source.stop();
    let mut before = LinesBefore::new(&*source);
    let source = Mutex::new(Some(source));
    // For each thread, the results that the sink has finished with.
    let used: Vec<_> = (0..threads).map(|_| Mutex::default()).collect();
    // Which thread took the next block.
    let (order, turns) = sync_channel(threads * WAITING);
    std::thread::scope(|scope| {
        let mut lanes = Vec::new();
        for (thread, used) in used.iter().enumerate() {
            let (results, done) = sync_channel(WAITING);
            lanes.push((done, used));
            let worker = Worker { thread, source: &source, order: order.clone(), results, used };
            if Builder::new().spawn_scoped(scope, move || worker.run(work)).is_err() {
                // The system starts no more threads, and there is work for those that run.
                lanes.pop();
                break;
            }
        }
        drop(order);
        if lanes.is_empty() {
            let source = source.lock().unwrap_or_else(PoisonError::into_inner).take();
            return run_alone(source.expect("nobody has read from it"), work, sink);
        }
        // Dropping the receivers, at the end or after an error, ends the threads.
        let ended = turns.into_iter().try_for_each(|thread: usize| {
            let (done, used) = &lanes[thread];
            let mut result = done.recv().context("a thread ended before its work did")??;
            before.pass(&result)?;
            sink(&mut result)?;
            used.lock().unwrap_or_else(PoisonError::into_inner).push(result);
            Ok(())
        });
        if ended.is_err() {
            stop.now();
        }
        ended
    })
}

fn run_alone(
    mut source: Box<dyn Blocks>,
    work: &Work,
    sink: &mut dyn FnMut(&mut Worked) -> Result<()>,
) -> Result<()> {
    let (mut block, mut result) = (Vec::new(), Worked::default());
    let mut before = LinesBefore::new(&*source);
    while let Some(origin) = source.next(&mut block)? {
        result.origin = origin;
        work(&mut block, &mut result);
        before.pass(&result)?;
        sink(&mut result)?;
    }
    Ok(())
}

/// One of the threads, and what it shares with the others.
struct Worker<'a> {
    thread: usize,
    source: &'a Mutex<Option<Box<dyn Blocks>>>,
    order: SyncSender<usize>,
    results: SyncSender<Result<Worked>>,
    /// Results that the sink has finished with.
    used: &'a Mutex<Vec<Worked>>,
}

impl Worker<'_> {
    /// Processes blocks until there are no more or nobody wants the results.
    fn run(self, work: &Work) {
        let mut block = Vec::new();
        while let Some(read) = self.read(&mut block) {
            let result = read.map(|origin| {
                let used = self.used.lock().unwrap_or_else(PoisonError::into_inner).pop();
                let mut result = used.unwrap_or_default();
                result.origin = origin;
                work(&mut block, &mut result);
                result
            });
            if self.results.send(result).is_err() {
                return;
            }
        }
    }

    /// Takes the next block; `None` if there is none or nobody wants it.
    fn read(&self, block: &mut Vec<u8>) -> Option<Result<Origin>> {
        let mut source = self.source.lock().expect("no thread panics while it reads");
        let read = source.as_mut()?.next(block);
        if !matches!(read, Ok(Some(_))) {
            *source = None;
        }
        let read = read.transpose()?;
        // The turn is taken before any other thread can read.
        self.order.send(self.thread).ok().map(|()| read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use indicatif::ProgressBar;

    /// A file of numbered lines, removed at the end.
    struct Lines(PathBuf);

    impl Lines {
        fn new(name: &str, lines: u32) -> Self {
            let path = std::env::temp_dir().join(format!("malkoha-pipeline-{}-{name}", std::process::id()));
            let text: Vec<_> = (0..lines).map(|line| format!("line {line}\n")).collect();
            std::fs::write(&path, text.concat()).unwrap();
            Self(path)
        }

        fn source(&self) -> Source {
            Source::new(std::slice::from_ref(&self.0), None, None, None, ProgressBar::hidden())
        }
    }

    impl Drop for Lines {
        fn drop(&mut self) {
            let _ = std::fs::remove_file(&self.0);
        }
    }

    #[test]
    fn results_come_in_the_order_of_the_input_for_any_number_of_threads() {
        let lines = Lines::new("order", 300_000);
        let expected = std::fs::read(&lines.0).unwrap();
        for threads in [1, 2, 3, 8] {
            let mut got = Vec::new();
            let work = |block: &mut Vec<u8>, worked: &mut Worked| std::mem::swap(block, &mut worked.text);
            let mut sink = |worked: &mut Worked| {
                got.append(&mut worked.text);
                Ok(())
            };
            run(lines.source(), threads, &work, &mut sink).unwrap();
            assert!(got == expected, "{threads} threads");
        }
    }

    #[test]
    fn an_error_of_the_sink_ends_everything() {
        let lines = Lines::new("sink", 300_000);
        for threads in [1, 4] {
            let mut calls = 0;
            let ended = run(lines.source(), threads, &|_, _| (), &mut |_| {
                calls += 1;
                anyhow::bail!("enough")
            });
            assert_eq!(ended.unwrap_err().to_string(), "enough");
            assert_eq!(calls, 1);
        }
    }

    #[test]
    fn an_input_that_is_not_there_is_an_error_after_those_before_it() {
        let lines = Lines::new("missing", 3);
        let inputs = [lines.0.clone(), PathBuf::from("no such file")];
        for threads in [1, 4] {
            let source = Source::new(&inputs, None, None, None, ProgressBar::hidden());
            let mut blocks = 0;
            let ended = run(source, threads, &|_, _| (), &mut |_| {
                blocks += 1;
                Ok(())
            });
            assert!(format!("{:#}", ended.unwrap_err()).contains("cannot open no such file"));
            assert_eq!(blocks, 1);
        }
    }
}
