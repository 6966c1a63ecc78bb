//! The words of the program, and whether they fit the terminal.

use crate::common::{Scene, lines};

#[test]
fn every_error_begins_with_the_name_of_the_program() {
    let scene = Scene::new("prefix");
    for args in
        ["bild", "query", "query -x f", "build -n ten -o f", "info nowhere", "plan -n 1M", "man --out"]
    {
        let ran = scene.run(args);
        assert_eq!(ran.code, Some(2), "{args}: {ran}");
        assert!(ran.err.starts_with("malkoha: ") && !ran.err.contains("error:"), "{args}: {ran}");
        assert!(ran.out.is_empty(), "{args}: {ran}");
    }
}

#[test]
#[cfg(unix)]
fn help_that_cannot_be_written_is_an_error() {
    let Ok(full) = std::fs::OpenOptions::new().write(true).open("/dev/full") else {
        println!("skipped: there is no /dev/full here");
        return;
    };
    let scene = Scene::new("help-full");
    for args in ["help", "--help", "--version", "help build", "build -h", "man", "completions bash"] {
        let output = scene.command(args).stdout(full.try_clone().unwrap()).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{args}");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.starts_with("malkoha: cannot write to standard output"), "{args}: {said}");
        assert!(!scene.run(args).ok().is_empty(), "{args}");
    }
    let ran = scene.run("");
    assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""));
    assert!(ran.err.contains("Usage: malkoha"), "{ran}");
}

#[test]
fn errors_of_compressed_files_are_in_plain_words() {
    let scene = Scene::new("decoders");
    let text = lines("key", 0..20_000);
    let zstd =
        ruzstd::encoding::compress_to_vec(text.as_bytes(), ruzstd::encoding::CompressionLevel::Fastest);
    let mut xz = lzma_rust2::XzWriter::new(Vec::new(), lzma_rust2::XzOptions::with_preset(1)).unwrap();
    std::io::Write::write_all(&mut xz, text.as_bytes()).unwrap();
    for (name, whole) in [("zstd", zstd), ("xz", xz.finish().unwrap())] {
        let mut damaged = whole.clone();
        damaged[whole.len() / 2..].fill(0xA5);
        scene.write("damaged", damaged);
        scene.write("cut", &whole[..whole.len() / 2]);
        for (file, words) in [("damaged", "data is damaged"), ("cut", "data ends too early")] {
            let ran = scene.run(&format!("build -n 100k -o f.malkoha {file}"));
            let expected = format!("malkoha: cannot read {file}: the {name} {words}; ");
            assert!(ran.err.starts_with(&expected), "{name}: {ran}");
            assert!(!ran.err.contains(['{', '(']) && ran.err.lines().count() == 1, "{name}: {ran}");
        }
    }
}

#[test]
fn merging_speaks_of_options() {
    let scene = Scene::new("merge-words");
    scene.run_with("build -n 100 -o a.malkoha", "owl\n").ok();
    scene.run_with("build -n 10k -o larger.malkoha", "owl\n").ok();
    scene.run_with("build --kind windowed:2 -n 100 -o other.malkoha", "owl\n").ok();
    scene.run_with("build -o growing.malkoha -", "owl\n").ok();
    scene.run_with("build -n 100 -o full.malkoha", lines("key", 0..100)).ok();
    scene.run_with("build -n 100 -o full2.malkoha", lines("more", 0..100)).ok();
    for (one, other, words) in [
        ("a", "larger", ["the filters differ in their", "same --kind, --rate and --keys"]),
        ("a", "other", ["their kinds (sorted and windowed:2)", "same --kind, --rate and --keys"]),
        ("a", "growing", ["growing.malkoha grows", "with the same --keys"]),
        ("full", "full2", ["together they hold", "with more --keys"]),
    ] {
        let ran = scene.run(&format!("merge -o m.malkoha {one}.malkoha {other}.malkoha"));
        assert!(
            !["seed", "chain", "geometry", "merge_into"].iter().any(|word| ran.err.contains(word)),
            "{ran}"
        );
        ran.fails(&words);
    }
    scene.run_with("build -n 100 --copies -o copies.malkoha", "owl\n".repeat(20)).ok();
    let ran = scene.run("merge --copies -o m.malkoha copies.malkoha copies.malkoha");
    ran.fails(&["together they hold 40 keys, of which", "too many copies"]);
}

