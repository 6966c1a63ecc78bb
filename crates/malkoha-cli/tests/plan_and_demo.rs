//! `plan`, `demo`, `completions` and `man` of the built program.

use crate::common::Scene;
use serde_json::Value;
use std::io::{BufRead, BufReader};

#[test]
fn plan_shows_every_kind_and_recommends_one() {
    let scene = Scene::new("plan");
    let said = scene.run("plan --keys 100M --rate 0.1%").ok();
    for words in
        ["classic:4", "semisorted", "simplified:4", "flexible:4", "windowed:2", "blocked:3", "* sorted"]
    {
        assert!(said.contains(words), "{words:?} is missing: {said}");
    }
    assert!(!said.contains('\x1b'), "no colour where there is no terminal");
}

#[test]
fn plan_as_json_has_what_was_promised() {
    let scene = Scene::new("plan-json");
    for args in ["--keys 1e6 --rate 2^-10", "--keys 1M --memory 2MB", "--rate 1/1000 --memory 2MB"] {
        let plan: Value = serde_json::from_str(&scene.run(&format!("plan --json {args}")).ok()).unwrap();
        let kinds = plan["kinds"].as_array().unwrap();
        assert_eq!(kinds.len(), 12, "{args}");
        for kind in kinds {
            assert!(kind["kind"].is_string() && kind["bytes"].is_u64() && kind["recommended"].is_boolean());
            assert!(["bits_per_key", "load", "rate"].iter().all(|name| kind[name].is_f64()), "{kind}");
        }
        let recommended = kinds.iter().filter(|kind| kind["recommended"] == true);
        assert_eq!(recommended.count(), 1, "{args}");
    }
}

#[test]
fn plan_heeds_needs_and_says_what_it_lacks() {
    let scene = Scene::new("plan-needs");
    let recommended = |needs: &str| {
        let plan = scene.run(&format!("plan --json -n 1M -r 0.1% --needs {needs}")).ok();
        serde_json::from_str::<Value>(&plan).unwrap()["recommended"].as_str().unwrap().to_owned()
    };
    assert_eq!(recommended("delete"), "sorted");
    assert_eq!(recommended("values"), "sorted");
    assert_eq!(recommended("overfill"), "blocked:2");
    assert_eq!(recommended("delete,grow"), "sorted");
    scene
        .run("plan -n 1M -r 1% --needs delete,overfill")
        .fails(&["no kind can delete keys and be overfilled"]);
    scene.run("plan -n 1M -r 1% --needs grow,values").fails(&["no kind can grow and carry values"]);
    let said = scene.run("plan -n 1M -r 1% --needs values").ok();
    assert!(said.contains("Spec::new(1000000, 0.01).kind(Kind::Sorted).values(bits)"), "{said}");
    assert!(said.contains("on top of the bits per key"), "{said}");
    scene.run("plan --keys 1M").fails(&["give two of --keys, --rate and --memory"]);
    scene.run("plan --keys 1M --rate 1% --memory 1M").fails(&["nothing to plan"]);
    scene.run("plan --keys many --rate 1%").fails(&["many", "100M"]);
    scene.run("plan --keys 1M --rate 2").fails(&["0.1%"]);
    scene.run("plan --keys 0 --rate 1%").fails(&["0 keys"]);
    scene.run("plan --keys 1M --rate 1% --needs speed").fails(&["speed", "overfill"]);
}

#[test]
fn what_plan_says_for_growth_grows() {
    let scene = Scene::new("plan-grow");
    let said = scene.run("plan -n 1M -r 1% --needs grow").ok();
    let (_, command) = said.split_once("| malkoha ").unwrap();
    let command = command.lines().next().unwrap().replace("FILE", "f.malkoha");
    scene.run_with(&command, "owl\n").ok();
    let said = scene.run("info f.malkoha").ok();
    assert!(said.contains("before it grows"), "{command}: {said}");
}

#[test]
fn plan_draws_a_figure() {
    let scene = Scene::new("plan-svg");
    scene.run("plan --keys 1M --rate 0.1% --svg plan.svg").ok();
    let figure = String::from_utf8(scene.read("plan.svg")).unwrap();
    assert!(figure.starts_with("<svg") && figure.ends_with("</svg>\n"));
    for name in ["classic:4", "sorted", "blocked:3", "limit"] {
        assert!(figure.contains(&format!(">{name}</text>")), "{name}");
    }
    assert!(!figure.contains("NaN") && !figure.contains("inf"));
}

#[test]
fn demo_measures_every_kind_and_leaves_a_filter_and_a_figure() {
    let scene = Scene::new("demo");
    let said = scene.run("demo --keys 20k").ok();
    assert!(said.contains("Every stored key was found in every filter"), "{said}");
    assert!(said.contains("windowed:4") && said.contains("blocked:3"), "{said}");
    let figure = String::from_utf8(scene.read("malkoha-demo/demo.svg")).unwrap();
    assert!(figure.contains("limit 11.44") && !figure.contains("NaN"));
    assert_eq!(scene.run_with("query malkoha-demo/demo.malkoha", "17\n19999\n").ok(), "17\n19999\n");
}

#[test]
fn rows_of_demo_appear_when_they_are_known() {
    let scene = Scene::new("demo-rows");
    let mut child = scene.spawn("demo --markdown --keys 200k -o made");
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert_eq!(lines.next().unwrap().matches(" | ").count(), 8);
    assert_eq!(lines.next().unwrap().matches("---").count(), 1);
    assert!(lines.next().unwrap().starts_with("| classic:4 | "));
    assert!(!scene.path("made/demo.svg").exists(), "the first row is there before the last is known");
    assert!(lines.any(|line| line.starts_with("| **sorted** | 12.5")), "the smallest is marked");
    assert!(child.wait().unwrap().success());
    assert!(scene.path("made/demo.svg").exists());
}

#[test]
fn completions_and_the_man_page_name_every_command() {
    let scene = Scene::new("completions");
    let commands = ["demo", "plan", "build", "query", "add", "remove", "merge", "info", "verify", "dedup"];
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = scene.run(&format!("completions {shell}")).ok();
        assert!(commands.iter().all(|command| script.contains(command)), "{shell}");
    }
    let page = scene.run("man").ok();
    assert!(page.contains(".TH malkoha"));
    assert!(commands.iter().all(|command| page.contains(&format!("MALKOHA {}", command.to_uppercase()))));
    assert!(page.contains("2^\\-10") || page.contains("2^-10"), "units are explained");
}
