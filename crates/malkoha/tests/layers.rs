//! The layers of the engine: a module uses only modules of lower layers.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The layers, from the bottom up. Modules of one layer do not use each other. `ARCHITECTURE.md` has a picture.
const LAYERS: [&[&str]; 10] = [
    &["key", "kind"],
    &["error"],
    &["bits"],
    &["theory", "engine"],
    &["cuckoo", "bloom", "elastic"],
    &["plan"],
    &["filter"],
    &["generations", "sharded"],
    &["store"],
    // Models and harnesses may use everything, and only tests use them.
    &["testing"],
];

fn layer(module: &str) -> Option<usize> {
    LAYERS.iter().position(|layer| layer.contains(&module))
}

fn sources(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, files);
        } else if path.extension().is_some_and(|end| end == "rs") {
            files.push(path);
        }
    }
}

/// The top-level module that a file belongs to.
fn module(file: &Path, root: &Path) -> String {
    let inside = file.strip_prefix(root).unwrap().components().next().unwrap().as_os_str();
    inside.to_str().unwrap().trim_end_matches(".rs").to_owned()
}

/// The top-level modules that a source text names in code, without unit tests.
fn used(text: &str) -> BTreeSet<String> {
    let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
    let code = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    let names = code.flat_map(|line| {
        line.split("crate::")
            .skip(1)
            .map(|rest| rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap().to_owned())
            .collect::<Vec<_>>()
    });
    // Names that begin with a capital letter are types re-exported at the top.
    names.filter(|name| name.starts_with(char::is_lowercase)).collect()
}

#[test]
fn modules_use_only_lower_layers() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&root, &mut files);
    let (mut edges, mut seen) = (0, BTreeSet::new());
    for file in files {
        let from = module(&file, &root);
        // Unit tests may use higher layers: they build whole filters.
        if from == "lib" || from == "testing" || file.ends_with("tests.rs") || file.ends_with("crash.rs") {
            continue;
        }
        let own = layer(&from).unwrap_or_else(|| panic!("{from} has no layer"));
        for to in used(&fs::read_to_string(&file).unwrap()) {
            if to == from {
                continue;
            }
            let other =
                layer(&to).unwrap_or_else(|| panic!("{} uses {to}, which has no layer", file.display()));
            assert!(other < own, "{} uses {to}, which is not below {from}", file.display());
            edges += 1;
            seen.insert(from.clone());
        }
    }
    assert!(edges > 100, "only {edges} uses were found");
    let above: BTreeSet<_> =
        LAYERS[1..9].iter().flat_map(|layer| layer.iter().map(|name| (*name).to_owned())).collect();
    assert_eq!(seen, above, "every layer but the lowest uses others");
}

#[test]
fn uses_are_found_in_code_only() {
    let text = "/// crate::no\nuse crate::yes::{A, b};\nlet x = crate::also::f(crate::Type);\n#[cfg(test)]\nmod tests {\nuse crate::no;";
    assert_eq!(used(text).into_iter().collect::<Vec<_>>(), ["also", "yes"]);
}
