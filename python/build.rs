//! Tells the sources which interpreter they are built for.

fn main() {
    pyo3_build_config::use_pyo3_cfgs();
}