#[test]
fn one_is_not_many() {
    let scene = Scene::new("plural");
    let said = scene.run_with("build -n 10 -o f.malkoha", "owl\n").ok();
    assert!(!said.contains("(room)"), "{said}");
    let room = said.lines().find(|line| line.starts_with("room")).unwrap();
    assert!(room.ends_with(" more keys"), "{room}");
    assert!(scene.run("verify f.malkoha").ok().contains(" 1 key,"));
    let ran = scene.run_with("dedup --jsonl text", "{\"text\":\"owl\"}\n");
    assert!(ran.err.contains(", 1 key\n"), "{ran}");
    let longer = [&scene.read("f.malkoha")[..], b"x"].concat();
    scene.write("longer.malkoha", longer);
    scene.run("verify longer.malkoha").fails(&["there is a byte after the last section"]);
    scene.run("plan -r 1% -m 1").fails(&["1 byte is not enough"]);
    scene.run("verify f.malkoha longer.malkoha").fails(&["1 of 2 files is not sound"]);
    let said = scene.run("plan -n 1 -r 1%").ok();
    assert!(said.starts_with("1 key, "), "{said}");
}

#[test]
fn plan_answers_first_and_fits_a_small_screen() {
    let scene = Scene::new("plan-screen");
    // On the usual 24 lines, one is left for the prompt of the next command. Long answers take a little more.
    for (args, rows) in [
        ("-n 100M -r 0.1%", 23),
        ("-n 1G -m 1500M", 23),
        ("-r 0.1% -m 1G", 23),
        ("-n 1M -r 0.1% --needs grow", 23),
        ("-n 1M -m 600k", 23),
        ("-n 123456789 -r 0.0009765625 --needs overfill", 25),
        ("-n 100M -r 0.1% --needs values", 25),
        ("-r 1e-6 -m 1T", 25),
    ] {
        let said = scene.run_in_columns(60, &format!("plan {args}")).ok();
        let long = said.lines().find(|line| line.chars().count() > 60);
        assert_eq!(long, None, "{args}:\n{said}");
        assert!(said.lines().count() <= rows, "{args}:\n{said}");
        let answer = said.lines().position(|line| line.starts_with("Recommended: "));
        assert!(answer.is_some_and(|line| line < 4), "{args}:\n{said}");
        assert!(!said.contains("staircase"), "{args}:\n{said}");
        let said = scene.run_in_columns(60, &format!("plan --staircase {args}")).ok();
        assert!(said.contains("The staircase: classic:4 comes in powers of two"), "{said}");
        assert_eq!(said.lines().find(|line| line.chars().count() > 60), None, "{args}:\n{said}");
    }
}

#[test]
fn too_little_memory_is_not_recommended() {
    let scene = Scene::new("plan-little");
    scene.run("plan --memory 100 --keys 1M").fails(&["too little", "give at least 181 kB"]);
    scene.run("plan --memory 100 --keys 1M --needs delete").fails(&["too little", "give at least"]);
    let useless = ["at a rate of 0.999999, most answers would be wrong", "at most 0.5"];
    scene.run("plan --rate 0.999999 --memory 1000").fails(&useless);
    for other in ["--keys 1", "--rate 0.1"] {
        scene.run(&format!("plan --memory 1 {other}")).fails(&["1 byte is not enough; give at least"]);
    }
    // What it calls enough is enough. In 100 bytes there is room for some kinds.
    for needs in ["", "--needs delete", "--needs grow", "--needs overfill", "--needs grow,delete"] {
        for (rate, memory) in [("0.1", 1), ("1e-6", 1), ("0.1", 100)] {
            let ran = scene.run(&format!("plan --memory {memory} --rate {rate} {needs}"));
            let Some((_, said)) = ran.err.split_once("not enough; give at least ") else {
                ran.ok();
                continue;
            };
            let least = said.split(',').next().unwrap();
            scene.run(&format!("plan --memory {least} --rate {rate} {needs}")).ok();
        }
    }
    for memory in ["181k", "200k", "400k"] {
        let said = scene.run(&format!("plan --memory {memory} --keys 1M")).ok();
        assert!(!said.contains("NaN") && !said.contains("1.000"), "{said}");
    }
    // What it says can be built.
    let said = scene.run("plan --memory 200k --keys 100k").ok();
    let command = said.lines().find_map(|line| line.trim().strip_prefix("malkoha ")).unwrap();
    let command = command.replace("FILE", "f.malkoha").replace("IN", "keys.txt");
    scene.write("keys.txt", lines("key", 0..100_000));
    scene.run(&command).ok();
    assert!(scene.read("f.malkoha").len() <= 201_000, "{command}");
}

#[test]
fn reports_and_help_fit_the_terminal() {
    let scene = Scene::new("fit");
    scene.write("keys.txt", lines("key", 0..5000));
    scene.write("more.txt", lines("more", 0..5000));
    for columns in [60, 80] {
        for args in [
            "build --rate 1% -o f.malkoha keys.txt",
            "info f.malkoha",
            "build --kind bloom -n 5k -o b.malkoha keys.txt",
            "add b.malkoha more.txt",
            "info b.malkoha",
            "merge -o m.malkoha b.malkoha b.malkoha",
            "verify f.malkoha b.malkoha",
            "dedup --count keys.txt keys.txt",
            "dedup --count --repeated keys.txt keys.txt",
            "help",
            "help build",
            "help query",
            "help dedup",
            "-h",
        ] {
            let ran = scene.run_in_columns(columns, args);
            let report = if args.starts_with("dedup") { ran.err.clone() } else { ran.out.clone() };
            let long = report.lines().find(|line| line.chars().count() > columns);
            assert_eq!(long, None, "{args} in {columns} columns");
            ran.ok();
        }
    }
}

