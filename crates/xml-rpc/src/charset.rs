//! The characters of a document: which encoding it says to be in, and whether it is.

use std::borrow::Cow;

use quick_xml::Reader;
use quick_xml::events::Event;

use crate::Error;

/// The longest XML declaration that is looked at.
const DECLARATION: usize = 256;
const UTF_8: &str = "UTF-8";

/// The text of a document. `charset` is that of the Content-Type, which counts more than the declaration (RFC 7303
/// §3).
pub(crate) fn decode<'d>(octets: &'d [u8], charset: Option<&str>) -> Result<Cow<'d, str>, Error> {
    let (octets, named) = match octets.strip_prefix(b"\xEF\xBB\xBF") {
        Some(octets) => (octets, Some(UTF_8.to_owned())),
        None => (octets, charset.map(str::to_owned)),
    };
    // UTF-16 and UTF-32 begin with a byte order mark, or have a zero octet beside the first "<".
    if octets.starts_with(b"\xFE\xFF") || octets.starts_with(b"\xFF\xFE") || nul_at_start(octets) {
        return Err(Error::Encoding("UTF-16 or UTF-32".to_owned()));
    }
    let named = match named {
        Some(named) => named,
        None => declared(octets)?.unwrap_or_else(|| UTF_8.to_owned()),
    };
    match named.to_ascii_lowercase().as_str() {
        "utf-8" | "utf8" => match std::str::from_utf8(octets) {
            Ok(text) => Ok(Cow::Borrowed(text)),
            Err(_) => Err(Error::NotInEncoding(UTF_8)),
        },
        "us-ascii" | "ascii" => match str::from_utf8(octets) {
            Ok(text) if octets.is_ascii() => Ok(Cow::Borrowed(text)),
            _ => Err(Error::NotInEncoding("US-ASCII")),
        },
        // Each octet is the character with its number.
        "iso-8859-1" | "latin1" => Ok(octets.iter().copied().map(char::from).collect()),
        _ => Err(Error::Encoding(named)),
    }
}

fn nul_at_start(octets: &[u8]) -> bool {
    octets.iter().take(4).any(|octet| *octet == 0)
}

/// The encoding of the XML declaration, which is ASCII in every encoding that is supported.
fn declared(octets: &[u8]) -> Result<Option<String>, Error> {
    if !octets.starts_with(b"<?xml") {
        return Ok(None);
    }
    let start = &octets[..octets.len().min(DECLARATION)];
    let end = start.windows(2).position(|two| two == b"?>");
    let text = end.and_then(|end| str::from_utf8(&start[..end + 2]).ok());
    let wrong = |what: String| Error::Xml { at: 0, what };
    let text = text.ok_or_else(|| wrong("the XML declaration cannot be read".to_owned()))?;
    match Reader::from_str(text).read_event() {
        Ok(Event::Decl(declaration)) => match declaration.encoding() {
            None => Ok(None),
            Some(Ok(encoding)) => Ok(Some(encoding.into_owned())),
            Some(Err(error)) => Err(wrong(error.to_string())),
        },
        Ok(_) => Ok(None),
        Err(error) => Err(wrong(error.to_string())),
    }
}
