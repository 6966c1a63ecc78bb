//! Which files are read, and which files the results go to.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::input::is_standard_input;

/// Ends of the names of files with JSON lines, if they are not compressed.
const NAMES: [&str; 3] = [".jsonl", ".json", ".ndjson"];

/// Ends of the names of compressed files.
const COMPRESSED: [&str; 4] = [".gz", ".zst", ".bz2", ".xz"];

/// A file to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Leaf {
    pub(super) input: PathBuf,
    /// The path of its output, relative to the output folder.
    pub(super) output: PathBuf,
}

/// Returns all files of the inputs, in the order in which they are read: inputs as given, and the content of
/// a folder by name.
pub(super) fn leaves(inputs: &[PathBuf]) -> Result<Vec<Leaf>> {
    let mut leaves = Vec::new();
    for input in inputs {
        if is_standard_input(input) {
            leaves.push(Leaf { input: input.clone(), output: PathBuf::from("stdin.jsonl") });
            continue;
        }
        let metadata = fs::metadata(input).with_context(|| format!("cannot open {}", input.display()))?;
        if metadata.is_dir() {
            let before = leaves.len();
            walk(input, Path::new(""), &mut leaves)?;
            if leaves.len() == before {
                bail!("no file in {} has a name that ends in .jsonl, .json or .ndjson", input.display());
            }
        } else {
            let name = input.file_name().with_context(|| format!("{} has no name", input.display()))?;
            leaves.push(Leaf { input: input.clone(), output: PathBuf::from(name) });
        }
    }
    Ok(leaves)
}

/// Appends the files in a folder and its folders. Hidden ones are left out, and links to folders are not
/// followed, which could lead in circles.
fn walk(folder: &Path, below: &Path, leaves: &mut Vec<Leaf>) -> Result<()> {
    let read = || -> std::io::Result<Vec<_>> {
        let mut entries = fs::read_dir(folder)?.collect::<std::io::Result<Vec<_>>>()?;
        entries.sort_by_key(fs::DirEntry::file_name);
        Ok(entries)
    };
    for entry in read().with_context(|| format!("cannot read the folder {}", folder.display()))? {
        let (path, name) = (entry.path(), entry.file_name());
        let bytes = name.as_encoded_bytes();
        if bytes.starts_with(b".") {
            continue;
        }
        let kind = entry.file_type().with_context(|| format!("cannot read {}", path.display()))?;
        if kind.is_dir() {
            walk(&path, &below.join(&name), leaves)?;
        } else if has_lines(bytes) {
            // A link that leads nowhere is a file that would be missing.
            let found = fs::metadata(&path).with_context(|| format!("cannot open {}", path.display()))?;
            if found.is_file() {
                leaves.push(Leaf { input: path, output: below.join(&name) });
            }
        }
    }
    Ok(())
}

/// Returns whether a file with this name has JSON lines. Capitals are taken as small letters.
fn has_lines(name: &[u8]) -> bool {
    let name = name.to_ascii_lowercase();
    let inner = COMPRESSED.iter().find_map(|end| name.strip_suffix(end.as_bytes())).unwrap_or(&name);
    NAMES.iter().any(|end| inner.ends_with(end.as_bytes()))
}

/// Refuses an output folder in which something would be lost, or that would become part of the input.
pub(super) fn check_folder(folder: &Path, inputs: &[PathBuf], leaves: &[Leaf]) -> Result<()> {
    let shown = folder.display();
    match fs::read_dir(folder).map(|mut entries| entries.next().is_none()) {
        Ok(false) => {
            bail!("{shown} is not empty; give an empty or a new folder with -o")
        }
        Err(_) if folder.exists() => bail!("{shown} is not a folder that can be read; give another with -o"),
        _ => {}
    }
    // A folder that does not exist yet lies where the part of its path that exists leads.
    let there = folder.ancestors().find_map(|part| {
        let part = if part.as_os_str().is_empty() { Path::new(".") } else { part };
        part.canonicalize().ok()
    });
    for input in inputs.iter().filter(|input| input.is_dir()) {
        if let (Some(there), Ok(input)) = (&there, input.canonicalize())
            && there.starts_with(&input)
        {
            bail!("{shown} lies in the input {}; give another folder with -o", input.display());
        }
    }
    let mut outputs = BTreeMap::new();
    for leaf in leaves {
        if is_standard_input(&leaf.input) {
            bail!("-o takes the names of files; leave it out to write to standard output");
        }
        if let Some(other) = outputs.insert(&leaf.output, &leaf.input) {
            let (one, other) = (other.display(), leaf.input.display());
            bail!(
                "{one} and {other} would both be written to {}; give the folder above them",
                leaf.output.display()
            );
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_with_lines_are_known_by_their_names() {
        for name in [
            "a.jsonl",
            "a.json",
            "a.ndjson",
            "b.jsonl.gz",
            "b.json.zst",
            "b.ndjson.xz",
            "a.jsonl.bz2",
            "A.JSONL",
            "a.jsonl.GZ",
        ] {
            assert!(has_lines(name.as_bytes()), "{name}");
        }
        for name in ["a.txt", "jsonl", "a.jsonl.txt", "a.gz", "a.jsonl.gz.gz", "a.jsonl.partial"] {
            assert!(!has_lines(name.as_bytes()), "{name}");
        }
    }
}
