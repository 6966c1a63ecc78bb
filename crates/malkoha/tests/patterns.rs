//! The examples `first_steps` and `pattern_*`: each asserts what it shows, and is run here.

macro_rules! patterns {
    ($($name:ident $path:literal),* $(,)?) => {$(
        #[allow(dead_code, reason = "a program of its own, whose main is not called here")]
        #[path = $path]
        mod $name;

        #[test]
        fn $name() {
            $name::run().unwrap();
        }
    )*};
}

patterns! {
    cache_admission "../examples/pattern_cache_admission.rs",
    first_steps "../examples/first_steps.rs",
    distributed_dedup "../examples/pattern_distributed_dedup.rs",
    per_file "../examples/pattern_per_file.rs",
    read_path "../examples/pattern_read_path.rs",
    ttl_dedup "../examples/pattern_ttl_dedup.rs",
}
