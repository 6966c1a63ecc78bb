//! Chains at their limits.

use super::*;
use crate::{Kind, Spec};

fn chain(spec: Spec) -> Chain {
    let geometry = spec.plan_chain().unwrap();
    Chain::new(&geometry, geometry.growth().unwrap()).unwrap()
}

/// More memory than there are addresses, and more pairs than hashes: either is refused, and nothing changes.
#[test]
fn a_link_that_cannot_be_made_changes_nothing() {
    for kind in [Kind::Sorted, Kind::Windowed(2), Kind::Bloom, Kind::Blocked(2)] {
        let mut chain = chain(Spec::new(100, 0.1).kind(kind));
        for hash in 0..100u64 {
            chain.insert(KeyHash::from_raw(crate::key::mix(hash))).unwrap();
        }
        let before = chain.clone();
        for keys in [1 << 52, 1 << 61, u64::MAX] {
            assert_eq!(chain.grow(keys), Err(Full), "{kind} {keys}");
            assert!(chain.links == before.links);
        }
        chain.grow(1).unwrap();
        assert_eq!(chain.links.len(), 2);
    }
}

#[test]
fn too_many_copies_of_a_key_do_not_add_links_for_ever() {
    let mut chain = chain(Spec::new(10, 0.01));
    let egg = KeyHash::from_raw(0x1234_5678_9ABC_DEF0);
    let stored = (0..100_000).take_while(|_| chain.insert(egg).is_ok()).count();
    assert!(stored > 16 && chain.links.len() < 6, "{stored} copies in {} links", chain.links.len());
    assert_eq!(chain.count(egg), u32::try_from(stored).unwrap());
    let before = chain.clone();
    assert_eq!(chain.insert(egg), Err(Full));
    assert!(chain.links == before.links);
    for _ in 0..stored {
        assert!(chain.remove(egg));
    }
    assert!(!chain.remove(egg));
    assert_eq!(chain.len(), 0);
}
