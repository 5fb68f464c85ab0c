//! The reader of calls: recursive descent over the events of quick-xml.

use std::borrow::Cow;

use quick_xml::Reader;
use quick_xml::escape::resolve_xml_entity;
use quick_xml::events::{BytesRef, Event};

use crate::{Error, XmlRpcValue, charset, scalar};

/// How deep values may be in each other.
pub const MAX_DEPTH: usize = 16;
/// How many values a call may have.
pub const MAX_VALUES: usize = 50_000;
/// Most octets of a name.
const MAX_NAME: usize = 255;

/// A call.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    pub method: String,
    pub params: Vec<XmlRpcValue>,
}

/// What the grammar looks at.
enum XmlToken<'d> {
    /// Of an element, by its name.
    Start(String),
    End,
    Text(Cow<'d, str>),
    /// Of the document.
    Over,
}

struct Document<'d> {
    reader: Reader<&'d [u8]>,
    values: usize,
}

/// Reads a call. `charset` is that of the Content-Type.
///
/// # Errors
/// It is none, or beyond a limit.
pub fn read_call(octets: &[u8], charset: Option<&str>) -> Result<Call, Error> {
    let text = charset::decode(octets, charset)?;
    if let Some(wrong) = text.chars().find(|character| !is_allowed(*character)) {
        return Err(Error::Character(wrong.into()));
    }
    let mut reader = Reader::from_str(&text);
    reader.config_mut().expand_empty_elements = true;
    Document { reader, values: 0 }.call()
}

/// Whether XML 1.0 §2.2 allows it.
pub(crate) fn is_allowed(character: char) -> bool {
    matches!(character, '\t' | '\n' | '\r' | ' '..='\u{FFFD}' | '\u{10000}'..)
}

// === impl Document ===

impl<'d> Document<'d> {
    fn call(mut self) -> Result<Call, Error> {
        self.expect("methodCall")?;
        self.expect("methodName")?;
        let method = self.text_to_end("methodName")?.trim().to_owned();
        if method.is_empty() || method.len() > MAX_NAME {
            return self.grammar("methodName is empty or too long");
        }
        let mut params = Vec::new();
        if self.next_element("params")? {
            while self.next_element("param")? {
                self.expect("value")?;
                params.push(self.value(1)?);
                self.end("param")?;
            }
            self.end("methodCall")?;
        }
        match self.between()? {
            XmlToken::Over => Ok(Call { method, params }),
            _ => self.grammar("something follows the call"),
        }
    }

    /// What is in an element `value` whose start was read, up to its end.
    fn value(&mut self, depth: usize) -> Result<XmlRpcValue, Error> {
        if depth > MAX_DEPTH {
            return Err(Error::TooDeep);
        }
        self.values += 1;
        if self.values > MAX_VALUES {
            return Err(Error::TooMany);
        }
        let mut text = String::new();
        let name = loop {
            match self.token()? {
                XmlToken::Text(more) => text.push_str(&more),
                // Without an element it is a string.
                XmlToken::End => return Ok(XmlRpcValue::String(text)),
                XmlToken::Start(name) => break name,
                XmlToken::Over => return self.grammar("the document ends within a value"),
            }
        };
        if !is_blank(&text) {
            return self.grammar("a value has both text and an element");
        }
        let name = name.strip_prefix("ex:").unwrap_or(&name);
        let value = match name {
            "array" => self.array(depth)?,
            "struct" => self.members(depth)?,
            _ => {
                let text = self.text_to_end(name)?;
                match scalar::parse(name, text) {
                    Some(value) => value?,
                    None => return self.grammar(format!("there is no type {name}")),
                }
            }
        };
        self.end("value")?;
        Ok(value)
    }

    fn array(&mut self, depth: usize) -> Result<XmlRpcValue, Error> {
        self.expect("data")?;
        let mut values = Vec::new();
        while self.next_element("value")? {
            values.push(self.value(depth + 1)?);
        }
        self.end("array")?;
        Ok(XmlRpcValue::Array(values))
    }

