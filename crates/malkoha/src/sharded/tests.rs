//! Tests of the locks, which are only visible from inside.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::tags::Lock;
use super::*;
use crate::engine::reader::Front;
use crate::plan::Spec;

#[test]
fn every_lock_has_cache_lines_of_its_own() {
    assert_eq!(align_of::<Lock>(), 128);
    assert_eq!(align_of::<Front>(), 128);
}

#[test]
fn a_shard_whose_writer_panicked_answers_no_more_and_the_others_do() {
    let filter = Spec::new(1000, 0.001).sharded(2).build().unwrap();
    let on = |shard: usize| {
        (0..1000u64).filter(move |key| shard_of(key.key_hash(&KeyHasher::new(0)), 2).0 == shard)
    };
    (0..1000u64).for_each(|key| filter.insert(&key).unwrap());
    let broken = catch_unwind(AssertUnwindSafe(|| {
        let _change = filter.shards.valued().unwrap().write(0);
        panic!("as if the engine had a fault");
    }));
    assert!(broken.is_err());
    for key in on(1) {
        assert!(filter.contains(&key));
        filter.insert(&key).unwrap();
        assert_eq!(filter.remove(&key), Ok(true));
    }
    for key in on(0).take(10) {
        let answers: [Box<dyn Fn() -> bool>; 3] = [
            Box::new(|| filter.contains(&key)),
            Box::new(|| filter.insert(&key).is_ok()),
            Box::new(|| filter.remove(&key).is_ok()),
        ];
        for answer in answers {
            let refused = catch_unwind(AssertUnwindSafe(answer)).unwrap_err();
            let text = refused.downcast_ref::<String>().unwrap();
            assert!(text.contains("cannot be trusted"), "{text}");
        }
    }
}

#[test]
fn a_panic_of_the_caller_s_own_key_breaks_no_lock() {
    struct Bad;
    impl Key for Bad {
        fn key_hash(&self, _: &KeyHasher) -> KeyHash {
            panic!("a key that cannot be hashed")
        }
    }
    let filter = Spec::new(100, 0.01).sharded(1).build().unwrap();
    filter.insert("egg").unwrap();
    assert!(catch_unwind(AssertUnwindSafe(|| filter.insert(&Bad))).is_err());
    assert!(catch_unwind(AssertUnwindSafe(|| filter.insert_slice(&[Bad]))).is_err());
    assert!(filter.contains("egg"));
    assert_eq!(filter.remove("egg"), Ok(true));
}
