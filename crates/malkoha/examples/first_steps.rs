//! The first ten lines with malkoha: insert, look up, save, open, remove.

use malkoha::{Error, Filter, Spec};

fn main() -> Result<(), Error> {
    run()
}

pub(crate) fn run() -> Result<(), Error> {
    let path = std::env::temp_dir().join(format!("first-steps-{}.malkoha", std::process::id()));
    let mut filter = Spec::new(1_000_000, 0.001).build()?;
    filter.insert("cuckoo")?;
    filter.insert_slice(&["koel", "malkoha"])?;
    assert!(filter.contains("cuckoo"));
    filter.save(&path)?;
    let mut again = Filter::open(&path)?;
    assert!(again.remove("cuckoo")?);
    assert_eq!(again.len(), 2);
    let _ = std::fs::remove_file(path);
    Ok(())
}
