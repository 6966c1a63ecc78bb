//! Tables by column, counts, repeated lines, and summaries for programs.

use crate::common::{Blocks, Scene, lines};
use serde_json::Value;

/// People with their towns; the third record is quoted, has a comma, a quote and a line end, and ends like on other
/// systems.
const PEOPLE: &str = "name,town,age\nAnn,Bath,30\n\"Bo, \"\"the\nbird\"\"\",\"York\",41\r\nCy,Bath,7\n";

fn object(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn dedup_by_column() {
    let scene = Scene::new("dedup-column");
    scene.write("people.csv", PEOPLE);
    scene.write("others.csv", "town,name\nBath,Di\nHull,Ed");
    let first = "name,town,age\nAnn,Bath,30\n\"Bo, \"\"the\nbird\"\"\",\"York\",41\r\n";
    assert_eq!(scene.run("dedup -q --column town people.csv").ok(), first);
    assert_eq!(scene.run("dedup -q --column 2 --header people.csv").ok(), first);
    assert_eq!(
        scene.run("dedup -q --column 2 people.csv").ok(),
        first,
        "the names are different from all fields"
    );
    // Columns are found by name in every file; the names are printed once.
    let both = scene.run("dedup -q --column town people.csv others.csv").ok();
    assert_eq!(both, format!("{first}Hull,Ed\n"));
    assert_eq!(scene.run("dedup -q -c --column town people.csv others.csv").ok(), "3\n");
    let repeated = scene.run("dedup -q --repeated --column town people.csv others.csv").ok();
    assert_eq!(repeated, "name,town,age\nCy,Bath,7\n", "each once");
    let query = scene.run_with("build -q -n 9 --rate 1e-9 -o f.malkoha", "Ann\nHull\n");
    assert_eq!(query.code, Some(0));
    let ran = scene.run("query --column town f.malkoha t.malkoha people.csv others.csv");
    assert_eq!(
        (ran.code, ran.out.as_str()),
        (Some(2), "name,town,age\nHull,Ed\n"),
        "a file without it is left out"
    );
    scene.write("others.csv", "country,name\nHull,Ann\n");
    let ran = scene.run("query --column town f.malkoha others.csv people.csv");
    assert_eq!((ran.code, ran.out.as_str()), (Some(2), "name,town,age\n"), "{ran}");
    assert!(ran.err.contains("others.csv: there is no column town"), "{ran}");
    scene.run("dedup --column country people.csv").fails(&[
        "people.csv",
        "no column country",
        "name, town, age",
    ]);
    scene.run("dedup --column 0 people.csv").fails(&["--column", "counted from 1"]);
    scene.run("dedup -z --column 1 people.csv").fails(&["--nul", "--column"]);
}

#[test]
fn delimiters_are_told_by_the_name_or_the_option() {
    let scene = Scene::new("delimiters");
    // In files with tabs, quotes are ordinary letters.
    scene.write("birds.tsv", "a\t\"owl\nb\t\"owl\nc\towl\n");
    assert_eq!(scene.run("dedup -q --column 2 birds.tsv").ok(), "a\t\"owl\nc\towl\n");
    let text = "a;owl\nb;owl\n";
    assert_eq!(scene.run_with("dedup -q --column 2 --delimiter ;", text).ok(), "a;owl\n");
    assert_eq!(
        scene.run_with("dedup -q --column 2 --delimiter tab", text.replace(';', "\t")).ok(),
        "a\towl\n"
    );
    scene.run_with("dedup --column 2 --delimiter ;;", text).fails(&["--delimiter", "one letter"]);
    scene.run_with("dedup --delimiter ;", text).fails(&["--column"]);
}

#[test]
fn query_by_column_prints_records() {
    let scene = Scene::new("query-column");
    scene.write("people.csv", PEOPLE);
    scene.run_with("build -n 10 --rate 1e-9 -o towns.malkoha", "York\nHull\n").ok();
    let bo = "name,town,age\n\"Bo, \"\"the\nbird\"\"\",\"York\",41\r\n";
    assert_eq!(scene.run("query --column town towns.malkoha people.csv").ok(), bo);
    assert_eq!(scene.run("query -c --column town towns.malkoha people.csv").ok(), "1\n");
    let others = scene.run("query -v --column town towns.malkoha people.csv").ok();
    assert_eq!(others, "name,town,age\nAnn,Bath,30\nCy,Bath,7\n");
    // A filter of a column holds what the fields say, not how they are written.
    scene.run("build --rate 1e-9 --column name -o names.malkoha people.csv").ok();
    let names = "Ann\0Bo, \"the\nbird\"\0name\0";
    assert_eq!(scene.run_with("query -f nul names.malkoha", names).ok(), "Ann\0Bo, \"the\nbird\"\0");
    scene.run_with("add --column 1 names.malkoha", "Di,Hull\n").ok();
    scene.run_with("remove --column 1 names.malkoha", "Ann,Bath\n").ok();
    assert_eq!(scene.run_with("query names.malkoha", "Ann\nCy\nDi\n").ok(), "Cy\nDi\n");
}

#[test]
fn records_that_lack_the_column_are_named_by_line() {
    let scene = Scene::new("ragged");
    let mut table = lines("key,1,", 0..30_000);
    table += "short\n";
    table += &lines("key,1,", 0..100);
    scene.write("table.csv", &table);
    scene.write("good.csv", "a,b\n");
    scene.run_with("build -n 10 -o f.malkoha", "owl\n").ok();
    for blocks in [Blocks::default(), Blocks::of_bytes(100)] {
        for args in ["dedup --column 3", "query --column 2 f.malkoha", "build --column 2 -n 99k -o g.malkoha"]
        {
            let ran = scene.run_in_blocks(blocks, &format!("{args} table.csv"), "");
            ran.fails(&["table.csv: line 30001 has too few columns", "--delimiter"]);
        }
    }
    scene.run("query --column 2 f.malkoha good.csv table.csv").fails(&["table.csv: line 30001"]);
    scene.write("open.csv", "a,\"b\nc,d\n");
    scene.run("dedup --column 1 open.csv").fails(&["open.csv ends inside a field in quotes"]);
    assert!(!scene.path("g.malkoha").exists());
}

#[test]
fn headers_may_be_long_and_follow_empty_lines() {
    let scene = Scene::new("headers");
    let names: Vec<String> = (1..=100_000).map(|column| format!("c{column}")).collect();
    scene.write("wide.csv", names.join(",") + "\n");
    let ran = scene.run("dedup --column other wide.csv");
    assert!(ran.err.len() < 1000, "{} bytes", ran.err.len());
    ran.fails(&["wide.csv: there is no column other; its 100000 columns begin with: c1, c2, c3"]);
    scene.write("late.csv", "\n\r\nname,id\nowl,1\nowl,2\n");
    scene.write("none.csv", "\n\n");
    assert_eq!(scene.run("dedup -c -q --column name none.csv").ok(), "0\n");
    for blocks in [Blocks::default(), Blocks::of_bytes(20), Blocks::of_bytes(1)] {
        let ran = scene.run_in_blocks(blocks, "dedup -q --column name late.csv", "");
        assert_eq!(ran.ok().trim_start(), "name,id\nowl,1\n");
    }
    scene.write("twice.csv", "name,id,name\nowl,1,crow\n");
    scene.run("dedup --column name twice.csv").fails(&["columns 1 and 3 are both named name"]);
    assert_eq!(scene.run("dedup -q --header --column 3 twice.csv").ok(), "name,id,name\nowl,1,crow\n");
}

#[test]
fn a_header_is_looked_for_until_there_is_one() {
    let scene = Scene::new("header-later");
    scene.write("none.csv", "\n\n");
    scene.write("real.csv", "name,id\nowl,1\nowl,2\n");
    for args in ["--column name", "--column 1 --header"] {
        for blocks in [Blocks::default(), Blocks::of_bytes(1)] {
            let args = format!("dedup -q {args} none.csv real.csv none.csv real.csv");
            let ran = scene.run_in_blocks(blocks, &args, "");
            assert_eq!(ran.ok(), "\n\nname,id\nowl,1\n", "{args}");
        }
    }
}

#[test]
fn a_byte_order_mark_is_no_record() {
    let scene = Scene::new("header-mark");
    for header in ["name,id\n", "\nname,id\n", "\r\n\n\"name\",id\n", "\"the\nname\",id\n"] {
        let header = format!("\u{feff}{header}");
        scene.write("table.csv", format!("{header}owl,1\nowl,2\nelk,2\n"));
        for (args, kept) in [("--column id", "owl,1\nowl,2\n"), ("--column 1 --header", "owl,1\nelk,2\n")] {
            for blocks in [Blocks::of_bytes(1), Blocks::of_bytes(5), Blocks::default()] {
                let args = format!("dedup {args} table.csv table.csv");
                let ran = scene.run_in_blocks(blocks, &args, "");
                assert_eq!(ran.out, format!("{header}{kept}"), "{header:?}, {blocks:?}, {args}: {ran}");
                assert!(ran.err.contains("6 read, 2 written"), "{header:?}, {blocks:?}, {args}: {ran}");
            }
        }
    }
}

#[test]
fn a_byte_order_mark_is_no_part_of_the_first_field() {
    let scene = Scene::new("table-mark");
    scene.write("names.txt", "owl\nbarn, owl\nelk\n");
    scene.run("build -q -o f.malkoha names.txt").ok();
    for first in ["owl", "\"barn, owl\"", "\"owl\""] {
        let marked = format!("\u{feff}{first},1\nelk,2\n");
        scene.write("marked.csv", &marked);
        scene.write("plain.csv", format!("ape,0\n{first},3\n"));
        for blocks in [Blocks::of_bytes(1), Blocks::default()] {
            let run = |args: &str| scene.run_in_blocks(blocks, args, "");
            assert_eq!(run("query --column 1 f.malkoha marked.csv").ok(), marked, "the mark stays in front");
            assert_eq!(run("query -c --column 1 f.malkoha marked.csv").ok(), "2\n");
            run("build -q --column 1 -o g.malkoha marked.csv").ok();
            assert_eq!(run("query -c --column 1 g.malkoha plain.csv").ok(), "1\n");
            // Behind the records of another file, there is no place for a mark.
            let both = run("dedup -q --column 1 plain.csv marked.csv").ok();
            assert_eq!(both, format!("ape,0\n{first},3\nelk,2\n"));
            let both = run("dedup -q --column 2 plain.csv marked.csv").ok();
            assert_eq!(both, format!("ape,0\n{first},3\n{first},1\nelk,2\n"));
        }
    }
    scene.write("wide.csv", b"\xFF\xFEo\0w\0l\0,\x001\0\n\0");
    let ran = scene.run("query --column 1 f.malkoha wide.csv");
    assert!(ran.err.contains("wide.csv looks like UTF-16"), "{ran}");
}

#[test]
fn blocks_of_any_size_and_threads_give_the_same_records() {
    let scene = Scene::new("table-blocks");
    let mut table = "id,text\n".to_owned();
    for row in 0..3000 {
        let text = match row % 4 {
            0 => format!("\"quoted, {}\nover lines\"", row % 700),
            1 => format!("plain {}", row % 700),
            2 => format!("\"with \"\"quotes\"\" {}\"", row % 700),
            _ => format!("5\" pipe {}", row % 700),
        };
        table.extend([&row.to_string(), ",", &text, "\n"]);
    }
    let expected = scene.run_with("dedup -q -n 9k --rate 1e-9 --column text -j 1", &table).ok();
    assert_eq!(expected.matches("over lines").count(), 175);
    for (bytes, threads) in [(1, 1), (7, 3), (64, 2), (1000, 4)] {
        let args = format!("dedup -q -n 9k --rate 1e-9 --column text -j {threads}");
        let got = scene.run_in_blocks(Blocks::of_bytes(bytes), &args, &table).ok();
        assert!(got == expected, "{bytes} bytes, {threads} threads");
    }
}

#[test]
fn keys_of_another_format_are_not_looked_for_in_columns() {
    let scene = Scene::new("column-format");
    scene.run_with("build -f u64 -n 10 -o n.malkoha", 7u64.to_le_bytes()).ok();
    scene
        .run_with("query --column 1 n.malkoha", "7,a\n")
        .fails(&["integers of 8 bytes", "leave out --column"]);
    scene.run("query --column 1 --format lines n.malkoha").fails(&["--format", "--column"]);
    scene.run("build --column 1 --kmer 5 -o k.malkoha").fails(&["--kmer", "--column"]);
}

#[test]
fn dedup_counts_and_prints_repeated_lines() {
    let scene = Scene::new("repeated");
    let text = "a\nb\na\nc\na\nb\n";
    assert_eq!(scene.run_with("dedup -q --count -n 9", text).ok(), "3\n");
    assert_eq!(scene.run_with("dedup -q --repeated -n 9", text).ok(), "a\nb\n");
    assert_eq!(scene.run_with("dedup -q -d -c -n 9", text).ok(), "2\n");
    assert_eq!(scene.run_with("dedup -q -d --window 9", text).ok(), "a\nb\n");
    let first = lines("line", 0..50_000);
    let both = [first.as_str(), &lines("line", 25_000..75_000), &first].concat();
    assert!(scene.run_with("dedup -q --rate 1e-9 --repeated", both.clone()).ok().lines().count() == 50_000);
    let ran = scene.run_with("dedup --rate 1e-9 -c", both);
    assert!(ran.err.contains("150,000 read, 75,000 written"), "{ran}");
    assert_eq!(ran.ok(), "75000\n");
}

#[test]
fn query_counts_by_file_and_is_quiet_like_grep() {
    let scene = Scene::new("by-file");
    scene.run_with("build -n 10 --rate 1e-9 -o f.malkoha", "owl\neagle\n").ok();
    scene.write("a.txt", "owl\nox\neagle\n");
    scene.write("b.txt", "ox\n");
    scene.write("empty.txt", "");
    let ran = scene.run("query --by-file f.malkoha a.txt b.txt empty.txt a.txt");
    assert_eq!(ran.ok(), "a.txt:2\nb.txt:0\nempty.txt:0\na.txt:2\n");
    assert_eq!(scene.run("query -v --by-file f.malkoha a.txt b.txt").ok(), "a.txt:1\nb.txt:1\n");
    let quiet = |args: &str| {
        let ran = scene.run(&format!("query -q f.malkoha {args}"));
        assert!(ran.out.is_empty(), "{ran}");
        (ran.code, ran.err.is_empty())
    };
    assert_eq!(quiet("a.txt"), (Some(0), true));
    assert_eq!(quiet("-c b.txt"), (Some(1), true));
    assert_eq!(quiet("-v b.txt"), (Some(0), true));
    assert_eq!(quiet("a.txt nowhere.txt").0, Some(0), "as with grep: it matched before that");
    assert_eq!(quiet("b.txt nowhere.txt"), (Some(2), false));
    // The first match ends it, although the input goes on.
    let mut child = scene.spawn("query -q f.malkoha -");
    let mut input = child.stdin.take().unwrap();
    std::io::Write::write_all(&mut input, b"owl\n").unwrap();
    assert!(crate::common::ends_by_itself(&mut child).success());
}

#[test]
fn every_summary_can_be_json() {
    let scene = Scene::new("json");
    scene.write("keys.txt", lines("key", 0..1000));
    scene.write("more.txt", lines("more", 0..500));
    let built = object(&scene.run("build --json -n 2k -o f.malkoha keys.txt keys.txt").ok());
    assert_eq!(
        (&built["file"], &built["keys_read"], &built["kind"]),
        (&"f.malkoha".into(), &2000.into(), &"sorted".into())
    );
    assert!(built["seconds"].is_f64() && built["promise_kept"] == true, "{built}");
    assert_eq!(built["keys"], built["keys_stored"]);
    let added = object(&scene.run("add --json f.malkoha more.txt").ok());
    assert_eq!(added["keys_read"], 500);
    assert_eq!(
        added["keys"].as_u64(),
        Some(built["keys"].as_u64().unwrap() + added["keys_stored"].as_u64().unwrap())
    );
    let removed = object(&scene.run("remove --json f.malkoha more.txt").ok());
    assert_eq!((&removed["keys_read"], &removed["keys_removed"]), (&500.into(), &500.into()));
    scene.run("build -q -n 2k -o g.malkoha more.txt").ok();
    let merged = object(&scene.run("merge --json -o m.malkoha f.malkoha g.malkoha").ok());
    assert_eq!((&merged["filters"], &merged["planned_keys"]), (&2.into(), &2000.into()));

    // Keys go to standard output, and the summary beside them.
    let ran = scene.run("query --json f.malkoha keys.txt more.txt");
    assert!(ran.out.starts_with(&lines("key", 0..1000)), "{ran}");
    let asked = object(&ran.err);
    assert_eq!((&asked["keys_read"], &asked["inputs"][1]["keys_read"]), (&1500.into(), &500.into()));
    assert_eq!(asked["inputs"][0]["keys_matched"], 1000);
    let counted = object(&scene.run("query --json -c f.malkoha keys.txt more.txt").ok());
    assert_eq!(counted["keys_matched"], asked["keys_matched"]);
    let absent = scene.run("query --json -v -s f.malkoha more.txt");
    assert!(object(&absent.err)["expected_missing"].as_f64().unwrap() > 0.0, "{absent}");
    let ran = scene.run("dedup --json -n 2k keys.txt keys.txt");
    assert_eq!(ran.out, lines("key", 0..1000));
    let unique = object(&ran.err);
    assert_eq!((&unique["lines_read"], &unique["lines_dropped"]), (&2000.into(), &1000.into()));
    assert!(unique["expected_wrongly_dropped"].is_f64(), "{unique}");
    let ran = scene.run("build --json -q -n 2k -o - keys.txt");
    assert_eq!(object(&ran.err)["file"], "-", "{}", ran.err);

    scene.write("bad.malkoha", "no filter");
    let ran = scene.run("verify --json f.malkoha bad.malkoha");
    assert_eq!(ran.code, Some(2));
    let verified = object(&ran.out);
    assert_eq!((&verified[0]["sound"], &verified[1]["sound"]), (&true.into(), &false.into()));
    assert!(verified[1]["why"].as_str().unwrap().contains("bad.malkoha"), "{verified}");
}

#[test]
fn info_shows_several_filters() {
    let scene = Scene::new("info-several");
    scene.run_with("build -n 10 -o a.malkoha", "owl\n").ok();
    scene.run_with("build -f u64 -n 10 -o b.malkoha", 7u64.to_le_bytes()).ok();
    scene.write("bad.malkoha", "no filter");
    let ran = scene.run("info a.malkoha bad.malkoha b.malkoha");
    assert_eq!(ran.code, Some(2));
    assert!(ran.err.contains("bad.malkoha"), "{ran}");
    let parts: Vec<_> = ran.out.split("\n\n").collect();
    assert_eq!(parts.len(), 2, "{ran}");
    assert!(parts[0].contains("strings of bytes") && parts[1].contains("integers of 8 bytes"), "{ran}");
    let both = object(&scene.run("info --json a.malkoha b.malkoha").ok());
    assert_eq!((&both[0]["file"], &both[1]["key_format"]), (&"a.malkoha".into(), &"u64".into()));
    assert_eq!(object(&scene.run("info --json a.malkoha").ok())["file"], "a.malkoha");
    let page = scene.run("info --metrics a.malkoha b.malkoha").ok();
    assert_eq!(page.matches("# TYPE cf_items ").count(), 1, "{page}");
    assert!(page.contains("filter=\"a.malkoha\"") && page.contains("filter=\"b.malkoha\""), "{page}");
    assert!(scene.run("verify -q a.malkoha b.malkoha").ok().is_empty());
}
