//! Memory for many tables of middle size, on large pages.
//!
//! A table of some hundred kilobytes is too small for large pages of its own, and with small pages a lookup in many
//! such tables spends most of its time on address translation. So all of them share chunks of memory on large pages,
//! in this one arena. The smallest free block that is large enough is used, and neighbouring free blocks become one.
//! A chunk without blocks goes back to the system.
#![expect(unsafe_code, reason = "addresses inside a chunk")]

use core::ptr::NonNull;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::words::Words;

/// Bytes of a large page.
pub(super) const PAGE_BYTES: usize = 2 << 20;

/// The most bytes of a chunk, and its share of all chunks: the arena has at most so much more than is used.
const MOST_BYTES: usize = 64 << 20;
const SHARE: usize = 16;

/// The bytes that small chunks are multiples of.
const SMALL_BYTES: usize = 64 << 10;

/// A number of bytes of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Block {
    pub(super) bytes: usize,
    pub(super) chunk: usize,
    pub(super) offset: usize,
}

/// Memory that blocks are taken from.
struct Chunk {
    words: Words,
    /// Bytes that were in blocks before. Those beyond are still zero, and the system has provided no memory for them.
    used: usize,
}

/// A block that was taken.
pub(super) struct Taken {
    pub(super) block: Block,
    pub(super) first: NonNull<u8>,
    /// All of its bytes are zero; otherwise they are arbitrary.
    pub(super) is_zero: bool,
}

#[derive(Default)]
pub(super) struct Arena {
    /// Chunks may be smaller than a large page, for an arena that may stay small. All chunks grow with the arena then,
    /// so that there are few.
    is_modest: bool,
    /// Chunks that went back leave their number free.
    chunks: Vec<Option<Chunk>>,
    /// Free blocks, by size.
    by_size: BTreeSet<Block>,
    /// Free blocks, by place: the bytes of each.
    by_place: BTreeMap<(usize, usize), usize>,
    /// Bytes of all chunks.
    bytes: usize,
}

static ARENA: Mutex<Option<Arena>> = Mutex::new(None);

fn arena() -> MutexGuard<'static, Option<Arena>> {
    // Nothing in here panics halfway, so the content is sound whatever happened to another thread.
    ARENA.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Takes a block of `bytes` bytes, whole cache lines.
pub(super) fn take(bytes: usize) -> Option<Taken> {
    arena().get_or_insert_default().take(bytes)
}

/// Gives back a block that nobody uses any more.
pub(super) fn give(block: Block) {
    arena().get_or_insert_default().give(block);
}

impl Arena {
    /// An arena that is small as long as little is taken.
    pub(super) fn modest() -> Self {
        Self { is_modest: true, ..Self::default() }
    }

    /// Bytes of all chunks.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Bytes of all free blocks.
    pub(super) fn free_bytes(&self) -> usize {
        self.by_place.values().sum()
    }

    /// The first byte of a chunk.
    pub(super) fn chunk(&self, number: usize) -> Option<NonNull<u8>> {
        Some(self.chunks.get(number)?.as_ref()?.words.first().cast())
    }

    /// Takes a block of `bytes` bytes, whole cache lines.
    pub(super) fn take(&mut self, bytes: usize) -> Option<Taken> {
        let least = Block { bytes, chunk: 0, offset: 0 };
        let mut free = self.by_size.range(least..).next().copied();
        if free.is_none() {
            self.grow(bytes)?;
            free = self.by_size.range(least..).next().copied();
        }
        let Block { bytes: whole, chunk, offset } = free?;
        self.forget(Block { bytes: whole, chunk, offset });
        if whole > bytes {
            self.note(Block { bytes: whole - bytes, chunk, offset: offset + bytes });
        }
        let Chunk { words, used } = self.chunks[chunk].as_mut()?;
        let is_zero = *used <= offset;
        *used = (*used).max(offset + bytes);
        // SAFETY: the offset of a block is inside its chunk.
        let first = unsafe { words.first().cast::<u8>().add(offset) };
        Some(Taken { block: Block { bytes, chunk, offset }, first, is_zero })
    }

    /// Gives back a block that nobody uses any more. A chunk without blocks goes back to the system.
    pub(super) fn give(&mut self, block: Block) {
        let block = self.join(block);
        if self.is_chunk(block) {
            self.drop_chunk(block);
        } else {
            self.note(block);
        }
    }

    /// Gives back a block at which somebody may still look. Its chunk stays.
    pub(super) fn give_and_keep(&mut self, block: Block) {
        let block = self.join(block);
        self.note(block);
    }

