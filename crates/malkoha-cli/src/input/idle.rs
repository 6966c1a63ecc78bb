//! Inputs that may be idle forever, such as terminals and pipes, read so that a waiting thread can stop
//! waiting.
//!
//! A separate thread blocks in the system call, which nobody can end; the other threads wait for what it
//! sends.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;

/// Bytes that are read at a time: what a pipe holds.
const PIECE: usize = 64 << 10;

/// Pieces that may wait.
const WAITING: usize = 4;

/// The time between two checks whether anybody still wants the input; only while nothing arrives.
const GLANCE: Duration = Duration::from_millis(50);

/// Signals that nobody wants the input any more.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Makes reading end with an error instead of waiting.
    pub(crate) fn now(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn is_now(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// An input that is read by its own thread.
pub(super) struct Idle {
    pieces: Receiver<io::Result<Vec<u8>>>,
    /// The current piece, and how much of it was read.
    piece: Vec<u8>,
    read: usize,
    stop: Stop,
}

impl Idle {
    pub(super) fn new(mut input: Box<dyn Read + Send>, stop: Stop) -> io::Result<Self> {
        let (sender, pieces) = sync_channel(WAITING);
        // Never joined: it ends with its input, or with the program.
        std::thread::Builder::new().spawn(move || {
            loop {
                let mut piece = vec![0; PIECE];
                let read = match input.read(&mut piece) {
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    read => read,
                };
                let over = !matches!(read, Ok(1..));
                let piece = read.map(|length| {
                    piece.truncate(length);
                    piece
                });
                if sender.send(piece).is_err() || over {
                    return;
                }
            }
        })?;
        Ok(Self { pieces, piece: Vec::new(), read: 0, stop })
    }
}

impl Read for Idle {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.read == self.piece.len() {
            match self.pieces.recv_timeout(GLANCE) {
                Ok(Ok(piece)) if piece.is_empty() => return Ok(0),
                Ok(piece) => (self.piece, self.read) = (piece?, 0),
                Err(RecvTimeoutError::Timeout) if self.stop.is_now() => {
                    return Err(io::Error::other("nobody wants the input any more"));
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(0),
            }
        }
        let length = buffer.len().min(self.piece.len() - self.read);
        buffer[..length].copy_from_slice(&self.piece[self.read..self.read + length]);
        self.read += length;
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_arrives_in_order_and_then_the_end() {
        let data: Vec<u8> = (0..5 * PIECE + 17).map(|at| (at % 251) as u8).collect();
        let mut idle = Idle::new(Box::new(io::Cursor::new(data.clone())), Stop::default()).unwrap();
        let mut read = Vec::new();
        idle.read_to_end(&mut read).unwrap();
        assert!(read == data);
        assert_eq!(idle.read(&mut [0; 8]).unwrap(), 0, "the end stays the end");
    }

    #[test]
    fn errors_arrive_behind_what_was_read_before_them() {
        struct Fails(bool);
        impl Read for Fails {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                if std::mem::replace(&mut self.0, true) {
                    return Err(io::Error::other("no more"));
                }
                buffer[0] = 7;
                Ok(1)
            }
        }
        let mut idle = Idle::new(Box::new(Fails(false)), Stop::default()).unwrap();
        let mut buffer = [0; 8];
        assert_eq!(idle.read(&mut buffer).unwrap(), 1);
        assert_eq!(idle.read(&mut buffer).unwrap_err().to_string(), "no more");
    }

    #[test]
    fn an_input_that_is_idle_for_long_has_not_ended() {
        let (reader, mut writer) = io::pipe().unwrap();
        let mut idle = Idle::new(Box::new(reader), Stop::default()).unwrap();
        let writing = std::thread::spawn(move || {
            for part in [b"before", b"behind"] {
                std::thread::sleep(3 * GLANCE);
                io::Write::write_all(&mut writer, part).unwrap();
            }
        });
        let mut read = String::new();
        idle.read_to_string(&mut read).unwrap();
        assert_eq!(read, "beforebehind");
        writing.join().unwrap();
    }

    #[test]
    fn nobody_waits_for_an_input_that_nobody_wants() {
        let (reader, _writer) = io::pipe().unwrap();
        let stop = Stop::default();
        let mut idle = Idle::new(Box::new(reader), stop.clone()).unwrap();
        let waiting = std::thread::spawn(move || idle.read(&mut [0; 8]));
        stop.now();
        assert!(waiting.join().unwrap().is_err());
    }
}
