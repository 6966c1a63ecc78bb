//! `SharedArena`: memory for tables that come and go while other threads look at them.
//!
//! A reader without a lock may look at a table that has just been replaced, and whose memory has already become another
//! table. It finds out that what it read is worth nothing (`engine/version.rs`), but until then the memory must be
//! there. So blocks that are given back are used again inside the arena, and no chunk goes back to the system as long
//! as a [`SharedDirectory`](super::shared_directory::SharedDirectory) leads readers into it. All words of all tables
//! are written as shared words are (`shared.rs`).
//!
//! A reader must never leave the chunks, whatever it sees. So all that it needs of a table is one word, a [`Lead`],
//! which it sees from before a change or from after it, but never in halves:
//!
//! ```text
//!   lead   block in chunk (32 bits) | chunk (16) | form (15) | elsewhere (1)
//!                     |                  |            |
//!                     +--- in lines ---->+ chunks     + forms: places, slots, .. of a table
//! ```
//!
//! Forms are listed for ever, of which there are some hundred at most, and chunks until no directory leads here.
#![expect(unsafe_code, reason = "forms that were listed, and addresses inside chunks")]

use core::fmt;
use core::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering, fence};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::arena::{Arena, Block, Taken};
use super::prefix_table::{PrefixTable, distances};
use super::prefixes::Form;
use super::words::{LINE_BYTES, Words};

/// The most chunks and forms. (Chunks grow with the arena; a filter of 10^9 keys has had fewer than 400 forms.) Tables
/// beyond are not seen by readers.
const MOST_CHUNKS: usize = 512;
const MOST_FORMS: usize = 512;

/// The bit of a lead that is set if entries may also be elsewhere, and where the other parts begin.
const ELSEWHERE: u64 = 1;
const FORM: u32 = 1;
const CHUNK: u32 = 16;
const LINE: u32 = 32;

/// The form of a table as readers need it. (What lookups need first is in one cache line with the distances.)
#[derive(Debug, PartialEq, Eq)]
#[repr(C, align(64))]
pub(super) struct SharedForm {
    /// The bits from where the first place of a key begins to where the second does.
    pub(super) distances: [u32; 16],
    pub(super) places: u32,
    /// Bits of a place, and of all places.
    pub(super) stride: u32,
    pub(super) bits: u32,
    pub(super) shift: u32,
    pub(super) lanes: u16,
    /// The first bits of a hash, which lead to the table and of which nothing is drawn.
    pub(super) depth: u8,
    pub(super) window: u8,
    pub(super) form: Form,
}

impl SharedForm {
    fn new(places: u32, form: Form, depth: u32) -> Self {
        let stride = form.width() * form.slots();
        Self {
            distances: distances(places).map(|between| u32::from(between) * stride),
            places,
            stride,
            bits: places * stride,
            shift: if form.is_narrow() { u32::BITS } else { u64::BITS } - form.tag_bits(),
            lanes: 0x0101 * ((1 << form.slots()) - 1),
            depth: u8::try_from(depth).expect("bits of a hash"),
            window: u8::try_from(form.window_bytes()).expect("at most 64"),
            form,
        }
    }

    fn is(&self, places: u32, form: Form, depth: u32) -> bool {
        (self.places, self.form, u32::from(self.depth)) == (places, form, depth)
    }

    /// Bytes that such a table has at least, with what its last window reads.
    fn bytes(&self) -> u64 {
        Words::bytes_for(u64::from(self.bits) + self.form.spare_bits())
    }
}

/// What leads a reader to a table.
///
/// The invariant: the chunk and the form are listed, and the table of this form lies inside the chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Lead(u64);

impl Lead {
    /// Leads to an empty table, and says that entries may be elsewhere.
    pub(super) const NOWHERE: Self = Self(ELSEWHERE);

    pub(super) const fn to_raw(self) -> u64 {
        self.0
    }

    /// Returns the lead with this number.
    ///
    /// # Safety
    ///
    /// It came from [`to_raw`](Self::to_raw), and the arena still lists what it names.
    #[inline(always)]
    pub(super) const unsafe fn from_raw(raw: u64) -> Self {
        Self(raw)
    }

    /// Whether entries may also be elsewhere.
    #[inline(always)]
    pub(super) const fn is_elsewhere(self) -> bool {
        self.0 & ELSEWHERE != 0
    }
}

/// What only the holder of the lock changes.
struct Books {
    blocks: Arena,
    /// The forms by their numbers. (Readers have their addresses.)
    forms: Vec<Arc<SharedForm>>,
    /// How many directories lead here.
    directories: usize,
}

/// An arena that other threads may look into at any time.
pub(crate) struct SharedArena {
    books: Mutex<Books>,
    chunks: Box<[AtomicPtr<u8>; MOST_CHUNKS]>,
    forms: Box<[AtomicPtr<SharedForm>; MOST_FORMS]>,
    /// An empty table, in the place of chunk 0.
    #[expect(dead_code, reason = "readers have its address")]
    nowhere: Words,
    /// Bytes of all chunks.
    bytes: AtomicUsize,
}

