//! Two hazards that no filter can prevent, shown so that they are not mistaken for bugs.

use malkoha::{Filter, Inserted, Kind, Spec};

/// A filter with one key, and another key that looks the same to it.
fn twins(kind: Kind) -> (Filter, u64, u64) {
    let mut filter = Spec::new(100, 0.1).kind(kind).build().unwrap();
    filter.insert(&0u64).unwrap();
    let twin = (1..1_000_000u64).find(|key| filter.contains(key)).expect("at this rate there is a twin");
    (filter, 0, twin)
}

#[test]
fn a_seen_key_is_not_stored() {
    for kind in Kind::cuckoos() {
        let (mut filter, stored, twin) = twins(kind);
        assert_eq!(filter.insert_unique(&twin), Ok(Inserted::Seen));
        assert_eq!(filter.len(), 1, "only the first of the two is stored");
        assert_eq!(filter.remove(&stored), Ok(true));
        assert!(!filter.contains(&twin), "the other is no longer found either");
    }
}

#[test]
fn removing_a_key_that_was_never_stored_may_remove_another() {
    for kind in Kind::cuckoos() {
        let (mut filter, stored, twin) = twins(kind);
        assert_eq!(filter.remove(&twin), Ok(true));
        assert!(!filter.contains(&stored), "{kind}: the stored key is gone");
    }
}

#[test]
fn storing_both_of_two_keys_that_look_alike_is_safe() {
    for kind in Kind::cuckoos() {
        let (mut filter, stored, twin) = twins(kind);
        filter.insert(&twin).unwrap();
        assert_eq!(filter.remove(&twin), Ok(true));
        assert!(filter.contains(&stored), "{kind}: each has its own copy");
    }
}
