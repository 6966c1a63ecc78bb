//! Saves to a disk that dies at every step, and to one that fails at every step.
//!
//! The disk keeps two images: what programs see, and what a power cut leaves. Content is on the disk for certain
//! once the file is synced; until then any prefix of it may be there, or nothing. Names are on the disk once the
//! folder is synced; until then any number of the latest changes may be lost, the last ones first.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::save::{Disk, replace};
use crate::error::Error;

type Names = BTreeMap<PathBuf, usize>;

/// The content of a file: as programs see it, and the part that is certainly on the disk.
#[derive(Clone, Default)]
struct OnDisk {
    live: Vec<u8>,
    synced: Option<Vec<u8>>,
}

#[derive(Default)]
struct Image {
    files: Vec<OnDisk>,
    names: Names,
    /// The names on the disk, and every state of them since, including the present one.
    history: Vec<Names>,
}

/// What happens at a chosen step.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// This step and all later ones do not happen.
    Death,
    /// This step fails; later ones do not.
    Failure,
}

struct FakeDisk {
    image: Rc<RefCell<Image>>,
    countdown: Rc<Countdown>,
}

struct Countdown {
    fate: Fate,
    left: Cell<usize>,
    struck: Cell<bool>,
}

impl Countdown {
    fn step(&self) -> io::Result<()> {
        let dead = self.struck.get() && self.fate == Fate::Death;
        if dead || self.left.get() == 0 && !self.struck.replace(true) {
            return Err(io::Error::other("simulated failure"));
        }
        self.left.set(self.left.get().saturating_sub(1));
        Ok(())
    }
}

struct Handle {
    file: usize,
    image: Rc<RefCell<Image>>,
    countdown: Rc<Countdown>,
}

impl Write for Handle {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let content = &mut self.image.borrow_mut().files[self.file].live;
        if let Err(error) = self.countdown.step() {
            // A write that dies halfway has written a part.
            content.extend_from_slice(&bytes[..bytes.len() / 2]);
            return Err(error);
        }
        content.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl FakeDisk {
    fn new(path: &Path, old: &[u8], fate: Fate, steps: usize) -> Self {
        let content = OnDisk { live: old.to_vec(), synced: Some(old.to_vec()) };
        let names = Names::from([(path.to_owned(), 0)]);
        let image = Image { files: vec![content], names: names.clone(), history: vec![names] };
        let countdown = Countdown { fate, left: Cell::new(steps), struck: Cell::new(false) };
        Self { image: Rc::new(RefCell::new(image)), countdown: Rc::new(countdown) }
    }

    fn change_names(&self, change: impl FnOnce(&mut Names)) -> io::Result<()> {
        self.countdown.step()?;
        let image = &mut *self.image.borrow_mut();
        change(&mut image.names);
        image.history.push(image.names.clone());
        Ok(())
    }

    /// What programs find at a path.
    fn live(&self, path: &Path) -> Vec<u8> {
        let image = self.image.borrow();
        image.files[image.names[path]].live.clone()
    }

    /// All that may be found at a path after a power cut; `None` means no file.
    fn after_power_cut(&self, path: &Path) -> Vec<Option<Vec<u8>>> {
        let image = self.image.borrow();
        let mut found = Vec::new();
        for names in &image.history {
            let Some(file) = names.get(path) else {
                found.push(None);
                continue;
            };
            let OnDisk { live, synced } = &image.files[*file];
            match synced {
                Some(synced) if synced == live => found.push(Some(live.clone())),
                _ => found.extend([0, live.len() / 2, live.len()].map(|end| Some(live[..end].to_vec()))),
            }
        }
        found
    }
}

impl Disk for FakeDisk {
    type File = Handle;

    fn create(&self, path: &Path) -> io::Result<Handle> {
        let file = self.image.borrow().files.len();
        self.change_names(|names| _ = names.insert(path.to_owned(), file))?;
        self.image.borrow_mut().files.push(OnDisk::default());
        Ok(Handle { file, image: Rc::clone(&self.image), countdown: Rc::clone(&self.countdown) })
    }

    fn keep_permissions(&self, _: &Handle, _: &Path) -> io::Result<()> {
        self.countdown.step()
    }

    fn sync(&self, file: &Handle) -> io::Result<()> {
        self.countdown.step()?;
        let content = &mut self.image.borrow_mut().files[file.file];
        content.synced = Some(content.live.clone());
        Ok(())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.change_names(|names| {
            let file = names.remove(from).expect("the file is there");
            names.insert(to.to_owned(), file);
        })
    }

    fn sync_folder(&self, _: &Path) -> io::Result<()> {
        self.countdown.step()?;
        let image = &mut *self.image.borrow_mut();
        image.history = vec![image.names.clone()];
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.change_names(|names| _ = names.remove(path))
    }
}

const OLD: &[u8] = b"the old filter";
/// Larger than the buffer, so that it is written in several steps.
fn new() -> Vec<u8> {
    (0..3 << 20).map(|i| (i % 251) as u8).collect()
}

fn save_new(disk: &FakeDisk, path: &Path) -> Result<(), Error> {
    replace(disk, path, |out| new().chunks(1 << 19).try_for_each(|chunk| out.write_all(chunk)))
}

#[test]
fn wherever_saving_dies_the_path_holds_the_old_file_or_the_new_one() {
    let path = Path::new("folder/filter");
    let (mut died, mut steps) = (0, 0);
    loop {
        let disk = FakeDisk::new(path, OLD, Fate::Death, steps);
        let saved = save_new(&disk, path);
        let complete = |bytes: &[u8]| bytes == OLD || bytes == new();
        assert!(complete(&disk.live(path)), "after {steps} steps");
        for found in disk.after_power_cut(path) {
            assert!(found.is_some_and(|found| complete(&found)), "after {steps} steps and a power cut");
        }
        if saved.is_ok() {
            // From now on it is the new file, even after a power cut.
            assert_eq!(disk.after_power_cut(path), [Some(new())]);
            break;
        }
        died += 1;
        steps += 1;
    }
    assert!(died >= 7, "create, three writes, sync, rename, sync of the folder; {died}");
}

#[test]
fn every_failure_is_reported_and_cleaned_up() {
    let path = Path::new("folder/filter");
    for steps in 0.. {
        let disk = FakeDisk::new(path, OLD, Fate::Failure, steps);
        let saved = save_new(&disk, path);
        let names: Vec<_> = disk.image.borrow().names.keys().cloned().collect();
        assert_eq!(names, [path], "no temporary file is left after {steps} steps");
        match saved {
            Ok(()) => break,
            Err(Error::Io { operation: "sync the folder of", .. }) => assert_eq!(disk.live(path), new()),
            Err(error) => {
                assert_eq!(disk.live(path), OLD, "after {steps} steps");
                assert!(error.to_string().contains("folder/filter"), "{error}");
            }
        }
    }
}

/// Shows that the test above can fail: without the sync, a power cut leaves a torn file.
#[test]
fn without_a_sync_a_power_cut_would_leave_neither() {
    let (path, temporary) = (Path::new("filter"), Path::new("temporary"));
    let disk = FakeDisk::new(path, OLD, Fate::Death, 1000);
    let mut file = disk.create(temporary).unwrap();
    file.write_all(&new()).unwrap();
    disk.rename(temporary, path).unwrap();
    let torn = |found: Option<Vec<u8>>| found.is_none_or(|found| found != OLD && found != new());
    assert!(disk.after_power_cut(path).into_iter().any(torn));
}
