//! Custom sections of a wasm binary: a header of eight bytes, then sections of (id, LEB128 size, content); a custom section
//! has id 0 and its content starts with its name.

use anyhow::{Result, anyhow, bail};

const HEADER: &[u8] = b"\0asm\x01\0\0\0";

/// One section, with the bytes that introduce it.
struct Section<'a> {
    id: u8,
    whole: &'a [u8],
    content: &'a [u8],
}

impl<'a> Section<'a> {
    /// Name and data of a custom section.
    fn custom(&self) -> Option<(&'a [u8], &'a [u8])> {
        if self.id != 0 {
            return None;
        }
        let (length, rest) = leb128(self.content)?;
        rest.split_at_checked(length)
    }
}

/// The data of the first custom section of that name.
///
/// # Errors
/// When the bytes are no wasm module.
pub fn custom_section<'a>(wasm: &'a [u8], name: &str) -> Result<Option<&'a [u8]>> {
    let found = sections(wasm)?
        .iter()
        .filter_map(Section::custom)
        .find(|(found, _)| *found == name.as_bytes());
    Ok(found.map(|(_, data)| data))
}

/// The module with every custom section of that name replaced by one at the end.
///
/// # Errors
/// When the bytes are no wasm module.
pub fn replace_custom_section(wasm: &[u8], name: &str, data: &[u8]) -> Result<Vec<u8>> {
    let mut out = remove_custom_section(wasm, name)?;
    let mut content = Vec::new();
    write_leb128(name.len(), &mut content);
    content.extend_from_slice(name.as_bytes());
    content.extend_from_slice(data);
    out.push(0);
    write_leb128(content.len(), &mut out);
    out.extend_from_slice(&content);
    Ok(out)
}

/// The module without custom sections of that name.
///
/// # Errors
/// When the bytes are no wasm module.
pub fn remove_custom_section(wasm: &[u8], name: &str) -> Result<Vec<u8>> {
    let mut out = HEADER.to_vec();
    for section in sections(wasm)? {
        if section.custom().is_none_or(|(found, _)| found != name.as_bytes()) {
            out.extend_from_slice(section.whole);
        }
    }
    Ok(out)
}

/// The summed content size of all sections with this id, in bytes.
pub(super) fn section_size(wasm: &[u8], id: u8) -> Result<usize> {
    let sections = sections(wasm)?;
    Ok(sections
        .iter()
        .filter(|section| section.id == id)
        .map(|section| section.content.len())
        .sum())
}

fn sections(wasm: &[u8]) -> Result<Vec<Section<'_>>> {
    let Some(mut rest) = wasm.strip_prefix(HEADER) else {
        bail!("not a WebAssembly module: it does not start with \\0asm and version 1");
    };
    let mut sections = Vec::new();
    while !rest.is_empty() {
        let offset = wasm.len() - rest.len();
        let (section, after) =
            section(rest).ok_or_else(|| anyhow!("not a WebAssembly module: broken section at byte {offset}"))?;
        sections.push(section);
        rest = after;
    }
    Ok(sections)
}

fn section(bytes: &[u8]) -> Option<(Section<'_>, &[u8])> {
    let (id, body) = bytes.split_first()?;
    let (size, body) = leb128(body)?;
    let (content, after) = body.split_at_checked(size)?;
    let whole = bytes.get(..bytes.len() - after.len())?;
    Some((
        Section {
            id: *id,
            whole,
            content,
        },
        after,
    ))
}

/// An unsigned 32-bit LEB128 number and what follows it.
fn leb128(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let mut value = 0_u64;
    for (index, byte) in bytes.iter().take(5).enumerate() {
        value |= u64::from(byte & 0x7f) << (7 * index);
        if byte & 0x80 == 0 {
            let value = usize::try_from(u32::try_from(value).ok()?).ok()?;
            return Some((value, bytes.get(index + 1..)?));
        }
    }
    None
}

fn write_leb128(mut value: usize, out: &mut Vec<u8>) {
    loop {
        let [low, ..] = (value & 0x7f).to_le_bytes();
        value >>= 7;
        if value == 0 {
            out.push(low);
            return;
        }
        out.push(low | 0x80);
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[test]
    fn writes_reads_and_replaces() {
        let long = vec![b'x'; 300];
        let once = replace_custom_section(HEADER, "a", b"1").unwrap();
        let other = replace_custom_section(&once, "b", &long).unwrap();
        assert_eq!(custom_section(&other, "a").unwrap(), Some(&b"1"[..]));
        assert_eq!(custom_section(&other, "b").unwrap(), Some(&long[..]));
        assert_eq!(custom_section(&other, "c").unwrap(), None);
        let again = replace_custom_section(&other, "a", b"22").unwrap();
        assert_eq!(again.len(), other.len() + 1);
        assert_eq!(custom_section(&again, "a").unwrap(), Some(&b"22"[..]));
        assert_eq!(custom_section(&again, "b").unwrap(), Some(&long[..]));
    }

    #[rstest]
    #[case(b"", "does not start")]
    #[case(b"\0asm\x0d\0\x01\0", "does not start")]
    #[case(b"\0asm\x01\0\0\0\x01", "broken section at byte 8")]
    #[case(b"\0asm\x01\0\0\0\0\x05ab", "broken section at byte 8")]
    #[case(b"\0asm\x01\0\0\0\0\xff\xff\xff\xff\xff\xff", "broken section at byte 8")]
    fn broken_modules_are_errors(#[case] wasm: &[u8], #[case] expected: &str) {
        let error = custom_section(wasm, "a").unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }

    #[test]
    fn leb128_round_trip() {
        for value in [0, 1, 127, 128, 16_383, 16_384, 4_294_967_295] {
            let mut bytes = Vec::new();
            write_leb128(value, &mut bytes);
            assert_eq!(leb128(&bytes), Some((value, &[][..])));
        }
    }
}
