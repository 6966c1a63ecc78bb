//! Compressed input, recognised by its first bytes.

use std::error::Error;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::iter;

use bzip2::read::MultiBzDecoder;
use flate2::bufread::MultiGzDecoder;
use lzma_rust2::XzReader;
use ruzstd::decoding::BlockDecodingStrategy::UptoBlocks;
use ruzstd::decoding::FrameDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};

/// KiB that the xz decoder may use: enough for the output of `xz -9`.
const XZ_MEMORY_KIB: u32 = 256 << 10;

/// Returns the content of an input: decompressed if it begins like gzip, zstd, xz or bzip2, otherwise
/// unchanged.
///
/// The result is behind a pointer, so that the decoders are compiled once; they read 64 KiB at a time.
pub(super) fn decoded(mut raw: Box<dyn Read + Send>) -> io::Result<Box<dyn Read + Send>> {
    let mut magic = Vec::new();
    // Byte by byte: the first line from a terminal or a pipe may be shorter than this, and the next far away.
    while Form::may_begin(&magic) && raw.by_ref().take(1).read_to_end(&mut magic)? > 0 {}
    if let Some(form) = Form::cut_off(&magic) {
        return Err(io::Error::other(format!(
            "the {} data ends too early; is the file complete?",
            form.name()
        )));
    }
    let form = Form::of(&magic);
    let raw = Cursor::new(magic).chain(raw);
    let buffered = |raw| BufReader::with_capacity(1 << 16, raw);
    let decoder: Box<dyn Read + Send> = match form {
        Form::Plain => return Ok(Box::new(raw)),
        Form::Gzip => Box::new(MultiGzDecoder::new(buffered(raw))),
        Form::Bzip2 => Box::new(MultiBzDecoder::new(buffered(raw))),
        Form::Xz => Box::new(XzReader::new_mem_limit(buffered(raw), true, XZ_MEMORY_KIB)),
        Form::Zstd => {
            Box::new(ZstdFrames { raw: buffered(raw), decoder: FrameDecoder::new(), inside: false })
        }
    };
    Ok(Box::new(InWords { decoder, form }))
}

/// A decoder whose errors say what is wrong in plain words: those of the libraries are about their insides.
struct InWords {
    decoder: Box<dyn Read + Send>,
    form: Form,
}

impl Read for InWords {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.decoder.read(buffer).map_err(|error| in_words(self.form, &error))
    }
}

/// Returns an error and what caused it.
fn causes<'a>(first: Option<&'a (dyn Error + 'static)>) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    iter::successors(first, |cause| (*cause).source())
}

/// Returns the error of a decoder in plain words, or that of the system which caused it.
fn in_words(form: Form, error: &io::Error) -> io::Error {
    // An error in an `io::Error` is not its source.
    let inner = error.get_ref().map(|inner| inner as &(dyn Error + 'static));
    let all = causes(Some(error)).chain(causes(inner));
    let of_system: Vec<&io::Error> = all.filter_map(|cause| cause.downcast_ref()).collect();
    if let Some(code) = of_system.iter().find_map(|cause| cause.raw_os_error()) {
        return io::Error::from_raw_os_error(code);
    }
    let said = error.to_string();
    let early = of_system.iter().any(|cause| cause.kind() == io::ErrorKind::UnexpectedEof)
        || ["EOF", "incomplete", "fill whole buffer"].iter().any(|sign| said.contains(sign));
    let large =
        ["mem_limit", "window_size is too big", "WindowSizeTooBig"].iter().any(|sign| said.contains(sign));
    let name = form.name();
    io::Error::other(if large {
        format!(
            "this {name} data takes too much memory to read; decompress it with {name} and give the result"
        )
    } else if early {
        format!("the {name} data ends too early; is the file complete?")
    } else {
        format!("the {name} data is damaged; take another copy")
    })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Plain,
    Gzip,
    Bzip2,
    Xz,
    Zstd,
}

impl Form {
    /// Returns the name of the program that writes it.
    fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Gzip => "gzip",
            Self::Bzip2 => "bzip2",
            Self::Xz => "xz",
            Self::Zstd => "zstd",
        }
    }

    /// Returns whether more bytes could make this the beginning of something compressed.
    fn may_begin(magic: &[u8]) -> bool {
        let fixed = [&[0x1F, 0x8B, 8][..], b"\xFD7zXZ\0", &[0x28, 0xB5, 0x2F, 0xFD]];
        if fixed.iter().any(|whole| whole.len() > magic.len() && whole.starts_with(magic)) {
            return true;
        }
        match magic {
            [b'B'] | [b'B', b'Z'] | [b'B', b'Z', b'h'] | [b'B', b'Z', b'h', b'1'..=b'9'] => true,
            [0x50..=0x5F, rest @ ..] => rest.len() < 3 && [0x2A, 0x4D, 0x18].starts_with(rest),
            _ => false,
        }
    }

    /// Returns the form of an input that ended after these bytes, if they are the beginning of something compressed,
    /// and of no text.
    fn cut_off(whole: &[u8]) -> Option<Self> {
        if whole.len() < 2 || !Self::may_begin(whole) || std::str::from_utf8(whole).is_ok() {
            return None;
        }
        match whole {
            [0x1F, ..] => Some(Self::Gzip),
            [0xFD, ..] => Some(Self::Xz),
            _ => Some(Self::Zstd),
        }
    }

    fn of(magic: &[u8]) -> Self {
        match magic {
            [0x1F, 0x8B, 8, ..] => Self::Gzip,
            [b'B', b'Z', b'h', b'1'..=b'9', b'1' | 0x17, ..] => Self::Bzip2,
            [0xFD, b'7', b'z', b'X', b'Z', 0, ..] => Self::Xz,
            // A frame, or a skippable frame before it.
            [0x28, 0xB5, 0x2F, 0xFD, ..] | [0x50..=0x5F, 0x2A, 0x4D, 0x18, ..] => Self::Zstd,
            _ => Self::Plain,
        }
    }
}