impl SharedArena {
    /// An arena without chunks.
    ///
    /// # Panics
    ///
    /// If the system has no memory for its lists.
    pub(crate) fn new() -> Arc<Self> {
        let nowhere = Words::zeroed(1).expect("memory for a few words");
        // One place of one slot; its window is inside the words.
        let form = Arc::new(SharedForm::new(1, Form::new(0, 8, 1), 0));
        assert!(form.bytes() <= nowhere.bytes() as u64, "the empty table is inside its words");
        let first = nowhere.first().as_ptr().cast();
        let arena = Self {
            books: Mutex::new(Books { blocks: Arena::modest(), forms: Vec::new(), directories: 0 }),
            chunks: Box::new([const { AtomicPtr::new(null_mut()) }; MOST_CHUNKS]),
            forms: Box::new([const { AtomicPtr::new(null_mut()) }; MOST_FORMS]),
            bytes: AtomicUsize::new(0),
            nowhere,
        };
        arena.chunks[0].store(first, Ordering::Relaxed);
        arena.list(&mut arena.books(), form);
        Arc::new(arena)
    }

    fn books(&self) -> MutexGuard<'_, Books> {
        // Nothing in here panics halfway, so the content is sound whatever happened to another thread.
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lists a form; returns its number.
    fn list(&self, books: &mut Books, form: Arc<SharedForm>) -> usize {
        let number = books.forms.len();
        self.forms[number].store(Arc::as_ptr(&form).cast_mut(), Ordering::Relaxed);
        books.forms.push(form);
        number
    }

    /// Takes a block of `bytes` bytes, whole cache lines; returns it and its first byte. Its content is arbitrary, and
    /// readers may look at it.
    pub(super) fn take(&self, bytes: usize) -> Option<(Block, NonNull<u8>)> {
        let mut books = self.books();
        let Taken { block, first, .. } = books.blocks.take(bytes)?;
        // Chunk 0 is the empty table.
        let Some(chunk) = self.chunks.get(block.chunk + 1) else {
            books.blocks.give_and_keep(block);
            return None;
        };
        let begin = books.blocks.chunk(block.chunk)?;
        chunk.store(begin.as_ptr(), Ordering::Relaxed);
        self.bytes.store(books.blocks.bytes(), Ordering::Relaxed);
        drop(books);
        // If a reader of another shard sees what is written here, it also sees that the change began which gave the
        // block away: that came before in the order of the lock.
        fence(Ordering::Release);
        Some((block, first))
    }

    /// Gives back a block that is written no more. Readers may still look at it.
    pub(super) fn give(&self, block: Block) {
        let mut books = self.books();
        if books.directories == 0 {
            books.blocks.give(block);
        } else {
            books.blocks.give_and_keep(block);
        }
        self.bytes.store(books.blocks.bytes(), Ordering::Relaxed);
    }

    /// Gives chunks without blocks back to the system, unless directories lead here.
    pub(crate) fn trim(&self) {
        let mut books = self.books();
        if books.directories == 0 {
            books.blocks.trim();
            self.bytes.store(books.blocks.bytes(), Ordering::Relaxed);
        }
    }

    /// Bytes of all chunks.
    #[inline(always)]
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Bytes of blocks that are free.
    pub(crate) fn free_bytes(&self) -> usize {
        self.books().blocks.free_bytes()
    }

    /// Counts a directory that leads here.
    pub(super) fn open(&self) {
        self.books().directories += 1;
    }

    /// A directory that led here does so no more.
    pub(super) fn close(&self) {
        self.books().directories -= 1;
    }

    /// What leads to a table, of which hashes have `depth` bits before what is drawn. Tables that are not in this arena
    /// are nowhere.
    pub(super) fn lead_to(self: &Arc<Self>, table: &PrefixTable, depth: u32, is_elsewhere: bool) -> Lead {
        let words = table.words();
        let Some(block) =
            words.lent_block().filter(|_| words.arena().is_some_and(|own| Arc::ptr_eq(own, self)))
        else {
            return Lead::NOWHERE;
        };
        let (places, form) = (table.places(), table.form());
        let mut books = self.books();
        let listed = books.forms.iter().position(|listed| listed.is(places, form, depth));
        let number = match listed {
            Some(number) => number,
            None if books.forms.len() < MOST_FORMS => {
                self.list(&mut books, Arc::new(SharedForm::new(places, form, depth)))
            }
            None => return Lead::NOWHERE,
        };
        assert!(books.forms[number].bytes() <= block.bytes as u64, "the table lies inside its block");
        let Ok(line) = u32::try_from(block.offset / LINE_BYTES) else { return Lead::NOWHERE };
        let chunk = block.chunk as u64 + 1;
        let what = (number as u64) << FORM | chunk << CHUNK | u64::from(line) << LINE;
        Lead(what | if is_elsewhere { ELSEWHERE } else { 0 })
    }

    /// The form and the first byte of the table that a lead of this arena leads to.
    ///
    /// # Safety
    ///
    /// The lead is one of this arena, and what it names is still listed.
    #[inline(always)]
    #[allow(
        clippy::cast_possible_truncation,
        reason = "32-bit targets: numbers of 9 bits, and an offset in a chunk"
    )]
    pub(super) unsafe fn follow(&self, lead: Lead) -> (&SharedForm, *const u8) {
        let Lead(lead) = lead;
        let form = self.forms[(lead >> FORM) as usize % MOST_FORMS].load(Ordering::Relaxed);
        let chunk = self.chunks[(lead >> CHUNK) as usize % MOST_CHUNKS].load(Ordering::Relaxed);
        // SAFETY: the form is listed, as the invariant says, and stays where it is.
        let form = unsafe { &*form };
        // SAFETY: the block is inside its chunk, as the invariant says.
        let first = unsafe { chunk.add((lead >> LINE) as usize * LINE_BYTES) };
        (form, first)
    }
}

impl fmt::Debug for SharedArena {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedArena").field("bytes", &self.bytes()).finish_non_exhaustive()
    }
}
