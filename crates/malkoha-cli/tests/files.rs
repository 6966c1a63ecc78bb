//! Where filters come from and go to: symbolic links, owners, pipes, standard input and output.
#![cfg(unix)]

use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use crate::common::{Scene, lines};

/// A user who is not the superuser and owns nothing.
const STRANGER: u32 = 54_321;

#[test]
fn a_filter_behind_a_symbolic_link_is_changed_itself() {
    let scene = Scene::new("link");
    std::fs::create_dir(scene.path("elsewhere")).unwrap();
    std::fs::create_dir(scene.path("links")).unwrap();
    // A link to a link, both relative to the folder that they are in.
    symlink("../elsewhere/f.malkoha", scene.path("links/near.malkoha")).unwrap();
    symlink("links/near.malkoha", scene.path("far.malkoha")).unwrap();
    let is_link = |name: &str| std::fs::symlink_metadata(scene.path(name)).unwrap().is_symlink();
    let holds = |keys: &str| scene.run_with("query -c elsewhere/f.malkoha", keys).out.trim() == "2";

    // The file does not exist yet.
    scene.run_with("build --rate 1e-9 -n 100 -o far.malkoha", "owl\neagle\n").ok();
    assert!(holds("owl\neagle\n"));
    scene.run_with("add far.malkoha", "cuckoo\nmalkoha\n").ok();
    assert!(holds("cuckoo\nmalkoha\n"));
    scene.run_with("remove far.malkoha", "owl\neagle\n").ok();
    assert!(!holds("owl\neagle\n"));
    scene.run_with("build --rate 1e-9 -n 100 -o a.malkoha", "wren\nrobin\n").ok();
    scene.run("merge -o far.malkoha a.malkoha a.malkoha").ok();
    assert!(holds("wren\nrobin\n"));
    assert!(is_link("far.malkoha") && is_link("links/near.malkoha"));
    assert_eq!(std::fs::read_dir(scene.path("links")).unwrap().count(), 1, "nothing is left beside a link");

    symlink("round", scene.path("round")).unwrap();
    scene.run_with("build -n 100 -o round", "owl\n").fails(&["round", "leads to no file"]);
    scene.run("merge -o a.malkoha far.malkoha elsewhere/f.malkoha").ok();
    scene.run("merge -o elsewhere/f.malkoha far.malkoha a.malkoha").fails(&["is an input"]);
}

#[test]
fn changes_through_a_link_and_through_the_name_wait_for_each_other() {
    let scene = Scene::new("link-lock");
    scene.run_with("build --rate 1e-9 -n 10k -o f.malkoha", "owl\n").ok();
    symlink("f.malkoha", scene.path("link.malkoha")).unwrap();
    std::thread::scope(|scope| {
        for part in 0..8 {
            let name = ["f.malkoha", "link.malkoha"][part % 2];
            let (scene, keys) = (&scene, lines(&format!("part {part}"), 0..100));
            scope.spawn(move || scene.run_with(&format!("add -q {name}"), keys).ok());
        }
    });
    let all: String = (0..8).map(|part| lines(&format!("part {part}"), 0..100)).collect();
    assert_eq!(scene.run_with("query -c f.malkoha", all).ok().trim(), "800");
}

#[test]
fn the_owner_of_a_filter_is_kept_or_its_loss_is_told() {
    let scene = Scene::new("owner");
    scene.run_with("build -n 100 -o f.malkoha", "owl\n").ok();
    let path = scene.path("f.malkoha");
    if chown(&path, Some(STRANGER), Some(STRANGER)).is_err() {
        println!("skipped: files cannot be given away here");
        return;
    }
    let owner = || path.metadata().map(|found| (found.uid(), found.gid(), found.mode() & 0o777)).unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o640)).unwrap();
    let ran = scene.run_with("add -q f.malkoha", "eagle\n");
    assert_eq!(owner(), (STRANGER, STRANGER, 0o640));
    assert!(ran.err.is_empty(), "{ran}");

    // Somebody else, who may write in the folder, cannot give the new file away.
    std::fs::set_permissions(scene.folder(), PermissionsExt::from_mode(0o777)).unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o664)).unwrap();
    scene.write("keys.txt", "wren\n");
    let mut command = scene.command("add -q f.malkoha keys.txt");
    let Ok(output) = command.uid(STRANGER + 1).gid(STRANGER + 1).output() else {
        println!("skipped: the program cannot be run by another user here");
        return;
    };
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("f.malkoha now belongs to user 54322 and group 54322"), "{said}");
    assert_eq!(owner(), (STRANGER + 1, STRANGER + 1, 0o644), "another group may do what everybody may");
}

