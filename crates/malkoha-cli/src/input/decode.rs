//! Compressed input, recognised by its first bytes.

use std::io::{self, BufRead, BufReader, Cursor, Read};

use bzip2::read::MultiBzDecoder;
use flate2::bufread::MultiGzDecoder;
use lzma_rust2::XzReader;
use ruzstd::decoding::BlockDecodingStrategy::UptoBlocks;
use ruzstd::decoding::FrameDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};

/// Bytes that are enough to tell all formats apart.
const MAGIC: usize = 6;

/// KiB that the xz decoder may use: enough for the output of `xz -9`.
const XZ_MEMORY_KIB: u32 = 256 << 10;

/// Returns the content of an input: decompressed if it begins like gzip, zstd, xz or bzip2, otherwise
/// unchanged.
///
/// The result is behind a pointer, so that the decoders are compiled once; they read 64 KiB at a time.
pub(super) fn decoded(mut raw: Box<dyn Read + Send>) -> io::Result<Box<dyn Read + Send>> {
    let mut magic = Vec::new();
    raw.by_ref().take(MAGIC as u64).read_to_end(&mut magic)?;
    let form = Form::of(&magic);
    let raw = Cursor::new(magic).chain(raw);
    let buffered = |raw| BufReader::with_capacity(1 << 16, raw);
    Ok(match form {
        Form::Plain => Box::new(raw),
        Form::Gzip => Box::new(MultiGzDecoder::new(buffered(raw))),
        Form::Bzip2 => Box::new(MultiBzDecoder::new(buffered(raw))),
        Form::Xz => Box::new(XzReader::new_mem_limit(buffered(raw), true, XZ_MEMORY_KIB)),
        Form::Zstd => {
            Box::new(ZstdFrames { raw: buffered(raw), decoder: FrameDecoder::new(), inside: false })
        }
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
    fn text_is_not_taken_for_something_compressed() {
        for text in ["", "B", "BZhello", "PK", ">seq", "(\u{b5}/x"] {
            assert_eq!(Form::of(text.as_bytes()), Form::Plain, "{text}");
            let mut content = String::new();
            decoded(Box::new(Cursor::new(text.to_owned()))).unwrap().read_to_string(&mut content).unwrap();
            assert_eq!(content, text);
        }
    }
}
