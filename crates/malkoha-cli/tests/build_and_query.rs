//! `build`, `query`, `add`, `remove`, `info` and `verify` of the built program.

use crate::common::{Scene, lines};

#[test]
fn every_line_that_was_built_in_is_found_and_strangers_are_not() {
    let scene = Scene::new("build");
    let members = lines("member", 0..20_000);
    scene.write("members.txt", &members);
    scene.write("strangers.txt", lines("stranger", 0..20_000));
    let said = scene.run("build -o f.malkoha --rate 0.1% members.txt").ok();
    assert!(said.contains("20,000 read"), "{said}");
    assert_eq!(scene.run("query f.malkoha members.txt").ok(), members);
    let count = |args: &str| scene.run(args).out.trim().parse::<u32>().unwrap();
    assert_eq!(count("query -c f.malkoha members.txt"), 20_000);
    assert_eq!(count("query -v -c f.malkoha members.txt"), 0);
    // 20 are expected; 60 would be nine standard deviations away.
    let wrong = count("query -c f.malkoha strangers.txt");
    assert!((1..60).contains(&wrong), "{wrong} false positives at a rate of 0.001");
    assert_eq!(count("query -v -c f.malkoha strangers.txt"), 20_000 - wrong);
    let absent = scene.run("query -v f.malkoha strangers.txt").ok();
    assert_eq!(absent.lines().count() as u32, 20_000 - wrong);
    assert_eq!(scene.files(), ["f.malkoha", "members.txt", "strangers.txt"], "no temporary files");
}

#[test]
fn the_exit_status_is_that_of_grep() {
    let scene = Scene::new("status");
    scene.run_with("build -o f.malkoha --keys 100 --rate 1e-9 -", "owl\neagle\n").ok();
    assert_eq!(scene.run_with("query f.malkoha", "owl\n").code, Some(0));
    assert_eq!(scene.run_with("query f.malkoha", "cuckoo\n").code, Some(1));
    assert_eq!(scene.run_with("query -v f.malkoha", "cuckoo\n").code, Some(0));
    assert_eq!(scene.run_with("query -v f.malkoha", "owl\n").code, Some(1));
    assert_eq!(scene.run_with("query f.malkoha", "").code, Some(1));
    assert_eq!(scene.run_with("query nowhere.malkoha", "").code, Some(2));
    assert_eq!(scene.run("query").code, Some(2));
    assert_eq!(scene.run("no such command").code, Some(2));
}

#[test]
fn order_threads_and_repetition_do_not_change_the_answers() {
    let scene = Scene::new("order");
    let members: Vec<String> = lines("member", 0..50_000).lines().map(str::to_owned).collect();
    let backwards: Vec<_> = members.iter().rev().cloned().collect();
    scene.write("once.txt", members.join("\n"));
    scene.write("twice.txt", [backwards.join("\n"), members.join("\n")].join("\n"));
    scene.write("asked.txt", lines("stranger", 0..200_000));
    for kind in ["sorted", "windowed:2", "classic", "bloom", "blocked:1"] {
        let build = format!("build --keys 50k --rate 1% --kind {kind}");
        scene.run(&format!("{build} -j 1 -o a.malkoha once.txt")).ok();
        scene.run(&format!("{build} -j 2 -o b.malkoha once.txt")).ok();
        assert!(scene.read("a.malkoha") == scene.read("b.malkoha"), "{kind}: threads do not matter at all");
        scene.run(&format!("{build} -j 3 -o c.malkoha twice.txt")).ok();
        let answers = |file: &str| scene.run(&format!("query {file} asked.txt once.txt")).ok();
        assert!(answers("a.malkoha") == answers("c.malkoha"), "{kind}: order does not matter to the answers");
    }
}

#[test]
fn files_without_a_number_of_keys_are_counted_first() {
    let scene = Scene::new("counted");
    scene.write("a.txt", lines("key", 0..30_000));
    scene.write("b.txt", lines("key", 15_000..45_000));
    let said = scene.run("build -o f.malkoha a.txt b.txt a.txt").ok();
    assert!(said.contains("90,000 read"), "{said}");
    let info: serde_json::Value = serde_json::from_str(&scene.run("info --json f.malkoha").ok()).unwrap();
    let planned = info["planned_keys"].as_u64().unwrap();
    assert!((45_000..48_000).contains(&planned), "{planned} keys planned for 45,000");
    assert_eq!(scene.run("query -c f.malkoha a.txt b.txt").ok().trim(), "60000");
}

