//! Two inputs whose records are pairs: the first of one with the first of the other, and so on.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Result, bail};

use super::block::Keying;
use super::idle::Stop;
use super::records;
use super::source::{Origin, Source, name};
use crate::pipeline::Blocks;

/// One of the two inputs.
struct Side {
    source: Source,
    /// Whole records that were read and not yet handed on, and where they come from.
    text: Vec<u8>,
    origin: Option<Origin>,
}

impl Side {
    /// Reads more if everything was handed on.
    fn read(&mut self) -> Result<()> {
        while self.text.iter().all(u8::is_ascii_whitespace) {
            self.origin = self.source.next(&mut self.text)?;
            if self.origin.is_none() {
                self.text.clear();
                break;
            }
        }
        Ok(())
    }

    /// Returns the ends of the records at hand. The block of a source ends with a record, even if the next has not
    /// begun.
    fn ends(&self, keying: Keying) -> Vec<usize> {
        let Keying::Records(Some(style)) = keying else { return Vec::new() };
        let (mut ends, _) = records::ends(style, &self.text);
        let last = ends.last().copied().unwrap_or(0);
        if self.text[last..].iter().all(u8::is_ascii_whitespace) {
            ends.pop();
        }
        // Whatever may be wrong with the last record is found when the block is read.
        ends.push(self.text.len());
        ends
    }
}

/// Hands on blocks with the same number of records of two inputs: those of the first, then those of the second.
pub(crate) struct Pairs([Side; 2]);

impl Pairs {
    /// Pairs the records of two sources with as many inputs each.
    pub(crate) fn new(first: Source, mut second: Source) -> Self {
        second.stop_with(&first);
        Self([first, second].map(|source| Side { source, text: Vec::new(), origin: None }))
    }
}

impl Blocks for Pairs {
    fn next(&mut self, block: &mut Vec<u8>) -> Result<Option<Origin>> {
        self.0.iter_mut().try_for_each(Side::read)?;
        let [one, other] = &mut self.0;
        let (origin, keying) = match (one.origin, other.origin) {
            (None, None) => return Ok(None),
            (Some(first), Some(second)) if first.input == second.input => (first, second.keying),
            (first, second) => {
                // Inputs are numbered: the one that is behind has more.
                let at = |origin: Option<Origin>| origin.map_or(usize::MAX, |origin| origin.input);
                let behind = at(first).min(at(second));
                let [mut more, mut fewer] =
                    [&one.source, &other.source].map(|source| name(&source.inputs()[behind]));
                if at(second) < at(first) {
                    (more, fewer) = (fewer, more);
                }
                bail!("{more} has more records than {fewer}: they are not pairs; are both complete?");
            }
        };
        let ends = [one.ends(origin.keying), other.ends(keying)];
        let pairs = ends[0].len().min(ends[1].len());
        block.clear();
        let mut middle = 0;
        for (side, ends) in [one, other].into_iter().zip(ends) {
            middle = block.len();
            let end = ends[pairs - 1];
            block.extend_from_slice(&side.text[..end]);
            side.text.drain(..end);
        }
        Ok(Some(Origin { mates: Some((middle, keying)), ..origin }))
    }

    fn inputs(&self) -> Arc<[PathBuf]> {
        self.0[0].source.inputs()
    }

    fn stop(&self) -> Stop {
        self.0[0].source.stop()
    }
}
