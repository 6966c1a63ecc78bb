//! A window as bytes: a compound of the links of all its generations.

use std::io::{self, Read, Write};
use std::path::Path;

use crate::error::Error;
use crate::filter::Filter;
use crate::store::{self, Form, Input};

use super::chain;
use crate::generations::{Clock, Generations, MOST_GENERATIONS};

/// The count of numbers before the numbers of links: load, offsets, ticks, whether the time is known, and when
/// the newest generation began.
const FIRST_COUNT: usize = 5;

/// The first two numbers of a window whose generations are elastic filters, not chains.
const ELASTIC: [u64; 2] = [0, 2];

/// The parts of a generation: the links of a chain, or an elastic filter.
fn parts_of(generation: &Filter) -> &[Filter] {
    if generation.elastic().is_some() { core::slice::from_ref(generation) } else { generation.links() }
}

impl Generations {
    /// Writes the window to a file, as [`Filter::save`] writes a filter.
    ///
    /// ```
    /// use malkoha::{Generations, Spec};
    /// let folder = std::env::temp_dir().join(format!("malkoha-doc-window-{}", std::process::id()));
    /// std::fs::create_dir_all(&folder).unwrap();
    /// let path = folder.join("events.window");
    ///
    /// let mut window = Generations::of_keys(&Spec::new(1000, 0.001), 4)?;
    /// window.insert_unique("event 1")?;
    /// window.save(&path)?;
    /// assert!(Generations::open(&path)?.contains("event 1"));
    /// # std::fs::remove_dir_all(&folder).unwrap();
    /// # Ok::<(), malkoha::Error>(())
    /// ```
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        store::save(path.as_ref(), |out| self.write(out))
    }

    /// Reads a window from a file and verifies all of it.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        store::open(path.as_ref(), Self::read)
    }

    /// Returns the window as bytes, the same that [`save`](Self::save) writes.
    pub fn to_bytes(&self) -> Result<Vec<u8>, Error> {
        store::to_bytes(store::compound_bytes(&self.numbers(), &self.links()), |out| self.write(out))
    }

    /// Reads a window from bytes, which may come from anywhere, and verifies all of them.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        store::from_bytes(bytes, Self::read)
    }

    /// Reads a window from a stream of `length` bytes, as [`Filter::read_sized`] reads a filter.
    ///
    /// ```
    /// let window = malkoha::Generations::of_keys(&malkoha::Spec::new(1000, 0.001), 4)?;
    /// let bytes = window.to_bytes()?;
    /// let again = malkoha::Generations::read_sized(&bytes[..], bytes.len() as u64)?;
    /// assert_eq!(again.to_bytes()?, bytes);
    /// # Ok::<(), malkoha::Error>(())
    /// ```
    pub fn read_sized(mut from: impl Read, length: u64) -> Result<Self, Error> {
        store::from_sized(&mut from, length, Self::read)
    }

    fn numbers(&self) -> Vec<u64> {
        let [load, offsets] = self.geometry.growth().map_or(ELASTIC, chain::numbers);
        let clock = self.clock.unwrap_or(Clock { ticks: 0, began: None });
        let told = u64::from(clock.began.is_some());
        let mut numbers = vec![load, offsets, clock.ticks, told, clock.began.unwrap_or(0)];
        numbers.extend(self.filters.iter().map(|generation| parts_of(generation).len() as u64));
        numbers
    }

    /// The parts of all generations: the newest generation first, and within each the oldest link first.
    fn links(&self) -> Vec<&Filter> {
        self.filters.iter().flat_map(parts_of).collect()
    }

    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        store::write_compound(out, Form::Generations, &self.numbers(), &self.links())
    }

    fn read(input: &mut Input<'_>) -> Result<Self, Error> {
        let (numbers, links) = store::read_compound(input, Form::Generations)?;
        let Some((&[load, offsets, ticks, told, began], counts)) = numbers.split_first_chunk::<FIRST_COUNT>()
        else {
            return Err(store::bad_count(numbers.len(), "a window has at least 7"));
        };
        if !(2..=MOST_GENERATIONS as usize).contains(&counts.len()) {
            let expected =
                format!("a window of 2 to {MOST_GENERATIONS} generations has {FIRST_COUNT} more than these");
            return Err(store::bad_count(numbers.len(), &expected));
        }
        let clock = match (ticks, told, began) {
            (0, 0, 0) => None,
            (1.., 0, 0) => Some(Clock { ticks, began: None }),
            (1.., 1, _) => Some(Clock { ticks, began: Some(began) }),
            _ => return Err(store::bad_number(2, "ticks and time do not agree")),
        };
        let begins = store::part_offsets(&numbers, &links);
        let (mut rest, mut first) = (links, 0);
        let mut generations: Vec<Filter> = Vec::new();
        for (index, &count) in (FIRST_COUNT..).zip(counts) {
            let possible = |count: &usize| (1..=rest.len()).contains(count);
            let Some(count) = usize::try_from(count).ok().filter(possible) else {
                let what =
                    format!("{count} links where {} are left, at least one per generation", rest.len());
                return Err(store::bad_number(index, what));
            };
            let others = rest.split_off(count);
            let generation = match <[Filter; 1]>::try_from(rest) {
                Ok([elastic]) if [load, offsets] == ELASTIC && elastic.geometry().elastic().is_some() => {
                    elastic
                }
                Ok(one) => chain::from_links([load, offsets], one.into(), &begins[first..])?,
                Err(links) => chain::from_links([load, offsets], links, &begins[first..])?,
            };
            if generations.first().is_some_and(|newest| newest.geometry() != generation.geometry()) {
                let what = "a generation differs from the newest in its plan or seed";
                return Err(Error::corrupt("link", begins[first], what));
            }
            generations.push(generation);
            (rest, first) = (others, first + count);
        }
        if !rest.is_empty() {
            return Err(store::bad_parts(format!("{} links belong to no generation", rest.len())));
        }
        let geometry = *generations[0].geometry();
        Ok(Self { geometry, filters: generations.into(), clock })
    }
}