#[test]
fn keys_come_and_go() {
    let scene = Scene::new("change");
    scene.write("old.txt", lines("old", 0..5000));
    scene.write("new.txt", lines("new", 0..5000));
    scene.run("build -o f.malkoha --keys 10k --rate 1e-6 old.txt").ok();
    let said = scene.run("add f.malkoha new.txt").ok();
    assert!(said.contains("5,000 read, 5,000 stored"), "{said}");
    assert!(scene.run("add f.malkoha new.txt").ok().contains("5,000 read, 0 stored"));
    let said = scene.run("remove f.malkoha old.txt").ok();
    assert!(said.contains("5,000 read, 5,000 removed, 0 were not there"), "{said}");
    assert_eq!(scene.run("query -c f.malkoha new.txt").ok().trim(), "5000");
    assert_eq!(scene.run("query -c f.malkoha old.txt").out.trim(), "0");
    assert!(scene.run("remove f.malkoha old.txt").ok().contains("0 removed, 5,000 were not there"));
    assert_eq!(scene.files(), ["f.malkoha", "new.txt", "old.txt"]);
}

/// Removes half of the keys of a filter with a rate of 1 %, and returns how many of the others are still
/// found.
fn found_after_removals(scene: &Scene, options: &str) -> usize {
    scene.write("kept.txt", lines("key", 0..20_000));
    scene.write("gone.txt", lines("key", 20_000..40_000));
    let said = scene.run(&format!("build --rate 1% {options} -o f.malkoha kept.txt gone.txt")).ok();
    assert_eq!(said.contains("build with --copies"), options.is_empty(), "{said}");
    scene.run("remove f.malkoha gone.txt").ok();
    scene.run("query -c f.malkoha kept.txt").ok().trim().parse().unwrap()
}

#[test]
fn keys_stored_with_copies_outlive_the_removal_of_others() {
    let scene = Scene::new("removals");
    assert_eq!(found_after_removals(&scene, "--copies"), 20_000);
    assert_eq!(found_after_removals(&scene, "--copies --keys 40k"), 20_000);
    scene.run("build --copies --keys 40k --rate 1% -o f.malkoha kept.txt").ok();
    let said = scene.run("add --copies f.malkoha gone.txt").ok();
    assert!(said.contains("20,000 read, 20,000 stored"), "{said}");
    let said = scene.run("remove f.malkoha gone.txt").ok();
    assert!(said.contains("20,000 removed, 0 were not there"), "{said}");
    assert_eq!(scene.run("query -c f.malkoha kept.txt").ok().trim(), "20000");
}

#[test]
fn keys_that_share_an_entry_disappear_together() {
    let scene = Scene::new("shared-entries");
    let found = found_after_removals(&scene, "");
    // About 0.5 % of the removed keys shared the entry of a kept one, or the other way round: some, and not
    // many.
    assert!((19_500..20_000).contains(&found), "{found} of 20,000");
}

#[test]
fn a_key_that_comes_too_often_for_copies_is_refused() {
    let scene = Scene::new("too-often");
    scene.write("keys.txt", "owl\n".repeat(1000));
    scene.run("build --copies -o f.malkoha keys.txt").fails(&["more often", "leave out --copies"]);
    scene.run("build --copies --keys 1k -o f.malkoha keys.txt").fails(&["copies of a key"]);
    assert_eq!(scene.files(), ["keys.txt"]);
}

#[test]
fn what_cannot_be_done_changes_nothing() {
    let scene = Scene::new("refused");
    scene.write("keys.txt", lines("key", 0..3000));
    scene.run_with("build -o bloom.malkoha --keys 100 --kind bloom", "owl\n").ok();
    let before = scene.read("bloom.malkoha");
    scene.run("remove bloom.malkoha keys.txt").fails(&["bloom.malkoha", "cannot remove keys", "sorted"]);
    assert!(scene.read("bloom.malkoha") == before);
    scene.run_with("build -o small.malkoha --keys 100", "owl\n").ok();
    let before = scene.read("small.malkoha");
    scene.run("add small.malkoha keys.txt").fails(&["small.malkoha", "no room", "build a larger filter"]);
    assert!(scene.read("small.malkoha") == before);
    scene.run("build -o small.malkoha --keys 100 keys.txt").fails(&["more different keys than --keys 100"]);
    assert!(scene.read("small.malkoha") == before);
    assert_eq!(scene.files(), ["bloom.malkoha", "keys.txt", "small.malkoha"]);
}