    /// Gives chunks without blocks back to the system.
    pub(super) fn trim(&mut self) {
        let free: Vec<Block> = self.by_size.iter().copied().filter(|block| self.is_chunk(*block)).collect();
        for block in free {
            self.forget(block);
            self.drop_chunk(block);
        }
    }

    /// Whether a block is a whole chunk.
    fn is_chunk(&self, block: Block) -> bool {
        self.chunks[block.chunk].as_ref().is_some_and(|chunk| chunk.words.bytes() == block.bytes)
    }

    fn drop_chunk(&mut self, block: Block) {
        self.bytes -= block.bytes;
        self.chunks[block.chunk] = None;
    }

    /// Joins a block that is free now with its free neighbours.
    fn join(&mut self, mut block: Block) -> Block {
        // The free neighbours become part of the block.
        let before = self.by_place.range(..(block.chunk, block.offset)).next_back();
        if let Some((&(chunk, offset), &bytes)) = before
            && chunk == block.chunk
            && offset + bytes == block.offset
        {
            self.forget(Block { bytes, chunk, offset });
            block = Block { bytes: bytes + block.bytes, chunk, offset };
        }
        let after = (block.chunk, block.offset + block.bytes);
        if let Some(&bytes) = self.by_place.get(&after) {
            self.forget(Block { bytes, chunk: after.0, offset: after.1 });
            block.bytes += bytes;
        }
        block
    }

    /// Adds a chunk with room for at least `bytes` bytes.
    fn grow(&mut self, bytes: usize) -> Option<()> {
        let share = self.bytes / SHARE;
        let wanted = if self.is_modest { share } else { share.min(MOST_BYTES) }.max(bytes);
        let unit = if self.is_modest && wanted < PAGE_BYTES { SMALL_BYTES } else { PAGE_BYTES };
        let size = wanted.checked_next_multiple_of(unit)?;
        let chunk = Chunk { words: Words::chunk(size)?, used: 0 };
        let number = self.chunks.iter().position(Option::is_none).unwrap_or(self.chunks.len());
        if number == self.chunks.len() {
            self.chunks.try_reserve(1).ok()?;
            self.chunks.push(None);
        }
        self.chunks[number] = Some(chunk);
        self.bytes += size;
        self.note(Block { bytes: size, chunk: number, offset: 0 });
        Some(())
    }

    fn note(&mut self, block: Block) {
        self.by_size.insert(block);
        self.by_place.insert((block.chunk, block.offset), block.bytes);
    }

    fn forget(&mut self, block: Block) {
        self.by_size.remove(&block);
        self.by_place.remove(&(block.chunk, block.offset));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::mix;

    /// Random blocks: none overlap, neighbours become one again, and in the end nothing is left.
    #[test]
    fn blocks_are_disjoint_and_all_memory_comes_back() {
        let mut arena = Arena::default();
        let mut taken: Vec<(Block, NonNull<u8>)> = Vec::new();
        let mut zeros = 0;
        for step in 0..20_000u64 {
            let random = mix(step);
            let growing = step % 4000 < 2000;
            if taken.is_empty() || random % 8 < if growing { 5 } else { 3 } {
                let bytes = (random >> 8) as usize % 300_000 / 64 * 64 + 64;
                let Taken { block, first, is_zero } = arena.take(bytes).unwrap();
                assert_eq!((block.bytes, first.as_ptr() as usize % 64), (bytes, 0));
                // SAFETY: nobody else has these bytes, which lie in a chunk that began as zeros.
                let content = unsafe { core::slice::from_raw_parts_mut(first.as_ptr(), bytes) };
                assert!(
                    !is_zero || content.iter().all(|byte| *byte == 0),
                    "a block that was used is not zero"
                );
                zeros += usize::from(is_zero);
                content.fill(1);
                taken.push((block, first));
            } else {
                let (block, _) = taken.swap_remove((random >> 8) as usize % taken.len());
                arena.give(block);
            }
            if step % 500 == 0 {
                let mut spans: Vec<_> =
                    taken.iter().map(|(block, first)| (first.as_ptr() as usize, block.bytes)).collect();
                spans.sort_unstable();
                assert!(spans.windows(2).all(|pair| pair[0].0 + pair[0].1 <= pair[1].0), "blocks overlap");
                let used: usize = spans.iter().map(|(_, bytes)| bytes).sum();
                let free: usize = arena.by_place.values().sum();
                assert_eq!(used + free, arena.bytes, "every byte is used or free");
                assert_eq!(arena.by_size.len(), arena.by_place.len());
            }
        }
        assert!((100..10_000).contains(&zeros), "{zeros} blocks were new");
        for (block, _) in taken {
            arena.give(block);
        }
        assert!(arena.bytes == 0 && arena.by_place.is_empty() && arena.chunks.iter().all(Option::is_none));
    }
}
