//! Runs the program as README.md and the documents of its commands show it.
#![cfg(unix)]

use crate::common::Scene;
use std::path::Path;
use std::process::Command;

const README: &str = include_str!("../../../README.md");
const PROGRAM: &str = include_str!("../../../docs/PROGRAM.md");
const READS: &str = include_str!("../../../docs/READS.md");
const TEXT: &str = include_str!("../../../docs/TEXT.md");

/// Returns the first block of shell commands of a document after these words.
fn commands(document: &'static str, words: &str) -> Vec<&'static str> {
    let (_, rest) = document.split_once(words).expect("the document has these words");
    let (_, block) = rest.split_once("```sh\n").expect("a block of commands follows");
    let (block, _) = block.split_once("```").expect("the block ends");
    block.lines().collect()
}

/// Runs commands one after the other in a shell each; returns what each printed.
fn run(scene: &Scene, commands: &[&str]) -> Vec<String> {
    let program = Path::new(env!("CARGO_BIN_EXE_malkoha")).parent().unwrap().to_owned();
    let others = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths([program].into_iter().chain(std::env::split_paths(&others))).unwrap();
    let run = |line: &&str| {
        let output = Command::new("sh")
            .args(["-ec", line])
            .current_dir(scene.folder())
            .env("PATH", &path)
            .output()
            .expect("there is a shell");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{line}: {said}");
        String::from_utf8(output.stdout).unwrap()
    };
    commands.iter().map(run).collect()
}

#[test]
fn the_commands_of_the_readme_work_one_after_the_other() {
    let scene = Scene::new("readme");
    let commands = commands(README, "\n## The program\n");
    assert!(commands.iter().filter(|line| line.starts_with("malkoha ")).count() >= 8, "{commands:?}");
    run(&scene, &commands);
    assert_eq!(scene.files(), ["candidates.txt", "words.malkoha", "words.txt.gz"]);
}

#[test]
fn the_examples_with_tables_work() {
    let scene = Scene::new("readme-tables");
    let printed = run(&scene, &commands(PROGRAM, "\n## Tables\n"));
    let [.., firsts, _, known, new] = &printed[..] else { panic!("{printed:?}") };
    assert_eq!(firsts, "id,email\n1,ada@x.org\n2,bob@x.org\n");
    assert_eq!((&known[..], &new[..]), ("5;ada;ada@x.org\n", "4;cyd;cyd@x.org\n"));
}

#[test]
fn the_example_with_texts_works() {
    let printed = run(&Scene::new("readme-texts"), &commands(TEXT, "\nTo try it, "));
    assert_eq!(printed, ["{\"text\":\"owl\"}\n"]);
}

#[test]
fn the_example_with_reads_works() {
    let printed = run(&Scene::new("readme-reads"), &commands(READS, "\nTo try it, "));
    assert_eq!(printed.last().unwrap(), "@one\nTTACAGATTA\n+\nIIIIIIIIII\n");
}

#[test]
fn the_table_of_the_documentation_is_that_of_demo() {
    let scene = Scene::new("readme-table");
    let table = scene.run("demo --markdown --keys 1000").ok();
    let names = |table: &str| -> Vec<String> {
        let rows = table.lines().filter(|line| line.starts_with("| ")).skip(2);
        rows.filter_map(|row| row.split('|').nth(1)).map(|name| name.trim().replace('*', "")).collect()
    };
    let head = table.lines().next().unwrap();
    let (_, shown) = PROGRAM.split_once(head).expect("there is a table with the columns of demo");
    let (shown, _) = shown.split_once("\n\n").unwrap();
    assert_eq!(names(&format!("{head}{shown}")), names(&table));
}
