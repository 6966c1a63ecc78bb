//! A scene for one test: an empty folder in which the built program runs.
#![allow(dead_code, reason = "not every test uses everything")]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// A folder that is removed at the end.
pub(crate) struct Scene(PathBuf);

/// The result of a run of the program.
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Scene {
    pub(crate) fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("malkoha-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, content).unwrap();
        path
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap()
    }

    /// Returns the names of all files, sorted.
    pub(crate) fn files(&self) -> Vec<String> {
        let names = std::fs::read_dir(&self.0).unwrap();
        let mut names: Vec<_> =
            names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// Returns the program with arguments separated by spaces, ready to run in the folder.
    pub(crate) fn command(&self, args: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_malkoha"));
        command
            .args(args.split_whitespace())
            .current_dir(&self.0)
            .env_remove("NO_COLOR")
            .env_remove("COLUMNS");
        command
    }

    pub(crate) fn run(&self, args: &str) -> Ran {
        self.run_with(args, "")
    }

    /// Runs the program with this standard input.
    pub(crate) fn run_with(&self, args: &str, input: impl AsRef<[u8]>) -> Ran {
        self.run_in_blocks(Blocks::default(), args, input)
    }

    /// Runs the program with this standard input, with unusual sizes of blocks and batches.
    pub(crate) fn run_in_blocks(&self, blocks: Blocks, args: &str, input: impl AsRef<[u8]>) -> Ran {
        let mut child = blocks.spawn(self.command(args));
        let mut stdin = child.stdin.take().unwrap();
        let output = std::thread::scope(|scope| {
            let input = input.as_ref().to_vec();
            // A program that does not read its input closes it.
            scope.spawn(move || stdin.write_all(&input));
            child.wait_with_output().unwrap()
        });
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        Ran { code: output.status.code(), out: text(&output.stdout), err: text(&output.stderr) }
    }

    /// Runs the program for a terminal of this many columns.
    pub(crate) fn run_in_columns(&self, columns: usize, args: &str) -> Ran {
        let output = self.command(args).env("COLUMNS", columns.to_string()).output().unwrap();
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        Ran { code: output.status.code(), out: text(&output.stdout), err: text(&output.stderr) }
    }

    pub(crate) fn spawn(&self, args: &str) -> Child {
        Blocks::default().spawn(self.command(args))
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.0
    }
}

/// The sizes in which the program reads and stores, if not the default ones.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Blocks {
    pub(crate) bytes: Option<usize>,
    pub(crate) keys: Option<usize>,
}

impl Blocks {
    pub(crate) fn of_bytes(bytes: usize) -> Self {
        Self { bytes: Some(bytes), keys: None }
    }

    pub(crate) fn spawn(self, mut command: Command) -> Child {
        for (name, size) in [("MALKOHA_BLOCK_BYTES", self.bytes), ("MALKOHA_BATCH_KEYS", self.keys)] {
            command.env_remove(name);
            if let Some(size) = size {
                command.env(name, size.to_string());
            }
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }
}

/// Waits for a program whose input is open and idle: it must end by itself and soon.
#[track_caller]
pub(crate) fn ends_by_itself(child: &mut Child) -> ExitStatus {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        if start.elapsed() > Duration::from_secs(60) {
            let _ = child.kill();
            panic!("it still waits for its input");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

impl std::fmt::Display for Ran {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "it said {:?} and printed {:.500?}", self.err, self.out)
    }
}

impl Ran {
    /// Checks for success, and returns what was printed.
    #[track_caller]
    pub(crate) fn ok(self) -> String {
        assert_eq!(self.code, Some(0), "{self}");
        self.out
    }

    /// Checks for an error whose message has all of these words.
    #[track_caller]
    pub(crate) fn fails(self, words: &[&str]) {
        assert_eq!(self.code, Some(2), "{self}");
        for word in words {
            assert!(self.err.contains(word), "{word:?} is missing: {}", self.err);
        }
        assert!(!self.err.contains("panicked"), "{}", self.err);
    }
}

/// Returns numbered lines, each different.
pub(crate) fn lines(name: &str, range: std::ops::Range<u32>) -> String {
    let mut text = String::new();
    for number in range {
        text += name;
        text += " ";
        text += &number.to_string();
        text.push('\n');
    }
    text
}
