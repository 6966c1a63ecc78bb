//! Runs the program as README.md and docs/PROGRAM.md show it.
#![cfg(unix)]

use crate::common::Scene;
use std::path::Path;
use std::process::Command;

const README: &str = include_str!("../../../README.md");
const PROGRAM: &str = include_str!("../../../docs/PROGRAM.md");

/// Returns the first block of shell commands of a section.
fn commands(section: &str) -> Vec<&'static str> {
    let (_, section) = README.split_once(&format!("\n## {section}\n")).expect("there is such a section");
    let (_, block) = section.split_once("```sh\n").expect("the section has a block of commands");
    let (block, _) = block.split_once("```").expect("the block ends");
    block.lines().collect()
}

#[test]
fn the_commands_of_the_readme_work_one_after_the_other() {
    let scene = Scene::new("readme");
    let program = Path::new(env!("CARGO_BIN_EXE_malkoha")).parent().unwrap().to_owned();
    let others = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths([program].into_iter().chain(std::env::split_paths(&others))).unwrap();
    let commands = commands("The program");
    assert!(commands.iter().filter(|line| line.starts_with("malkoha ")).count() >= 8, "{commands:?}");
    for line in commands {
        let output = Command::new("sh")
            .args(["-ec", line])
            .current_dir(scene.folder())
            .env("PATH", &path)
            .output()
            .expect("there is a shell");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{line}: {said}");
    }
    let files = ["candidates.txt", "g.fa", "g.malkoha", "r.fq", "words.malkoha", "words.txt.gz"];
    assert_eq!(scene.files(), files);
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
