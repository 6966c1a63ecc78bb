//! Windows and sharded filters read from bytes of an attacker.

use super::Stream;
use super::hostile::{inserts, look_at};
use crate::{Error, Generations, Inserted, Sharded};

/// Does everything that can be done with a window.
pub(super) fn provoke_window(mut window: Generations, bytes: &[u8]) -> Result<(), Error> {
    assert!(window.to_bytes()? == bytes, "what is accepted is written again as it was read");
    look_at_window(&window);
    let mut stream = Stream::new(bytes.len() as u64);
    let inserts = window.generations().next().map_or(0, |newest| inserts(newest.geometry()));
    for _ in 0..inserts {
        let key = stream.draw();
        // Early, late and far too late.
        window.advance(stream.draw() >> stream.below(64));
        if window.insert_unique(&key).is_ok() {
            assert!(window.contains(&key), "a key that is stored is found");
            assert_eq!(window.insert_unique(&key), Ok(Inserted::Seen), "and was seen");
        }
        let keys = [stream.draw(), key, stream.draw()];
        let _ = window.insert_unique_slice(&keys);
        let _ = window.insert(&stream.draw());
        if stream.below(8) == 0 {
            window.rotate();
        }
    }
    look_at_window(&window);
    assert!(Generations::from_bytes(&window.to_bytes()?)? == window, "it is as sound as before");
    window.clear();
    assert!(window.is_empty());
    Ok(())
}

/// Calls everything on a window that does not change it.
fn look_at_window(window: &Generations) {
    window.generations().for_each(look_at);
    let keys: Vec<u64> = (0..100).collect();
    for (key, found) in keys.iter().zip(window.contains_slice(&keys)) {
        assert_eq!(window.contains(key), found, "a slice answers as single calls do");
    }
    assert!(window.clone() == *window, "a copy is equal");
    let _ = format!("{window:?} {} {}", window.stats(), window.len());
    let _ = (window.keys(), window.ticks(), window.rate());
}

/// Does everything that can be done with a sharded filter.
pub(super) fn provoke_sharded(mut filter: Sharded, bytes: &[u8]) -> Result<(), Error> {
    assert!(filter.to_bytes()? == bytes, "what is accepted is written again as it was read");
    look_at_shards(&filter);
    let mut stream = Stream::new(bytes.len() as u64);
    let inserts = inserts(filter.geometry().shard());
    for _ in 0..inserts {
        let key = stream.draw();
        if filter.insert(&key).is_ok() {
            assert!(filter.contains(&key), "a key that is stored is found");
        }
        let _ = filter.insert_unique(&stream.draw());
        let _ = filter.remove(&stream.draw());
        let _ = filter.insert_slice(&[stream.draw(), key]);
        let _ = filter.insert_unique_slice(&[stream.draw(), key]);
        let _ = filter.remove_slice(&[stream.draw(), key]);
        let _ = (filter.insert_value(&key, 1), filter.update_value(&key, 1, 0), filter.remove_value(&key, 0));
    }
    let keys: Vec<u64> = (0..inserts).map(|_| stream.draw()).collect();
    let _ = filter.extend(&keys, 2);
    let other = filter.clone();
    let _ = (filter.merge(&other), filter.merge_unique(&other));
    look_at_shards(&filter);
    assert!(Sharded::from_bytes(&filter.to_bytes()?)? == filter, "it is as sound as before");
    filter.clear();
    assert!(filter.is_empty());
    Ok(())
}

/// Calls everything on a sharded filter that does not change it.
fn look_at_shards(filter: &Sharded) {
    let keys: Vec<u64> = (0..100).collect();
    for (key, found) in keys.iter().zip(filter.contains_slice(&keys)) {
        assert_eq!(filter.contains(key), found, "a slice answers as single calls do");
        let _ = (filter.count(key), filter.get(key));
    }
    let _ = filter.count_slice(&keys);
    assert!(filter.clone() == *filter, "a copy is equal");
    let _ = format!("{filter:?} {} {}", filter.stats(), filter.shard_stats().len());
    let _ = (filter.geometry().bytes(), filter.geometry().bits_per_key());
}
