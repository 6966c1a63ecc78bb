//! `dedup` of the built program.

use crate::common::{Scene, lines};

#[test]
fn first_occurrences_in_order() {
    let scene = Scene::new("dedup");
    let ran = scene.run_with("dedup --keys 100", "b\na\nb\n\nc\na\n\nd");
    assert!(ran.err.contains("8 read, 5 written"), "{}", ran.err);
    assert!(ran.err.contains("3 as duplicates; expected wrongly among them: 0.0"), "{}", ran.err);
    assert_eq!(ran.ok(), "b\na\n\nc\nd\n");
    let ran = scene.run_with("dedup -q -z --keys 100", "b\0a\n\0b\0");
    assert!(ran.err.is_empty());
    assert_eq!(ran.ok(), "b\0a\n\0");
}

#[test]
fn many_lines_from_several_files_on_any_number_of_threads() {
    let scene = Scene::new("dedup-many");
    let first = lines("line", 0..100_000);
    scene.write("a.txt", &first);
    scene.write("b.txt", lines("line", 50_000..150_000));
    let expected = lines("line", 0..150_000);
    for threads in [1, 2, 5] {
        let args = format!("dedup --rate 1e-9 --keys 150k -j {threads} a.txt b.txt a.txt");
        assert!(scene.run(&args).ok() == expected, "{threads} threads");
    }
}

#[test]
fn the_expected_number_of_wrong_drops_is_about_the_true_one() {
    let scene = Scene::new("dedup-rate");
    let ran = scene.run_with("dedup --rate 1% --keys 100k", lines("line", 0..100_000));
    let said = ran.err.clone();
    let wrong = 100_000 - ran.ok().lines().count();
    let expected: f64 = {
        let line = said.lines().find(|line| line.starts_with("dropped")).unwrap();
        assert!(line.contains(&format!("{wrong} as duplicates")), "{line}");
        line.split_whitespace().last().unwrap().parse().unwrap()
    };
    // About 480, as the rate rises from 0 to 0.96 %; four standard deviations are 88.
    assert!((wrong as f64 - expected).abs() < 4.0 * expected.sqrt() + 1.0, "{wrong}, said {expected}");
    assert!((300.0..700.0).contains(&expected), "{expected}");
}

#[test]
fn too_many_lines_for_the_memory_are_an_error() {
    let scene = Scene::new("dedup-full");
    scene
        .run_with("dedup --keys 100", lines("line", 0..10_000))
        .fails(&["more different lines than --keys 100"]);
}

#[test]
fn without_a_number_of_lines_the_filter_grows() {
    let scene = Scene::new("dedup-grows");
    let text = lines("line", 0..1_100_000);
    let ran = scene.run_with("dedup -q --rate 1e-9", [text.as_str(), text.as_str()].concat());
    assert!(ran.ok() == text);
    let said = scene.run_with("dedup --rate 1e-9", "owl\nowl\n").err;
    assert!(said.contains("elastic"), "{said}");
    let text = lines("line", 0..20_000);
    let ran = scene.run_with("dedup -q --rate 1e-9 --kind bloom", [text.as_str(), text.as_str()].concat());
    assert!(ran.ok() == text);
    scene.run_with("dedup --kind windowed:2", "owl\n").fails(&["--keys", "elastic"]);
}

#[test]
fn a_window_forgets_a_third_at_a_time_as_its_help_says() {
    let scene = Scene::new("dedup-third");
    // The same line again, after this many lines printed: it is printed if it was forgotten.
    let is_forgotten = |window: u32, before: u32, between: u32| {
        let text = [lines("a", 0..before), lines("x", 0..1), lines("b", 0..between), lines("x", 0..1)];
        let args = format!("dedup -q --rate 1e-9 --window {window}");
        scene.run_with(&args, text.concat()).ok().lines().filter(|line| *line == "x 0").count() == 2
    };
    for window in [1, 2, 3, 10, 100] {
        let third = u32::div_ceil(window, 3);
        for before in 0..2 * third {
            assert!(!is_forgotten(window, before, window - 1), "{window}, {before}: among the last");
            assert!(
                is_forgotten(window, before, 4 * third),
                "{window}, {before}: older by more than a third"
            );
        }
        assert!((0..third).any(|before| !is_forgotten(window, before, window)), "{window}: not at once");
    }
    assert!(scene.run("help dedup").ok().contains("a third of N at"));
}

#[test]
fn a_window_forgets_in_constant_memory() {
    let scene = Scene::new("dedup-window");
    let line = |number: u32| lines("line", number..number + 1);
    // A line is repeated after 700 others, inside the window, and after 1500 others, when it is forgotten.
    let text = [line(0), lines("a", 0..700), line(0), lines("b", 0..1500), line(0)].concat();
    let expected = [line(0), lines("a", 0..700), lines("b", 0..1500), line(0)].concat();
    assert!(scene.run_with("dedup -q --rate 1e-9 --window 1000", text).ok() == expected);
    let memory = |lines: String| {
        let said = scene.run_with("dedup --window 10k", lines).err;
        said.lines().find(|line| line.starts_with("filter")).unwrap().to_owned()
    };
    assert_eq!(memory(lines("line", 0..50_000)), memory(lines("line", 0..500_000)));
    scene.run("dedup --window 10 --keys 10").fails(&["--window", "--keys"]);
}
