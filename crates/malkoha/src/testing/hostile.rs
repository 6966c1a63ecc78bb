//! Bytes from an attacker: everything that can be done with a filter read from them.

use super::{Stream, compounds};
use crate::bloom::Cost;
use crate::store::HEADER_NUMBERS;
use crate::{Error, Filter, Generations, Geometry, Layout, Sharded};

/// Makes changed bytes consistent again: the numbers that follow from others, the lengths of the sections,
/// and all checksums. An attacker can do that too.
pub fn seal(bytes: &mut Vec<u8>) {
    crate::store::seal(bytes);
}

/// Reads a filter, a window or a sharded filter from untrusted bytes and, if it is accepted, does everything
/// with it that can be done. Returns why it was refused.
///
/// # Panics
///
/// If anything panics, or if an accepted filter does not write the bytes that it was read from, or loses a
/// key that it stored.
pub fn provoke(bytes: &[u8]) -> Result<(), Error> {
    match Filter::from_bytes(bytes) {
        Err(Error::Form { .. }) => {}
        filter => return provoke_filter(filter?, bytes),
    }
    match Generations::from_bytes(bytes) {
        Err(Error::Form { .. }) => compounds::provoke_sharded(Sharded::from_bytes(bytes)?, bytes),
        window => compounds::provoke_window(window?, bytes),
    }
}

/// The number of inserts into a filter of this geometry. Inserts into full tables take all the steps they are
/// allowed, so there are fewer where those are many.
pub(super) fn inserts(geometry: &Geometry) -> u64 {
    let steps = geometry.cuckoo().map_or(1, |layout| u64::from(layout.max_steps));
    (200_000 / steps).clamp(2, 100)
}

fn provoke_filter(mut filter: Filter, bytes: &[u8]) -> Result<(), Error> {
    assert!(filter.to_bytes()? == bytes, "what is accepted is written again as it was read");
    look_at(&filter);
    let mut stream = Stream::new(bytes.len() as u64);
    let inserts = inserts(filter.geometry());
    for _ in 0..inserts {
        let key = stream.draw();
        if filter.insert(&key).is_ok() {
            assert!(filter.contains(&key), "a key that is stored is found");
        }
        let _ = filter.insert_unique(&stream.draw());
        let _ = filter.remove(&stream.draw());
        if stream.below(2) == 0 {
            let _ = filter.remove(&key);
        }
        provoke_values(&mut filter, &mut stream);
    }
    let keys: Vec<u64> = (0..inserts).map(|_| stream.draw()).collect();
    let _ = filter.extend(&keys, 2);
    let other = filter.clone();
    let _ = filter.merge(&other);
    let _ = filter.merge_unique(&other);
    look_at(&filter);
    let again = filter.to_bytes()?;
    assert!(Filter::from_bytes(&again)? == filter, "it is as sound as before");
    filter.clear();
    assert!(filter.is_empty());
    Ok(())
}

/// Does with a filter what only filters with values can do.
fn provoke_values(filter: &mut Filter, stream: &mut Stream) {
    let (key, values) = (stream.draw(), 1u64 << filter.geometry().value_bits());
    #[expect(clippy::cast_possible_truncation, reason = "at most 16 bits")]
    let [old, new] = [(); 2].map(|()| stream.below(values) as u16);
    if filter.insert_value(&key, old).is_ok() {
        assert_eq!(filter.update_value(&key, old, new), Ok(true), "a value that is stored can be changed");
        assert!(filter.get(&key).is_ok_and(|values| values.contains(&new)), "and is found");
    }
    if filter.or_value(&key, new).is_ok() {
        assert!(filter.union(&key).is_ok_and(|union| union & new == new), "bits that are stored are found");
    }
    let _ = filter.remove_value(&stream.draw(), new);
    let _ = filter.extend_values(&[key, key], &[old, new], 1);
}

/// Calls everything on a filter that does not change it.
///
/// # Panics
///
/// If answers are inconsistent.
pub fn look_at(filter: &Filter) {
    let keys: Vec<u64> = (0..100).collect();
    for (key, found) in keys.iter().zip(filter.contains_slice(&keys)) {
        assert_eq!(filter.contains(key), found, "a slice answers as single calls do");
        let _ = filter.count(key);
        let _ = filter.get(key);
    }
    let copy = filter.clone();
    assert!(copy == *filter, "a copy is equal");
    let _ = format!("{filter:?} {}", filter.stats());
    let _ = filter.fill();
    // With choices, some numbers need the model of the block load: a tenth of a second, too long for many
    // calls.
    let quick = match filter.geometry().layout() {
        Layout::Blocked(layout) => layout.choices == 1 && layout.cost == Cost::default(),
        _ => true,
    };
    if quick {
        let _ = (filter.estimate_keys(), filter.geometry().load(), filter.geometry().bits_per_key());
        let _ = filter.geometry().predicted_rate(u64::MAX);
    }
}

/// Changes bytes in one of the ways that matter: a bit, a byte, a number, a run of bytes.
#[expect(clippy::missing_panics_doc, reason = "eight bytes are eight bytes")]
pub fn damage(bytes: &mut [u8], stream: &mut Stream) {
    #[expect(clippy::cast_possible_truncation, reason = "below a length")]
    let mut below = |bound: usize| stream.below(bound as u64) as usize;
    if bytes.len() < 8 {
        return;
    }
    let numbers = bytes.len() / 8;
    match below(5) {
        0 => bytes[below(bytes.len())] ^= 1 << below(8),
        #[expect(clippy::cast_possible_truncation, reason = "a byte")]
        1 => bytes[below(bytes.len())] = below(256) as u8,
        2 => {
            // A number of the header, most of which are small, becomes another.
            let at = 8 * below(numbers.min(HEADER_NUMBERS));
            let old = u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
            let new = match below(8) {
                0 => old.wrapping_add(1),
                1 => old.wrapping_sub(1),
                2 => old.wrapping_mul(2),
                3 => old / 2,
                4 => 1 << below(64),
                5 => u64::MAX >> below(64),
                6 => below(300) as u64,
                _ => 0,
            };
            bytes[at..at + 8].copy_from_slice(&new.to_le_bytes());
        }
        3 => {
            let (from, to) = (8 * below(numbers), 8 * below(numbers));
            bytes.copy_within(from..from + 8, to);
        }
        _ => {
            let begin = below(bytes.len());
            let end = (begin + 1 + below(64)).min(bytes.len());
            let fill = [0, 0xFF, 0x55][below(3)];
            bytes[begin..end].fill(fill);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damage_reaches_every_number_of_a_header() {
        // The header is a small part of these bytes: whatever hits one of its numbers was meant for the
        // header.
        let mut bytes = vec![0; 1 << 20];
        let mut stream = Stream::new(1);
        let mut hit = [0; HEADER_NUMBERS];
        for _ in 0..20_000 {
            let before = bytes[..8 * HEADER_NUMBERS].to_vec();
            damage(&mut bytes, &mut stream);
            for (number, hit) in hit.iter_mut().enumerate() {
                let range = 8 * number..8 * number + 8;
                *hit += u32::from(bytes[range.clone()] != before[range]);
            }
        }
        assert!(hit.iter().all(|hit| *hit > 10), "{hit:?}");
    }
}