#[test]
fn a_folder_without_permission_is_not_called_full() {
    let scene = Scene::new("permission");
    scene.write("keys.txt", "owl\n");
    std::fs::set_permissions(scene.folder(), PermissionsExt::from_mode(0o755)).unwrap();
    let closed = scene.path("closed");
    std::fs::create_dir(&closed).unwrap();
    std::fs::set_permissions(&closed, PermissionsExt::from_mode(0o555)).unwrap();
    let mut command = scene.command("build -n 10 -o closed/f.malkoha keys.txt");
    if scene.folder().metadata().unwrap().uid() == 0 {
        command.uid(STRANGER).gid(STRANGER);
    }
    let Ok(output) = command.output() else {
        println!("skipped: the program cannot be run by another user here");
        return;
    };
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2));
    assert!(
        said.contains("Permission denied") && said.contains("a folder in which you may create files"),
        "{said}"
    );
    assert!(!said.contains("space") && said.contains("nothing was written"), "{said}");
}

#[test]
fn filters_go_through_pipes() {
    let scene = Scene::new("fifo");
    let made = Command::new("mkfifo").arg(scene.path("pipe")).status();
    if !made.is_ok_and(|status| status.success()) {
        println!("skipped: there is no mkfifo here");
        return;
    }
    scene.write("keys.txt", lines("key", 0..100_000));
    scene.run("build -o f.malkoha keys.txt").ok();
    let whole = scene.read("f.malkoha");
    let through_pipe = |args: &str, bytes: &[u8]| {
        std::thread::scope(|scope| {
            let path = scene.path("pipe");
            // Who reads only the beginning closes the pipe.
            scope.spawn(move || std::fs::write(path, bytes).is_ok());
            scene.run(args)
        })
    };
    assert_eq!(through_pipe("query -c pipe keys.txt", &whole).ok().trim(), "100000");
    assert!(through_pipe("info pipe", &whole).ok().contains("strings of bytes"));
    assert!(through_pipe("verify pipe", &whole).ok().contains("pipe: sound"));
    through_pipe("info pipe", &whole[..1000]).fails(&["pipe", "end inside"]);
    through_pipe("info pipe", &[&whole[..], b"x"].concat())
        .fails(&["pipe", "more bytes after the last section"]);
    through_pipe("info pipe", b"no filter at all, but some text").fails(&["pipe"]);
    scene.run("add pipe keys.txt").fails(&["pipe is not a file"]);
    scene.run("info /dev/zero").fails(&["/dev/zero", "not the bytes of a filter"]);

    assert!(scene.run_with("info -", &whole).ok().contains("standard input"));
    assert_eq!(scene.run_with("query -c - keys.txt", &whole).ok().trim(), "100000");
    scene.run_with("query - -", &whole).fails(&["both the filter and the keys"]);
    scene.run_with("add - keys.txt", &whole).fails(&["only files can be changed"]);
}

#[test]
fn a_filter_is_written_to_standard_output() {
    let scene = Scene::new("stdout");
    scene.write("keys.txt", lines("key", 0..1000));
    scene.run("build -o f.malkoha keys.txt").ok();
    for args in ["build -o - keys.txt", "merge -o - f.malkoha f.malkoha"] {
        let output = scene.command(args).stderr(Stdio::piped()).output().unwrap();
        assert!(output.stdout == scene.read("f.malkoha"), "{args}");
        assert!(
            String::from_utf8_lossy(&output.stderr).contains("filter  sorted"),
            "the report is beside it"
        );
        let output = scene.command(&format!("{args} -q")).output().unwrap();
        assert!(output.stdout == scene.read("f.malkoha") && output.stderr.is_empty(), "{args}");
    }
    assert_eq!(scene.files(), ["f.malkoha", "keys.txt"]);
    let Ok(full) = std::fs::OpenOptions::new().write(true).open("/dev/full") else { return };
    let output = scene.command("build -o - keys.txt").stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("cannot write to standard output"));
}

#[test]
fn a_hard_link_that_is_left_behind_is_told() {
    let scene = Scene::new("hard-links");
    scene.run_with("build -q -o f.malkoha", "owl\n").ok();
    assert_eq!(scene.run_with("add -q f.malkoha", "cuckoo\n").err, "");
    for name in ["g.malkoha", "h.malkoha"] {
        std::fs::hard_link(scene.path("f.malkoha"), scene.path(name)).unwrap();
    }
    let ran = scene.run_with("add -q f.malkoha", "malkoha\n");
    assert_eq!(ran.code, Some(0), "{ran}");
    let told = "warning: f.malkoha had 2 other names (hard links), which still lead to the old filter";
    assert!(ran.err.contains(told), "{ran}");
    assert_eq!(scene.run_with("query g.malkoha", "malkoha\nowl\n").ok(), "owl\n");
    let ran = scene.run_with("build -q -o g.malkoha", "eagle\n");
    assert!(ran.err.contains("g.malkoha had 1 other name (hard links)"), "{ran}");
    assert_eq!(scene.run_with("build -q -o g.malkoha", "eagle\n").err, "", "it has one name now");
}