#[test]
fn errors_in_arguments_fit_the_terminal() {
    let scene = Scene::new("narrow-errors");
    let all = [
        "reads -a 0 f",
        "dedup --jsonl t --normalize x",
        "build --label a -o f",
        "query --overlap 1",
        "bild",
    ];
    for (args, columns) in all.into_iter().flat_map(|args| [60, 80].map(|columns| (args, columns))) {
        let ran = scene.run_in_columns(columns, args);
        assert_eq!(ran.code, Some(2), "{args}: {ran}");
        let long = ran.err.lines().find(|line| line.chars().count() > columns);
        assert_eq!(long, None, "{args} in {columns} columns");
    }
    assert!(scene.run_in_columns(60, "reads -a 0 f").err.lines().count() > 3, "it is longer than a line");
}

/// Text that is broken into lines here and once more by the terminal looks torn.
#[test]
fn help_is_wrapped_once() {
    let scene = Scene::new("wrapped-once");
    let starts = ["Counts", "Rates", "Kinds", "Input", "Exit"];
    for columns in [60, 80, 100] {
        let help = scene.run_in_columns(columns, "help").ok();
        let (_, end) = help.split_once("\nCounts").unwrap();
        let lines: Vec<_> = end.lines().collect();
        for pair in lines.windows(2) {
            let word = pair[1].split(' ').next().unwrap();
            let is_start = starts.iter().any(|start| word.starts_with(start));
            let room = columns.saturating_sub(pair[0].len());
            assert!(is_start || word.len() + 1 > room.saturating_sub("Counts".len()), "{columns}: {pair:?}");
        }
    }
}

#[test]
fn manual_pages_that_are_named_are_there() {
    let scene = Scene::new("man");
    let page = scene.run("man").ok();
    assert!(!page.contains("(1)"), "one page refers to no other");
    scene.run("man --out pages").ok();
    let pages: Vec<_> =
        std::fs::read_dir(scene.path("pages")).unwrap().map(|page| page.unwrap().path()).collect();
    assert_eq!(pages.len(), 15, "{pages:?}");
    let mut named = 0;
    for path in &pages {
        let page = std::fs::read_to_string(path).unwrap().replace("\\-", "-");
        let name = path.file_stem().unwrap().to_str().unwrap();
        assert!(page.contains(&format!(".TH {name} 1")), "{name}");
        for word in page.split_whitespace().filter_map(|word| word.strip_suffix("(1)")) {
            assert!(scene.path(&format!("pages/{word}.1")).exists(), "{word} is named by {name}");
            named += 1;
        }
    }
    assert!(named >= 12, "the page of the program names the others");
}

/// Runs the program on a terminal of 80 columns, which `script` makes. Returns what is seen there.
#[cfg(target_os = "linux")]
fn on_terminal(scene: &Scene, args: &str) -> Option<String> {
    let program = env!("CARGO_BIN_EXE_malkoha");
    let command = format!("stty cols 80; {program} {args}");
    let output = std::process::Command::new("script")
        .args(["-qec", &command, "/dev/null"])
        .current_dir(scene.folder())
        .env_remove("COLUMNS")
        .output();
    let Ok(output) = output else {
        println!("skipped: there is no script here");
        return None;
    };
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
#[cfg(target_os = "linux")]
fn lines_do_not_run_into_the_progress_bar() {
    let scene = Scene::new("bar-lines");
    scene.write("d.jsonl", lines("{\"text\": \"owl\", \"n\":", 0..1000).replace('\n', "}\n"));
    for args in ["dedup d.jsonl", "dedup --jsonl text d.jsonl"] {
        let Some(said) = on_terminal(&scene, args) else { return };
        assert!(said.contains("\"owl\"") && !said.contains("reading ["), "{said:?}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn messages_do_not_run_into_the_progress_bar() {
    let scene = Scene::new("bar");
    scene.write("d.jsonl", "{\"text\": \"owl\"}\n".repeat(1000) + "no object\n");
    let Some(said) = on_terminal(&scene, "dedup --jsonl text --bad keep d.jsonl > out.jsonl") else { return };
    let (before, _) = said.split_once("malkoha: d.jsonl:1001: not a JSON object").expect("the note");
    assert!(before.contains("reading ["), "there is a bar: {said:?}");
    // The bar was wiped out, or the note has a line of its own.
    let line = before.rsplit(['\r', '\n']).next().unwrap();
    assert!(line.ends_with("\x1b[2K") || line.is_empty(), "{said:?}");
}
