//! Runs the example `pattern_block_list`, which asserts what it shows.

#[allow(dead_code, reason = "a program of its own, whose main is not called here")]
#[path = "../examples/pattern_block_list.rs"]
mod block_list;

#[test]
fn block_list() {
    block_list::run().unwrap();
}
