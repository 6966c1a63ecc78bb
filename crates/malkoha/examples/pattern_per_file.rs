//! A filter for each sorted file of a log-structured store: it is written, opened and dropped together with the
//! file. No key is ever removed from such a filter, so a Bloom kind would do as well.
//!
//! ```text
//! cargo run -p malkoha --example pattern_per_file
//! ```

use std::path::{Path, PathBuf};

use malkoha::{Filter, Spec};

const RATE: f64 = 0.01;

/// A data file and its filter.
struct Table {
    path: PathBuf,
    keys: Vec<u64>,
    filter: Filter,
}

impl Table {
    fn write(folder: &Path, number: u32, keys: Vec<u64>) -> Result<Self, Box<dyn std::error::Error>> {
        let path = folder.join(format!("{number}.filter"));
        // When a file is written, the exact number of keys is known.
        Spec::new(keys.len() as u64, RATE).dense().build_from(&keys)?.save(&path)?;
        Ok(Self { filter: Filter::open(&path)?, path, keys })
    }

    /// Whether the file holds a key. Counts the reads of the file itself.
    fn get(&self, key: u64, reads: &mut u64) -> bool {
        self.filter.contains(&key) && {
            *reads += 1;
            self.keys.binary_search(&key).is_ok()
        }
    }

    /// Removes the file together with its filter.
    fn drop_file(self) -> std::io::Result<()> {
        std::fs::remove_file(self.path)
    }
}

/// Ten files, and a compaction of two of them.
pub(crate) fn run() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::temp_dir().join(format!("malkoha-per-file-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    // Ten files; file f has the numbers f, f + 10, f + 20 and so on.
    let mut tables = (0..10u32)
        .map(|number| Table::write(&folder, number, (0..2_000).map(|i| u64::from(number) + 10 * i).collect()))
        .collect::<Result<Vec<_>, _>>()?;

    let mut reads = 0;
    for key in 0..20_000u64 {
        assert!(tables.iter().any(|table| table.get(key, &mut reads)), "{key} is lost");
    }
    // One read finds a key; one in a hundred of the files tried before it is read in vain.
    assert!(reads < 20_000 + 20_000 * 9 / 2 / 80, "{reads} reads");

    // Compaction: two files become one, with its own filter; every third key was deleted meanwhile.
    let (second, first) = (tables.pop().ok_or("ten files")?, tables.pop().ok_or("ten files")?);
    let mut keys: Vec<u64> =
        first.keys.iter().chain(&second.keys).copied().filter(|key| key % 3 != 0).collect();
    keys.sort_unstable();
    tables.push(Table::write(&folder, 10, keys)?);
    first.drop_file()?;
    second.drop_file()?;
    let last = &tables[8];
    assert!((8..20_000u64).step_by(10).all(|key| last.get(key, &mut reads) == (key % 3 != 0)));

    std::fs::remove_dir_all(&folder)?;
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    run()
}