#[test]
fn info_and_verify_say_what_a_file_holds() {
    let scene = Scene::new("info");
    scene.run_with("build -o f.malkoha --keys 1000 --rate 2^-10 --kind windowed:3", "owl\neagle\n").ok();
    let said = scene.run("info f.malkoha").ok();
    for words in ["windowed:3", "2 of 1,000 planned", "0.000977 (1 in 1,024)"] {
        assert!(said.contains(words), "{words:?} is missing: {said}");
    }
    let info: serde_json::Value = serde_json::from_str(&scene.run("info --json f.malkoha").ok()).unwrap();
    assert_eq!(info["kind"], "windowed:3");
    assert_eq!(info["keys"], 2);
    let metrics = scene.run("info --metrics f.malkoha").ok();
    assert!(metrics.contains("cf_items{filter=\"f.malkoha\",kind=\"windowed:3\"} 2\n"), "{metrics}");
    assert!(metrics.ends_with("# EOF\n"), "{metrics}");
    assert!(scene.run("verify f.malkoha f.malkoha").ok().contains("f.malkoha: sound, windowed:3, 2 keys"));
}

#[test]
fn filters_are_merged_without_their_keys() {
    let scene = Scene::new("merge");
    scene.write("a.txt", lines("key", 0..3000));
    scene.write("b.txt", lines("key", 2000..5000));
    scene.write("c.txt", lines("other", 0..3000));
    for kind in ["sorted", "windowed:4", "semisorted", "simplified", "bloom", "blocked:2"] {
        for name in ["a", "b", "c"] {
            scene
                .run(&format!("build --keys 9k --rate 1e-6 --kind {kind} -o {name}.malkoha {name}.txt"))
                .ok();
        }
        let said = scene.run("merge -o all.malkoha a.malkoha b.malkoha c.malkoha").ok();
        assert!(said.contains("9,000 in 3 filters"), "{kind}: {said}");
        assert_eq!(scene.run("query -c all.malkoha a.txt b.txt c.txt").ok().trim(), "9000", "{kind}");
    }
    scene.run("build --keys 3k --rate 1e-6 -o a.malkoha a.txt").ok();
    scene.run("build --keys 3k --rate 1e-6 -o b.malkoha b.txt").ok();
    scene.run("build --keys 4k --rate 1e-6 -o c.malkoha c.txt").ok();
    std::fs::remove_file(scene.path("all.malkoha")).unwrap();
    scene.run("merge -o all.malkoha a.malkoha c.malkoha").fails(&["c.malkoha", "a.malkoha", "differ"]);
    scene.run("merge -o all.malkoha a.malkoha b.malkoha").fails(&["b.malkoha", "a.malkoha"]);
    scene.run("merge -o all.malkoha a.malkoha").fails(&["FILTER"]);
    assert!(!scene.files().contains(&"all.malkoha".to_owned()));
}

#[test]
fn copies_are_kept_if_asked_for() {
    let scene = Scene::new("copies");
    for name in ["a", "b"] {
        scene.run_with(&format!("build --keys 100 --rate 1e-9 -o {name}.malkoha"), "owl\n").ok();
    }
    let stored = |options: &str| {
        scene.run(&format!("merge {options} -o c.malkoha a.malkoha b.malkoha")).ok();
        let info = scene.run("info --json c.malkoha").ok();
        serde_json::from_str::<serde_json::Value>(&info).unwrap()["keys"].as_u64().unwrap()
    };
    assert_eq!(stored(""), 1);
    assert_eq!(stored("--copies"), 2);
}

