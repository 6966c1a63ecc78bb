//! `dedup --jsonl` of the built program: what is dropped, marked, refused and reported.

use serde_json::Value;

use crate::common::{Ran, Scene, ends_by_itself};
use crate::text_model::{Model, Options, texts};

/// Returns lines with these texts.
pub(crate) fn jsonl(texts: &[impl AsRef<str>]) -> String {
    let line = |text: &str| serde_json::json!({ "text": text }).to_string() + "\n";
    texts.iter().map(|text| line(text.as_ref())).collect()
}

/// Runs the program with batches of so few bytes that the filter is used for many of them.
fn run_in_batches(scene: &Scene, args: &str) -> Ran {
    let mut command = scene.command(args);
    let output = command.env("MALKOHA_TEXT_BATCH", "5000").output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Ran { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
}

fn summary(err: &str) -> Value {
    serde_json::from_str(err.lines().last().expect("there is a summary")).expect("it is JSON")
}

#[test]
fn options_for_lines_are_refused_for_texts() {
    let scene = Scene::new("text-options");
    for option in ["--column 1", "--count", "--repeated", "--window 5", "--nul"] {
        scene
            .run_with(&format!("dedup --jsonl text {option}"), "")
            .fails(&["'--jsonl <FIELD>' cannot be used with", &option[..5]]);
    }
}

#[test]
fn lines_that_stay_are_not_touched() {
    let scene = Scene::new("text-untouched");
    let lines = [
        r#" { "text" : "a\u0020bird" , "x":1.50 ,"x":2}"#,
        r#"{"text":"another"}"#,
        "",
        r#"{"text":"a bird"}"#,
        "  ",
        r#"{"y":{"text":"a bird"},"text":"third"}"#,
    ];
    let ran = scene.run_with("dedup --jsonl text", lines.join("\r\n"));
    assert!(ran.err.contains("4 read, 1 dropped as duplicates"), "{}", ran.err);
    let expected = [lines[0], lines[1], lines[2], lines[4], lines[5]].join("\r\n") + "\n";
    assert_eq!(ran.ok(), expected);
}

#[test]
fn texts_that_lose_paragraphs_change_only_there() {
    let scene = Scene::new("text-paragraphs");
    let input = [
        r#"{"a": 1.0, "m": {"t": "head\n\none\ntwo\n\nfoot \u00e9\n"}, "z":"\u00e9"}"#,
        r#"{"a": 2.0, "m": {"t": "\nhead\n\nthree\n\nfoot é\n"}, "z":"\u00e9"}"#,
        r#"{"a": 3.0, "m": {"t": "one\ntwo"}, "z":0}"#,
        r#"{"a": 4.0, "m": {"t": "one\nfour\n\n"}, "z":0}"#,
        r#"{"a": 5.0, "m": {"t": ""}}"#,
    ]
    .join("\n");
    let expected = [
        r#"{"a": 1.0, "m": {"t": "head\n\none\ntwo\n\nfoot \u00e9\n"}, "z":"\u00e9"}"#,
        r#"{"a": 2.0, "m": {"t": "\nthree"}, "z":"\u00e9"}"#,
        r#"{"a": 4.0, "m": {"t": "four\n\n"}, "z":0}"#,
        r#"{"a": 5.0, "m": {"t": ""}}"#,
    ]
    .join("\n");
    let ran = scene.run_with("dedup --jsonl m.t --paragraphs", &input);
    assert!(ran.err.contains("documents   5 read, 1 dropped"), "{}", ran.err);
    assert!(ran.err.contains("paragraphs  11 read, 5 dropped"), "{}", ran.err);
    assert_eq!(ran.ok(), expected + "\n");
}

#[test]
fn notes_replace_older_notes() {
    let scene = Scene::new("text-notes");
    let input =
        "{\"text\":\"a b c\"}\n{\"seen\":[1,{}], \"text\":\"a b d\"}\n{\"text\":\"c\", \"seen\" : null } \n";
    let out = scene.run_with("dedup -q --jsonl text --ngram 2 --overlap 50% --annotate=seen", input).ok();
    let expected = [
        r#"{"text":"a b c","seen":{"duplicate":false,"share":0.0,"seen":0,"of":2}}"#,
        r#"{"seen":{"duplicate":true,"share":0.5,"seen":1,"of":2}, "text":"a b d"}"#,
        "{\"text\":\"c\", \"seen\" : {\"duplicate\":false,\"share\":0.0,\"seen\":0,\"of\":1} } ",
    ];
    assert_eq!(out, expected.join("\n") + "\n");
    for (field, name) in [("text", "text"), ("meta.text", "meta")] {
        let args = format!("dedup -q --jsonl {field} --annotate={name}");
        scene.run_with(&args, "{}").fails(&["would replace the text; give another name"]);
    }
}

#[test]
fn what_is_marked_is_what_would_be_dropped() {
    let scene = Scene::new("text-marked");
    scene.write("in.jsonl", jsonl(&texts(2000, 8)));
    let run = |more: &str| {
        scene.run(&format!("dedup -q --jsonl text --ngram 3 --normalize all {more} in.jsonl")).ok()
    };
    let (kept, marked) = (run(""), run("--annotate"));
    let unmarked: Vec<_> =
        marked.lines().filter(|line| line.contains(r#""dedup":{"duplicate":false"#)).collect();
    assert!(unmarked.len() > 300 && unmarked.len() < 1900, "{}", unmarked.len());
    assert_eq!(unmarked.len(), kept.lines().count());
    for (kept, unmarked) in kept.lines().zip(unmarked) {
        assert!(unmarked.starts_with(kept.strip_suffix('}').unwrap()));
    }
}

#[test]
fn bad_lines_are_fatal_kept_or_dropped_and_named() {
    let scene = Scene::new("text-bad");
    let lines: [&[u8]; 6] = [
        b"{\"text\":\"one\"}",
        b"{\"text\":\"\xff\"}",
        b"{\"text\":\"two\"",
        b"{\"txet\":\"three\"}",
        b"{\"text\":4}",
        b"{\"text\":\"one\"}",
    ];
    let input = [lines.join(&b'\n'), vec![b'\n']].concat();
    scene.write("in.jsonl", &input);
    scene.run("dedup --jsonl text in.jsonl").fails(&["in.jsonl:2: not UTF-8 from byte 10 on", "--bad keep"]);
    let run = |bad: &str| {
        let output = scene.command(&format!("dedup --jsonl text --bad {bad} in.jsonl")).output().unwrap();
        assert!(output.status.success());
        (output.stdout, String::from_utf8(output.stderr).unwrap())
    };
    let (kept, said) = run("keep");
    assert_eq!(kept, [lines[..5].join(&b'\n'), vec![b'\n']].concat());
    for words in [
        "in.jsonl:2: not UTF-8 from byte 10 on; kept",
        "in.jsonl:3: not a JSON object: it ends at byte 13 and is not complete; kept",
        "in.jsonl:4: there is no field text; kept",
        "in.jsonl:5: the field text is not a string; kept",
        "4 kept: 1 not UTF-8, 1 broken JSON, 1 without the field, 1 with a field that is not a string",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    let (kept, said) = run("drop");
    assert_eq!(kept, b"{\"text\":\"one\"}\n");
    assert!(said.contains("in.jsonl:4: there is no field text; dropped"), "{said}");
    let many = "{}\n".repeat(1000);
    let ran = scene.run_with("dedup --jsonl text --bad drop", many);
    assert_eq!(ran.err.matches("there is no field text").count(), 20);
    assert!(ran.err.contains("more bad lines") && ran.err.contains("1,000 dropped"), "{}", ran.err);
}

#[test]
fn the_summary_counts_everything_also_as_json() {
    let scene = Scene::new("text-json");
    scene.write("in.jsonl", jsonl(&["a b c d e", "a b c d x", "new"]) + "{}\n");
    let args = "dedup --jsonl text --ngram 2 --overlap 0.75 --bad drop --keys 1000 --json -j 2 in.jsonl";
    let summary = summary(&scene.run(args).err);
    for (path, value) in [
        ("/files", "1"),
        ("/documents/read", "3"),
        ("/documents/duplicates", "1"),
        ("/keys/read", "9"),
        ("/keys/seen", "3"),
        ("/bad_lines/all", "1"),
        ("/bad_lines/by_flaw/absent_field", "1"),
        ("/options/ngram", "2"),
        ("/filter/keys", "5"),
        ("/filter/planned_keys", "1000"),
        ("/filter/promised_rate", "0.001"),
    ] {
        assert_eq!(
            summary.pointer(path).map(Value::to_string).as_deref(),
            Some(value),
            "{path} of {summary}"
        );
    }
}

#[test]
fn any_hit_is_enough_for_decontamination() {
    let scene = Scene::new("text-decontaminate");
    scene.write(
        "questions.jsonl",
        jsonl(&["what is the name of the bird", "one two three four", "one two three"]),
    );
    let build = "dedup -q --jsonl text --ngram 3 --overlap 1 --filter eval.malkoha questions.jsonl";
    assert_eq!(scene.run(build).ok().lines().count(), 2, "a text without anything new is dropped");
    let before = scene.read("eval.malkoha");
    let corpus = jsonl(&[
        "it asks: what is the hour",
        "nothing of this kind",
        "nothing of this kind",
        "two three four five",
    ]);
    let ask = "dedup -q --jsonl text --ngram 3 --at-least 1 --filter eval.malkoha --read-only";
    assert_eq!(
        scene.run_with(ask, &corpus).ok(),
        jsonl(&["nothing of this kind"; 2]),
        "nothing is remembered"
    );
    let more = format!("{ask} --annotate");
    assert!(
        scene
            .run_with(&more, &corpus)
            .ok()
            .contains(r#""dedup":{"duplicate":true,"share":0.25,"seen":1,"of":4}"#)
    );
    assert!(before == scene.read("eval.malkoha"), "a filter that is only read stays as it is");
}

#[test]
fn a_filter_is_continued_as_if_there_had_been_one_run() {
    let scene = Scene::new("text-continued");
    let all = texts(3000, 21);
    let (first, second) = all.split_at(1700);
    scene.write("all.jsonl", jsonl(&all));
    scene.write("1.jsonl", jsonl(first));
    scene.write("2.jsonl", jsonl(second));
    for mode in ["", "--paragraphs", "--ngram 3", "--paragraphs --ngram 2 --overlap 0.5"] {
        let run = |more: &str| scene.run(&format!("dedup -q --rate 1e-12 --jsonl text {mode} {more}")).ok();
        let expected = run("all.jsonl");
        let parts = run("--filter f.malkoha 1.jsonl") + &run("--filter f.malkoha 2.jsonl");
        assert!(parts == expected, "{mode}");
        scene.run("verify f.malkoha").ok();
        std::fs::remove_file(scene.path("f.malkoha")).unwrap();
    }
}

#[test]
fn a_filter_of_other_keys_is_refused() {
    let scene = Scene::new("text-other-filter");
    let input = jsonl(&["a b c"]);
    scene.run_with("dedup -q --jsonl text --ngram 2 --normalize case --filter f.malkoha", &input).ok();
    let before = scene.read("f.malkoha");
    for options in ["", "--ngram 3 --normalize case", "--ngram 2", "--ngram 2 --normalize all"] {
        scene
            .run_with(&format!("dedup --jsonl text {options} --filter f.malkoha"), &input)
            .fails(&["holds n-grams of 2 words with --normalize case", "give the options it was made with"]);
    }
    let same = "dedup --jsonl text --ngram 2 --normalize case --filter f.malkoha";
    for option in [
        "--keys 10",
        "--rate 0.5",
        "--kind windowed:2",
        "--memory 1k",
        "--rate 0.5 --read-only",
        "--kind bloom --read-only",
    ] {
        let what = format!("was planned otherwise; leave out {}", option.split(' ').next().unwrap());
        scene.run_with(&format!("{same} {option}"), &input).fails(&[&what]);
    }
    assert!(
        scene.run("info f.malkoha").ok().contains("holds     n-grams of 2 words with --normalize case\n")
    );
    scene.run_with("query f.malkoha", "a\n").fails(&["use it with dedup --jsonl --filter"]);
    scene.run_with("add f.malkoha", "a\n").fails(&["use it with dedup --jsonl --filter"]);
    scene.run_with("build -q --keys 10 -o lines.malkoha", "a\n").ok();
    scene
        .run_with("dedup --jsonl text --filter lines.malkoha", &input)
        .fails(&["lines.malkoha was not made by dedup --jsonl"]);
    scene
        .run_with("dedup --jsonl text --filter none.malkoha --read-only", &input)
        .fails(&["cannot use none.malkoha as a filter"]);
    scene.run_with("dedup --jsonl text --filter no/f.malkoha", &input).fails(&["there is no folder no"]);
    assert!(before == scene.read("f.malkoha"));
}

#[test]
fn standard_input_is_a_filter_only_to_read() {
    let scene = Scene::new("text-filter-stdin");
    scene.write("texts.jsonl", jsonl(&["a", "b"]));
    scene.run_with("dedup -q --jsonl text --filter f.malkoha", jsonl(&["a"])).ok();
    let filter = scene.read("f.malkoha");
    let read_only = "dedup --jsonl text --filter - --read-only";
    assert_eq!(scene.run_with(&format!("{read_only} texts.jsonl"), &filter).ok(), jsonl(&["b"]));
    // Nothing would be left of it to be read as texts.
    for inputs in ["", " -", " texts.jsonl -"] {
        scene.run_with(&format!("{read_only}{inputs}"), &filter).fails(&["both the filter and the texts"]);
    }
    let before = scene.files();
    scene
        .run("dedup --jsonl text --filter - texts.jsonl")
        .fails(&["standard input is not a file, and only files can be changed"]);
    scene.run("dedup --jsonl text --filter . texts.jsonl").fails(&[". is not a file"]);
    assert_eq!(scene.files(), before);
}

#[cfg(unix)]
#[test]
fn a_pipe_is_no_filter_to_continue_with() {
    let scene = Scene::new("text-filter-pipe");
    scene.write("texts.jsonl", jsonl(&["a"]));
    let made = std::process::Command::new("mkfifo").arg(scene.path("pipe")).status();
    assert!(made.unwrap().success());
    let mut child = scene.spawn("dedup --jsonl text --filter pipe texts.jsonl");
    // Nobody writes to the pipe.
    assert_eq!(ends_by_itself(&mut child).code(), Some(2));
    let said = child.wait_with_output().unwrap().stderr;
    assert!(String::from_utf8_lossy(&said).contains("pipe is not a file"));
}

#[test]
fn a_failed_run_leaves_the_filter_as_it_was() {
    let scene = Scene::new("text-failed");
    scene.run_with("dedup -q --jsonl text --filter f.malkoha", jsonl(&["a"])).ok();
    let before = scene.read("f.malkoha");
    scene
        .run_with("dedup -q --jsonl text --filter f.malkoha", jsonl(&["b"]) + "{")
        .fails(&["standard input:2:"]);
    assert!(before == scene.read("f.malkoha"));
    assert_eq!(scene.files(), ["f.malkoha"]);
}

#[test]
fn memory_is_kept_and_the_rate_reached_is_told() {
    let scene = Scene::new("text-memory");
    let texts: Vec<_> = (0..30_000).map(|number| format!("text number {number}")).collect();
    scene.write("in.jsonl", jsonl(&texts));
    let ran = run_in_batches(&scene, "dedup --jsonl text --memory 20k --rate 1% --json in.jsonl");
    let summary = summary(&ran.err);
    let number = |path: &str| summary.pointer(path).and_then(Value::as_f64).unwrap();
    assert!(number("/filter/bytes") <= 20_000.0 && number("/filter/predicted_rate") > 0.02, "{summary}");
    let said = "malkoha: the filter holds ";
    assert!(ran.err.contains(said) && ran.err.contains("its rate is now"), "{}", ran.err);
    let quiet = run_in_batches(&scene, "dedup -q --jsonl text --memory 20k --rate 1% in.jsonl");
    assert!(quiet.err.starts_with(said), "also if nothing else is said: {}", quiet.err);
    // All that are missing were dropped wrongly.
    let (missing, expected) = ((30_000 - ran.ok().lines().count()) as f64, number("/expected_wrongly"));
    assert!((missing - expected).abs() < 5.0 * expected.sqrt(), "{missing}, expected {expected}");
}

#[test]
fn a_planned_filter_that_is_full_is_an_error() {
    let scene = Scene::new("text-full");
    let texts: Vec<_> = (0..5000).map(|number| format!("text number {number}")).collect();
    scene
        .run_with("dedup --jsonl text --keys 100", jsonl(&texts))
        .fails(&["the filter is full: it was planned for 100 keys", "--keys"]);
}

#[test]
fn as_many_are_dropped_wrongly_as_expected() {
    let scene = Scene::new("text-wrongly");
    // Texts of 1 to 6 words; every word is new, so a text that is dropped is dropped wrongly.
    let mut word = 0;
    let texts: Vec<String> = (0..40_000)
        .map(|text| {
            let words: Vec<_> = (0..=text % 6).map(|at| format!("{}", word + at)).collect();
            word += words.len();
            words.join(" ")
        })
        .collect();
    scene.write("in.jsonl", jsonl(&texts));
    let args = "dedup --jsonl text --ngram 1 --overlap 0.5 --rate 5% --keys 140k --json in.jsonl";
    let ran = run_in_batches(&scene, args);
    let expected = summary(&ran.err).pointer("/expected_wrongly").and_then(Value::as_f64).unwrap();
    let missing = (texts.len() - ran.ok().lines().count()) as f64;
    assert!(expected > 100.0, "{expected}");
    assert!((missing - expected).abs() < 5.0 * expected.sqrt(), "{missing}, expected {expected}");
}

#[test]
fn options_that_need_others_say_so() {
    let scene = Scene::new("text-options");
    scene.run("dedup --ngram 3").fails(&["--jsonl"]);
    scene.run("dedup --jsonl text --overlap 0.5").fails(&["--ngram"]);
    scene.run("dedup --jsonl text --read-only").fails(&["--filter"]);
    scene.run("dedup --jsonl text --window 5").fails(&["--window"]);
    scene.run("dedup --jsonl text --ngram 3 --overlap 0").fails(&["a share is above 0 and at most 1"]);
    scene.run("dedup --jsonl a..b").fails(&["a name is empty"]);
    scene
        .run("dedup --jsonl text --normalize upper")
        .fails(&["write some of nfc, nfkc, case, punctuation and space"]);
}

#[test]
fn documents_that_the_model_keeps_are_kept_when_the_filter_grows() {
    let scene = Scene::new("text-grows");
    let mut texts: Vec<_> =
        (0..60_000).map(|at| format!("{at} {} {} {}", at + 1, at * 3, at % 700)).collect();
    texts.extend_from_within(10_000..20_000);
    let options = Options { paragraphs: false, ngram: Some(2), overlap: 100, min_words: 1, rules: "none" };
    let mut model = Model::new(options);
    let kept: Vec<_> = texts.iter().filter(|text| model.document(text).0.is_some()).collect();
    assert!(
        scene.run_with("dedup -q --rate 1e-12 --jsonl text --ngram 2 --overlap 1", jsonl(&texts)).ok()
            == jsonl(&kept)
    );
}