    fn members(&mut self, depth: usize) -> Result<XmlRpcValue, Error> {
        let mut members: Vec<(String, XmlRpcValue)> = Vec::new();
        while self.next_element("member")? {
            self.expect("name")?;
            let name = self.text_to_end("name")?;
            if name.len() > MAX_NAME {
                return self.grammar("the name of a member is too long");
            }
            self.expect("value")?;
            let value = self.value(depth + 1)?;
            self.end("member")?;
            members.push((name, value));
        }
        let mut names: Vec<&str> = members.iter().map(|(name, _)| name.as_str()).collect();
        names.sort_unstable();
        match names.windows(2).find(|two| two[0] == two[1]) {
            Some(twice) => self.grammar(format!("a struct has two members {:?}", twice[0])),
            None => Ok(XmlRpcValue::Struct(members)),
        }
    }

    /// The start of this element comes next.
    fn expect(&mut self, name: &str) -> Result<(), Error> {
        match self.between()? {
            XmlToken::Start(found) if found == name => Ok(()),
            XmlToken::Start(found) => self.grammar(format!("{name} is expected, not {found}")),
            _ => self.grammar(format!("{name} is missing")),
        }
    }

    /// Whether the start of this element comes next, and not the end of the one around it.
    fn next_element(&mut self, name: &str) -> Result<bool, Error> {
        match self.between()? {
            XmlToken::Start(found) if found == name => Ok(true),
            XmlToken::End => Ok(false),
            XmlToken::Start(found) => self.grammar(format!("{name} is expected, not {found}")),
            _ => self.grammar(format!("the document ends before {name}")),
        }
    }

    /// The end of this element comes next; the reader checks its name.
    fn end(&mut self, name: &str) -> Result<(), Error> {
        match self.between()? {
            XmlToken::End => Ok(()),
            _ => self.grammar(format!("{name} should end here")),
        }
    }

    /// The next token that is not blank text.
    fn between(&mut self) -> Result<XmlToken<'d>, Error> {
        loop {
            match self.token()? {
                XmlToken::Text(text) if is_blank(&text) => {}
                XmlToken::Text(_) => return self.grammar("there is text between elements"),
                token => return Ok(token),
            }
        }
    }

    /// The text of an element whose start was read, up to its end.
    fn text_to_end(&mut self, name: &str) -> Result<String, Error> {
        let mut text = String::new();
        loop {
            match self.token()? {
                XmlToken::Text(more) => text.push_str(&more),
                XmlToken::End => return Ok(text),
                _ => return self.grammar(format!("{name} has an element in it, or no end")),
            }
        }
    }

    fn token(&mut self) -> Result<XmlToken<'d>, Error> {
        loop {
            let event = self.reader.read_event().map_err(|error| Error::Xml {
                at: self.reader.error_position(),
                what: error.to_string(),
            })?;
            return Ok(match event {
                Event::Start(start) => XmlToken::Start(start.name().as_ref().to_owned()),
                Event::End(_) => XmlToken::End,
                Event::Text(text) => XmlToken::Text(text.xml10_content()),
                Event::CData(text) => XmlToken::Text(text.xml10_content()),
                Event::GeneralRef(reference) => XmlToken::Text(resolve(&reference)?),
                Event::Eof => XmlToken::Over,
                Event::DocType(_) => return Err(Error::DocType),
                Event::Decl(_) | Event::PI(_) | Event::Comment(_) => continue,
                // The reader gives a start and an end for it.
                Event::Empty(_) => continue,
            });
        }
    }

    fn grammar<T>(&self, what: impl Into<String>) -> Result<T, Error> {
        Err(Error::Grammar {
            at: self.reader.buffer_position(),
            what: what.into(),
        })
    }
}

fn is_blank(text: &str) -> bool {
    text.bytes().all(|octet| octet.is_ascii_whitespace())
}

/// The character of `&amp;` and `&#38;`.
fn resolve<'d>(reference: &BytesRef<'d>) -> Result<Cow<'d, str>, Error> {
    if reference.is_char_ref() {
        return match reference.resolve_char_ref() {
            Ok(Some(character)) if is_allowed(character) => Ok(character.to_string().into()),
            Ok(Some(character)) => Err(Error::Character(character.into())),
            _ => Err(unknown(reference)),
        };
    }
    let text = resolve_xml_entity(reference).ok_or_else(|| unknown(reference))?;
    Ok(Cow::Borrowed(text))
}

fn unknown(reference: &str) -> Error {
    Error::Entity(reference.chars().take(MAX_NAME).collect())
}
