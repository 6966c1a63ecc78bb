//! Files and folders of `dedup --jsonl`: which are read, and what is written.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use crate::common::Scene;
use crate::text::jsonl;
use crate::text_model::texts;

/// Returns the paths of all files in a folder and its folders, sorted.
fn tree(folder: &Path) -> Vec<String> {
    let mut all = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                all.push(path.strip_prefix(folder).unwrap().to_str().unwrap().to_owned());
            }
        }
    }
    all.sort();
    all
}

/// Returns what `query` reads from a file: its decompressed lines.
fn content(scene: &Scene, path: &str) -> String {
    scene.run_with("build -q --keys 10 -o no-line.malkoha", "nothing of this is in it\n").ok();
    scene.run(&format!("query -v no-line.malkoha {path}")).out
}

/// Writes folders with files of every compression. Returns their lines in the order in which they are read.
fn corpus(scene: &Scene) -> String {
    let all = texts(1200, 5);
    let names = [
        "in/a/1.jsonl",
        "in/a/2.json.gz",
        "in/b.ndjson.zst",
        "in/c/d/e.jsonl.bz2",
        "in/f.jsonl.xz",
        "in/g.jsonl",
    ];
    fs::create_dir_all(scene.path("plain")).unwrap();
    for (name, texts) in names.iter().zip(all.chunks(200)) {
        let path = scene.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        // Packed by the program: a first run that drops nothing.
        let file = path.file_name().unwrap().to_str().unwrap();
        scene.write(&format!("plain/{file}"), jsonl(texts));
        let args = format!("dedup -q --jsonl text --min-words 1000000 -o packed plain/{file}");
        scene.run(&args).ok();
        fs::rename(scene.path("packed").join(file), path).unwrap();
    }
    fs::remove_dir_all(scene.path("plain")).unwrap();
    fs::remove_dir_all(scene.path("packed")).unwrap();
    scene.write("in/notes.txt", "not JSON\n");
    scene.write("in/.hidden.jsonl", "not JSON\n");
    scene.write("in/empty.jsonl.gz", "");
    jsonl(&all)
}

#[test]
fn the_output_mirrors_the_input() {
    let scene = Scene::new("text-tree");
    let lines = corpus(&scene);
    scene.write("all.jsonl", &lines);
    let magic = |name: &str| scene.read(name)[..2].to_vec();
    assert_eq!(magic("in/a/2.json.gz"), [0x1F, 0x8B]);
    assert_eq!(magic("in/b.ndjson.zst"), [0x28, 0xB5]);
    assert_eq!(magic("in/c/d/e.jsonl.bz2"), *b"BZ");
    assert_eq!(magic("in/f.jsonl.xz"), [0xFD, b'7']);
    let expected = scene.run("dedup -q --jsonl text --ngram 3 all.jsonl").ok();
    assert!(expected.lines().count() < 1000);
    let names = [
        "a/1.jsonl",
        "a/2.json.gz",
        "b.ndjson.zst",
        "c/d/e.jsonl.bz2",
        "empty.jsonl.gz",
        "f.jsonl.xz",
        "g.jsonl",
    ];
    for threads in [1, 2, 4] {
        let ran = scene.run(&format!("dedup --jsonl text --ngram 3 -j {threads} -o out in"));
        assert!(ran.err.contains("documents  1,200 read"), "{}", ran.err);
        assert_eq!(ran.ok(), "");
        assert_eq!(tree(&scene.path("out")), names);
        let all: String = names.iter().map(|name| content(&scene, &format!("out/{name}"))).collect();
        assert!(all == expected, "{threads} threads");
        let same = fs::read_dir(scene.path("before")).is_err() || {
            let same = names
                .iter()
                .all(|name| scene.read(&format!("out/{name}")) == scene.read(&format!("before/{name}")));
            fs::remove_dir_all(scene.path("before")).unwrap();
            same
        };
        assert!(same, "bytes depend on the number of threads");
        fs::rename(scene.path("out"), scene.path("before")).unwrap();
    }
    assert_eq!(magic("before/empty.jsonl.gz"), [0x1F, 0x8B], "nothing, compressed");
}

