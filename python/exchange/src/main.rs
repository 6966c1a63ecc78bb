//! Filters across Rust and Python.
//!
//! ```text
//! malkoha-python-exchange write FOLDER    a file for every form of filter, with the keys below
//! malkoha-python-exchange check FOLDER    the files that Python wrote hold the keys below, and no others
//! ```

use std::error::Error;
use std::path::Path;

use malkoha::{Filter, Generations, Key, KeyHash, Sharded, Spec};

/// The keys that both sides store: text, bytes, and integers of all signs and widths. `tests/test_files.py` has the
/// same.
fn keys() -> Vec<KeyHash> {
    let hasher = malkoha::KeyHasher::new(SEED);
    let texts = [
        "",
        "cuckoo",
        "Kuckuck",
        "杜鹃",
        "a longer key, which has more than sixty-four bytes, as some keys in files have",
    ];
    let bytes: [&[u8]; 3] = [b"\x00", b"\xff\xfe", b"cuckoo again"];
    let small = [0i64, 1, -1, 127, -128, 65_535, i64::from(i32::MIN), i64::MAX, i64::MIN];
    let wide = [1u128 << 63, u128::from(u64::MAX), 1 << 64, u128::MAX];
    let negative = [-(1i128 << 63) - 1, i128::MIN];
    let mut keys: Vec<KeyHash> = texts.iter().map(|key| key.key_hash(&hasher)).collect();
    keys.extend(bytes.iter().map(|key| key.key_hash(&hasher)));
    keys.extend(small.iter().map(|key| key.key_hash(&hasher)));
    keys.extend(wide.iter().map(|key| key.key_hash(&hasher)));
    keys.extend(negative.iter().map(|key| key.key_hash(&hasher)));
    keys
}

/// The seed that both sides use.
const SEED: u64 = 2026;

fn spec() -> Spec {
    Spec::new(100, 1e-9).seed(SEED)
}

fn write(folder: &Path) -> Result<(), Box<dyn Error>> {
    let keys = keys();
    let mut single = spec().build()?;
    single.insert_slice(&keys)?;
    single.save(folder.join("single"))?;
    let mut growing = spec().growing().build()?;
    growing.insert_slice(&keys)?;
    growing.save(folder.join("growing"))?;
    let sharded = spec().sharded(4).build()?;
    sharded.insert_slice(&keys)?;
    sharded.save(folder.join("sharded"))?;
    let mut valued = spec().values(8).build()?;
    for (key, value) in keys.iter().zip(0..) {
        valued.insert_value(key, value)?;
    }
    valued.save(folder.join("map"))?;
    let mut window = Generations::of_keys(&spec(), 4)?;
    for key in &keys {
        window.insert(key)?;
    }
    window.save(folder.join("window"))?;
    Ok(())
}

fn check(folder: &Path) -> Result<(), Box<dyn Error>> {
    let keys = keys();
    let single = Filter::open(folder.join("single"))?;
    let growing = Filter::open(folder.join("growing"))?;
    let sharded = Sharded::open(folder.join("sharded"))?;
    let valued = Filter::open(folder.join("map"))?;
    let window = Generations::open(folder.join("window"))?;
    for (key, value) in keys.iter().zip(0..) {
        let found =
            [single.contains(key), growing.contains(key), sharded.contains(key), window.contains(key)];
        if found != [true; 4] || !valued.get(key)?.contains(&value) {
            return Err(format!("key {value} is missing: {found:?}").into());
        }
    }
    let count = keys.len() as u64;
    let lengths = [single.len(), growing.len(), sharded.len(), valued.len(), window.len()];
    if lengths != [count; 5] {
        return Err(format!("{count} keys, but there are {lengths:?}").into());
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["write", folder] => write(Path::new(folder)),
        ["check", folder] => check(Path::new(folder)),
        _ => Err("usage: malkoha-python-exchange write|check FOLDER".into()),
    }
}