/// All frames of a zstd file, one after the other, with their checksums verified.
struct ZstdFrames<R> {
    raw: R,
    decoder: FrameDecoder,
    /// Whether the decoder is inside a frame.
    inside: bool,
}

impl<R: BufRead> ZstdFrames<R> {
    /// Begins the next frame; `false` at the end of the file.
    fn next_frame(&mut self) -> io::Result<bool> {
        while !self.raw.fill_buf()?.is_empty() {
            match self.decoder.init(&mut self.raw) {
                Ok(()) => return Ok(true),
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    let length = u64::from(length);
                    let skipped = io::copy(&mut self.raw.by_ref().take(length), &mut io::sink())?;
                    if skipped < length {
                        return Err(io::ErrorKind::UnexpectedEof.into());
                    }
                }
                Err(error) => return Err(io::Error::other(error)),
            }
        }
        Ok(false)
    }

    fn verify(&self) -> io::Result<()> {
        let (written, computed) =
            (self.decoder.get_checksum_from_data(), self.decoder.get_calculated_checksum());
        if written.is_some() && written != computed {
            return Err(io::Error::other("the checksum of a zstd frame does not match its content"));
        }
        Ok(())
    }
}

impl<R: BufRead> Read for ZstdFrames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if !self.inside {
                self.inside = self.next_frame()?;
                if !self.inside {
                    return Ok(0);
                }
            }
            while self.decoder.can_collect() == 0 && !self.decoder.is_finished() {
                self.decoder.decode_blocks(&mut self.raw, UptoBlocks(1)).map_err(io::Error::other)?;
            }
            let read = self.decoder.read(buffer)?;
            if read > 0 || buffer.is_empty() {
                return Ok(read);
            }
            self.verify()?;
            self.inside = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_read_than_tells_formats_apart() {
        let whole: [&[u8]; 5] =
            [&[0x1F, 0x8B, 8], b"BZh91", b"\xFD7zXZ\0", &[0x28, 0xB5, 0x2F, 0xFD], &[0x5A, 0x2A, 0x4D, 0x18]];
        for magic in whole {
            assert!(Form::of(magic) != Form::Plain && !Form::may_begin(magic), "{magic:x?}");
            for end in 0..magic.len() {
                assert!(
                    Form::may_begin(&magic[..end]) && Form::of(&magic[..end]) == Form::Plain,
                    "{magic:x?}"
                );
            }
        }
        for text in ["o", "BZo", "BZhe", "P\n", "(\n", "B\n"] {
            assert!(!Form::may_begin(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn an_end_inside_of_what_tells_formats_apart_is_an_error() {
        let cut: [&[u8]; 4] = [&[0x1F, 0x8B], b"\xFD7", b"\xFD7zXZ", &[0x28, 0xB5, 0x2F]];
        for bytes in cut {
            let read = decoded(Box::new(Cursor::new(bytes.to_owned())));
            let error = read.err().expect("it is no text").to_string();
            assert!(error.ends_with("data ends too early; is the file complete?"), "{bytes:x?}: {error}");
        }
        for text in ["B", "BZ", "BZh", "BZh9", "(", "P", "P*M", "\x1F"] {
            assert_eq!(Form::cut_off(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn text_is_not_taken_for_something_compressed() {
        for text in ["", "B", "BZhello", "PK", ">seq", "(\u{b5}/x"] {
            assert_eq!(Form::of(text.as_bytes()), Form::Plain, "{text}");
            let mut content = String::new();
            decoded(Box::new(Cursor::new(text.to_owned()))).unwrap().read_to_string(&mut content).unwrap();
            assert_eq!(content, text);
        }
    }
}