#[test]
fn outputs_are_complete_or_not_there() {
    let scene = Scene::new("text-partial");
    fs::create_dir(scene.path("in")).unwrap();
    scene.write("in/1.jsonl", jsonl(&["a"]));
    scene.write("in/2.jsonl", jsonl(&texts(500, 1)) + "{\n");
    let mut command = scene.command("dedup -q --jsonl text -o out -j 1 in");
    command.env("MALKOHA_TEXT_BATCH", "100");
    assert_eq!(command.output().unwrap().status.code(), Some(2));
    assert_eq!(tree(&scene.path("out")), ["1.jsonl"]);
}

#[cfg(unix)]
#[test]
fn a_link_in_a_folder_that_leads_nowhere_is_an_error() {
    use std::os::unix::fs::symlink;

    let scene = Scene::new("text-links");
    fs::create_dir_all(scene.path("in")).unwrap();
    fs::create_dir_all(scene.path("elsewhere")).unwrap();
    scene.write("in/1.jsonl", jsonl(&["a"]));
    scene.write("2", jsonl(&["b"]));
    scene.write("elsewhere/3.jsonl", jsonl(&["c"]));
    symlink("../2", scene.path("in/2.jsonl")).unwrap();
    symlink("../elsewhere", scene.path("in/3.jsonl")).unwrap();
    // Links to files are read, and links to folders are not.
    assert_eq!(scene.run("dedup --jsonl text in").ok(), jsonl(&["a", "b"]));
    fs::remove_file(scene.path("2")).unwrap();
    scene.run("dedup --jsonl text in").fails(&["cannot open in/2.jsonl", "No such file"]);
    scene.run("dedup --jsonl text -o out in").fails(&["cannot open in/2.jsonl"]);
    assert!(!scene.path("out").exists());
}

#[test]
fn folders_in_which_something_would_be_lost_are_refused() {
    let scene = Scene::new("text-refused");
    for folder in ["in/x", "in/y", "full"] {
        fs::create_dir_all(scene.path(folder)).unwrap();
    }
    scene.write("in/x/1.jsonl", jsonl(&["a"]));
    scene.write("in/y/1.jsonl", jsonl(&["b"]));
    scene.write("full/keep", "");
    scene.run("dedup --jsonl text -o full in").fails(&["full is not empty"]);
    scene.run("dedup --jsonl text -o full/keep in").fails(&["full/keep is not a folder"]);
    scene.run("dedup --jsonl text -o in/out in").fails(&["in/out lies in the input"]);
    scene.run("dedup --jsonl text -o in/y/new/deep in").fails(&["in/y/new/deep lies in the input"]);
    scene.run("dedup --jsonl text -o out in/x in/y").fails(&["would both be written to 1.jsonl"]);
    scene.run_with("dedup --jsonl text -o out -", "").fails(&["-o takes the names of files"]);
    scene.run("dedup --jsonl text -o out full").fails(&["no file in full has a name"]);
    scene.run("dedup --jsonl text -o out in/x none").fails(&["cannot open none"]);
    assert!(!scene.path("out").exists());
}

#[test]
fn a_damaged_file_is_named() {
    let scene = Scene::new("text-damaged");
    fs::create_dir(scene.path("plain")).unwrap();
    scene.write("plain/a.jsonl.gz", jsonl(&texts(300, 2)));
    scene.run("dedup -q --jsonl text -o packed plain").ok();
    let packed = scene.read("packed/a.jsonl.gz");
    scene.write("cut.jsonl.gz", &packed[..packed.len() / 2]);
    scene.run("dedup --jsonl text cut.jsonl.gz").fails(&["cannot read cut.jsonl.gz"]);
}

#[test]
#[cfg(unix)]
fn a_reader_that_has_enough_ends_the_program() {
    let scene = Scene::new("text-pipe");
    scene.write("in.jsonl", jsonl(&texts(20_000, 4)));
    let mut child = scene.command("dedup -q --jsonl text in.jsonl").stdout(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    assert!(crate::common::ends_by_itself(&mut child).success());
}