#[test]
fn a_filter_of_a_stream_grows() {
    let scene = Scene::new("grows");
    let members = lines("member", 0..1_200_000);
    let said = scene.run_with("build -o f.malkoha --rate 1% -", &members).ok();
    assert!(said.contains("elastic") && said.contains("it grows as needed"), "{said}");
    assert_eq!(scene.run_with("query -c f.malkoha", &members).ok().trim(), "1200000");
    let wrong: f64 =
        scene.run_with("query -c f.malkoha", lines("stranger", 0..100_000)).out.trim().parse().unwrap();
    assert!(wrong <= 1000.0 + 4.0 * 1000f64.sqrt(), "{wrong} of 100,000 at a rate of at most 1 %");
    scene.run("verify f.malkoha").ok();
    for kind in ["classic", "windowed:2"] {
        scene.run_with(&format!("build -o g.malkoha --kind {kind}"), "owl\n").fails(&["--keys", "elastic"]);
    }
}

/// Streams of a Bloom kind grow as chains.
#[test]
fn a_bloom_filter_of_a_stream_grows_too() {
    let scene = Scene::new("grows-bloom");
    let members = lines("member", 0..1_200_000);
    let said = scene.run_with("build -o f.malkoha --kind blocked:1 --rate 1% -", &members).ok();
    assert!(said.contains("beyond its 2 links"), "{said}");
    assert_eq!(scene.run_with("query -c f.malkoha", &members).ok().trim(), "1200000");
}

#[test]
fn growing_filters_of_any_sizes_are_merged_and_their_rates_add_up() {
    let scene = Scene::new("merge-growing");
    let parts = [("a", 0..1000, "0.1%"), ("b", 500..60_000, "0.2%"), ("c", 60_000..60_010, "0.3%")];
    for (name, keys, rate) in parts {
        let keys = lines("member", keys);
        scene.run_with(&format!("build -q -o {name}.malkoha --rate {rate} -"), keys).ok();
    }
    let said = scene.run("merge -o all.malkoha a.malkoha b.malkoha c.malkoha").ok();
    assert!(said.contains("add up"), "{said}");
    assert_eq!(scene.run_with("query -c all.malkoha", lines("member", 0..60_010)).ok().trim(), "60010");
    let info: serde_json::Value = serde_json::from_str(&scene.run("info --json all.malkoha").ok()).unwrap();
    let rate = |name: &str| info[name].as_f64().unwrap();
    assert!((rate("promised_rate") - 0.006).abs() < 1e-9, "{info}");
    assert!(rate("predicted_rate") > 0.0 && rate("predicted_rate") <= 0.006, "{info}");
    scene.run("verify all.malkoha").ok();
    // A planned filter is no part of it.
    scene.run_with("build -q -o p.malkoha --keys 100 -", "owl\n").ok();
    scene.run("merge -o all.malkoha a.malkoha p.malkoha").fails(&["p.malkoha", "a.malkoha"]);
}

#[test]
fn info_shows_how_a_filter_has_grown() {
    let scene = Scene::new("info-growth");
    scene.run_with("build -q -o f.malkoha -", lines("member", 0..100_000)).ok();
    let said = scene.run("info f.malkoha").ok();
    for fact in ["regions", "steps", "lengths", " bits", "the promise is for up to"] {
        assert!(said.contains(fact), "{fact}: {said}");
    }
    let info: serde_json::Value = serde_json::from_str(&scene.run("info --json f.malkoha").ok()).unwrap();
    let growth = &info["growth"];
    assert!(growth["regions"].as_u64().unwrap() >= 4, "{info}");
    assert!(growth["promised_keys"].as_u64().unwrap() > 1_000_000_000_000, "{info}");
    assert_eq!(growth["overflow"], 0, "{info}");
    assert!(growth["steps"].is_u64() && growth["shrinks"].is_u64(), "{info}");
    assert!(growth["longest_step_seconds"].is_f64(), "{info}");
    let lengths = growth["fingerprint_lengths"].as_array().unwrap();
    let copies: u64 = lengths.iter().map(|length| length["copies"].as_u64().unwrap()).sum();
    assert!(lengths.len() > 1 && copies >= info["keys"].as_u64().unwrap(), "{info}");
    // Others have no growth.
    scene.run_with("build -q -o p.malkoha --keys 100 -", "owl\n").ok();
    let info: serde_json::Value = serde_json::from_str(&scene.run("info --json p.malkoha").ok()).unwrap();
    assert!(info["growth"].is_null(), "{info}");
}
