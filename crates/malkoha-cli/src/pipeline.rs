//! Reading, working and collecting at the same time.
//!
//! ```text
//!   source   one thread at a time takes the next block, and a number in the order of the input
//!   work     every thread works on its own block
//!   sink     the calling thread takes the results in the order of the input
//! ```
//!
//! Channels are bounded: nobody runs far ahead of the others, whatever the length of the input.

use std::sync::Mutex;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use anyhow::{Context, Result};

use crate::input::Source;

/// Results of one thread that may wait for the sink.
const WAITING: usize = 2;

/// Runs every block of a source through `work`, on so many threads, and the results through `sink` in the order of
/// the input. Stops at the first error.
///
/// `work` may take the block away.
pub(crate) fn run<R: Send>(
    source: Source,
    threads: usize,
    work: impl Fn(&mut Vec<u8>) -> R + Sync,
    mut sink: impl FnMut(R) -> Result<()>,
) -> Result<()> {
    if threads <= 1 {
        return run_alone(source, work, sink);
    }
    let source = Mutex::new(Some(source));
    // Which thread took the next block.
    let (order, turns) = sync_channel(threads * WAITING);
    std::thread::scope(|scope| {
        let mut results: Vec<Receiver<Result<R>>> = Vec::new();
        for thread in 0..threads {
            let (sender, receiver) = sync_channel(WAITING);
            results.push(receiver);
            let (source, order, work) = (&source, order.clone(), &work);
            scope.spawn(move || work_along(thread, source, &order, work, &sender));
        }
        drop(order);
        // Dropping the receivers, at the end or after an error, ends the threads.
        turns.into_iter().try_for_each(|thread: usize| {
            let result = results[thread].recv().context("a thread ended before its work did")?;
            sink(result?)
        })
    })
}

fn run_alone<R>(
    mut source: Source,
    work: impl Fn(&mut Vec<u8>) -> R,
    mut sink: impl FnMut(R) -> Result<()>,
) -> Result<()> {
    let mut block = Vec::new();
    while source.next(&mut block)? {
        sink(work(&mut block))?;
    }
    Ok(())
}

/// What every thread does until there are no more blocks or nobody wants the results.
fn work_along<R>(
    thread: usize,
    source: &Mutex<Option<Source>>,
    order: &SyncSender<usize>,
    work: &impl Fn(&mut Vec<u8>) -> R,
    results: &SyncSender<Result<R>>,
) {
    let mut block = Vec::new();
    loop {
        let read = {
            let mut source = source.lock().expect("no thread panics while it reads");
            let read = source.as_mut().map_or(Ok(false), |source| source.next(&mut block));
            if !matches!(read, Ok(true)) {
                *source = None;
            }
            // The turn is taken before anybody else can read.
            if matches!(read, Ok(false)) || order.send(thread).is_err() {
                return;
            }
            read
        };
        if results.send(read.map(|_| work(&mut block))).is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use indicatif::ProgressBar;
    use std::path::PathBuf;

    /// A file of so many numbered lines, removed at the end.
    struct Lines(PathBuf);

    impl Lines {
        fn new(name: &str, lines: u32) -> Self {
            let path = std::env::temp_dir().join(format!("malkoha-pipeline-{}-{name}", std::process::id()));
            let text: Vec<_> = (0..lines).map(|line| format!("line {line}\n")).collect();
            std::fs::write(&path, text.concat()).unwrap();
            Self(path)
        }

        fn source(&self) -> Source {
            Source::new(std::slice::from_ref(&self.0), None, None, ProgressBar::hidden())
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
            run(lines.source(), threads, std::mem::take, |block| {
                got.extend(block);
                Ok(())
            })
            .unwrap();
            assert!(got == expected, "{threads} threads");
        }
    }

    #[test]
    fn an_error_of_the_sink_ends_everything() {
        let lines = Lines::new("sink", 300_000);
        for threads in [1, 4] {
            let mut calls = 0;
            let ended = run(
                lines.source(),
                threads,
                |_| (),
                |()| {
                    calls += 1;
                    anyhow::bail!("enough")
                },
            );
            assert_eq!(ended.unwrap_err().to_string(), "enough");
            assert_eq!(calls, 1);
        }
    }

    #[test]
    fn an_input_that_is_not_there_is_an_error_after_those_before_it() {
        let lines = Lines::new("missing", 3);
        let inputs = [lines.0.clone(), PathBuf::from("no such file")];
        for threads in [1, 4] {
            let source = Source::new(&inputs, None, None, ProgressBar::hidden());
            let mut blocks = 0;
            let ended = run(
                source,
                threads,
                |_| (),
                |()| {
                    blocks += 1;
                    Ok(())
                },
            );
            assert!(format!("{:#}", ended.unwrap_err()).contains("cannot open no such file"));
            assert_eq!(blocks, 1);
        }
    }
}
