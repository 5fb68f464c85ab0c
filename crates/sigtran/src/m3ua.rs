//! M3UA messages ↔ octets (RFC 4666 §3).
//!
//! Used by the links, by simulated gateways and by `smsc decode`: every message in both directions.
//!
//! ```text
//! ┌─────────┬───┬───────┬──────┬────────┬──────────────────────────────────┐
//! │ version │ 0 │ class │ type │ length │ tag length value padding …       │
//! └────1────┴─1─┴───1───┴──1───┴───4────┴──2────2─────…──── to 4 octets ────┘
//!     01          01      01    of all     0210: protocol data
//! ```
//!
//! A length of a parameter counts its head and not its padding; that of the message counts both. Some leave
//! out the last padding (§3.1.4), so a reader takes that too.

use bytes::{Buf, BufMut, Bytes, BytesMut};

mod data;
mod kind;
pub mod tag;

pub use data::{ProtocolData, SERVICE_SCCP};
pub use kind::{ApplicationStatus, M3uaErrorCode, M3uaKind, registration_status};

/// The version that there is.
pub const VERSION: u8 = 1;
/// Octets of the head of a message.
pub const HEAD: usize = 8;
/// Octets of the longest message that is taken, its head included.
pub const MESSAGE_MAX: usize = 65_536;

/// Octets of the head of a parameter.
const PARAMETER_HEAD: usize = 4;
/// Most octets of a parameter's value.
const VALUE_MAX: usize = u16::MAX as usize - PARAMETER_HEAD;
/// Most parameters of a message. The longest one that is defined has nine.
const PARAMETERS_MAX: usize = 64;

/// A message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct M3uaMessage {
    /// What it is.
    pub kind: M3uaKind,
    /// What it says, in the order of the octets.
    pub parameters: Vec<M3uaParameter>,
}

/// A parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct M3uaParameter {
    /// What it is: see [`tag`].
    pub tag: u16,
    /// Its value without padding.
    pub value: Bytes,
}

/// Where the next message begins is not known: the connection is to be closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum M3uaFraming {
    /// Another protocol, most likely.
    #[error("version {0} is not M3UA's")]
    Version(u8),
    /// Shorter than a head, or longer than what is taken.
    #[error("a message of {0} octets cannot be")]
    Length(u32),
}

/// A message that cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum MalformedM3ua {
    /// Shorter than a head, or than it says.
    #[error("the message ends too early")]
    CutShort,
    /// Longer than it says.
    #[error("{0} octets follow the message")]
    TooLong(usize),
    /// Another version.
    #[error("version {0} is not M3UA's")]
    Version(u8),
    /// A parameter that does not end within the message, or is shorter than its head.
    #[error("parameter {0:#06x} has a wrong length")]
    ParameterLength(u16),
    /// More parameters than any message has.
    #[error("more than 64 parameters")]
    Parameters,
}

/// A parameter longer than its length can say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("parameter {tag:#06x} would have {octets} octets")]
pub struct M3uaParameterTooLong {
    /// Which one.
    pub tag: u16,
    /// Octets of its value.
    pub octets: usize,
}

/// Cuts the next message off `buffer`, or nothing while it is not all there: for TCP, which keeps no
/// messages apart. No octets are copied.
///
/// # Errors
/// [`M3uaFraming`]; `buffer` is left as it is.
pub fn next_m3ua(buffer: &mut BytesMut) -> Result<Option<Bytes>, M3uaFraming> {
    let Some(&version) = buffer.first() else {
        return Ok(None);
    };
    if version != VERSION {
        return Err(M3uaFraming::Version(version));
    }
    let Some([_, _, _, _, length @ ..]) = buffer.first_chunk::<HEAD>() else {
        return Ok(None);
    };
    let length = u32::from_be_bytes(*length);
    let octets = usize::try_from(length).unwrap_or(usize::MAX);
    if !(HEAD..=MESSAGE_MAX).contains(&octets) {
        return Err(M3uaFraming::Length(length));
    }
    if buffer.len() < octets {
        return Ok(None);
    }
    Ok(Some(buffer.split_to(octets).freeze()))
}

// === impl M3uaParameter ===

impl M3uaParameter {
    /// One of these octets.
    pub fn new(tag: u16, value: impl Into<Bytes>) -> Self {
        Self {
            tag,
            value: value.into(),
        }
    }

    /// One number.
    #[must_use]
    pub fn number(tag: u16, value: u32) -> Self {
        Self::numbers(tag, &[value])
    }

    /// Several numbers.
    #[must_use]
    pub fn numbers(tag: u16, values: &[u32]) -> Self {
        let octets: Vec<u8> = values
            .iter()
            .flat_map(|value| value.to_be_bytes())
            .collect();
        Self::new(tag, octets)
    }

    /// One that is made of others: a routing key, a result of a registration.
    ///
    /// # Errors
    /// The inner one that is too long.
    pub fn group(tag: u16, parameters: &[Self]) -> Result<Self, M3uaParameterTooLong> {
        let mut value = BytesMut::new();
        write_parameters(parameters, &mut value)?;
        Ok(Self::new(tag, value))
    }

    /// Its value as numbers; what is left of no whole number is passed over.
    pub fn as_numbers(&self) -> impl Iterator<Item = u32> + '_ {
        let (numbers, _) = self.value.as_chunks::<4>();
        numbers.iter().map(|number| u32::from_be_bytes(*number))
    }

    /// Its value as the parameters that it is made of.
    ///
    /// # Errors
    /// What is wrong with one of them.
    pub fn as_group(&self) -> Result<Vec<Self>, MalformedM3ua> {
        read_parameters(self.value.clone())
    }
}

// === impl M3uaMessage ===

impl M3uaMessage {
    /// A message without parameters.
    #[must_use]
    pub fn new(kind: M3uaKind) -> Self {
        Self {
            kind,
            parameters: Vec::new(),
        }
    }

    /// The message with one more parameter.
    #[must_use]
    pub fn with(mut self, parameter: M3uaParameter) -> Self {
        self.parameters.push(parameter);
        self
    }

    /// The message with a number more, if there is one.
    #[must_use]
    pub fn with_number(self, tag: u16, value: Option<u32>) -> Self {
        match value {
            Some(value) => self.with(M3uaParameter::number(tag, value)),
            None => self,
        }
    }

    /// The first parameter of a tag.
    #[must_use]
    pub fn parameter(&self, tag: u16) -> Option<&M3uaParameter> {
        self.parameters
            .iter()
            .find(|parameter| parameter.tag == tag)
    }

    /// The first number of the first parameter of a tag.
    #[must_use]
    pub fn number(&self, tag: u16) -> Option<u32> {
        self.parameter(tag)?.as_numbers().next()
    }

    /// What the peer says in words, shortened and without control characters: for logs.
    #[must_use]
    pub fn info(&self) -> Option<String> {
        let text = &self.parameter(tag::INFO)?.value;
        let text = String::from_utf8_lossy(&text[..text.len().min(255)]);
        let text: String = text.chars().filter(|one| !one.is_control()).collect();
        (!text.is_empty()).then_some(text)
    }

    /// Its octets.
    ///
    /// # Errors
    /// The parameter that is too long.
    pub fn encode(&self) -> Result<Bytes, M3uaParameterTooLong> {
        let padded = |parameter: &M3uaParameter| parameter.value.len().next_multiple_of(4);
        let values: usize = self.parameters.iter().map(padded).sum();
        let mut out =
            BytesMut::with_capacity(HEAD + self.parameters.len() * PARAMETER_HEAD + values);
        out.put_slice(&[VERSION, 0, self.kind.class, self.kind.number, 0, 0, 0, 0]);
        write_parameters(&self.parameters, &mut out)?;
        // Every parameter has at most 64 KiB; a message of 65,536 of them is none that we write.
        let length = u32::try_from(out.len()).unwrap_or(u32::MAX);
        out[4..HEAD].copy_from_slice(&length.to_be_bytes());
        Ok(out.freeze())
    }

    /// Reads exactly one message. No octets are copied.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn decode(octets: &Bytes) -> Result<Self, MalformedM3ua> {
        let head = octets
            .first_chunk::<HEAD>()
            .ok_or(MalformedM3ua::CutShort)?;
        let [version, _, class, number, length @ ..] = *head;
        if version != VERSION {
            return Err(MalformedM3ua::Version(version));
        }
        let length = usize::try_from(u32::from_be_bytes(length)).unwrap_or(usize::MAX);
        // SCTP brings the last padding though the length may not count it.
        if length < HEAD || octets.len() < length {
            return Err(MalformedM3ua::CutShort);
        }
        if octets.len() > length.next_multiple_of(4) {
            return Err(MalformedM3ua::TooLong(octets.len() - length));
        }
        Ok(Self {
            kind: M3uaKind { class, number },
            parameters: read_parameters(octets.slice(HEAD..length))?,
        })
    }
}

fn write_parameters(
    parameters: &[M3uaParameter],
    out: &mut BytesMut,
) -> Result<(), M3uaParameterTooLong> {
    for M3uaParameter { tag, value } in parameters {
        let octets = value.len();
        let length = u16::try_from(PARAMETER_HEAD + octets)
            .ok()
            .filter(|_| octets <= VALUE_MAX);
        let length = length.ok_or(M3uaParameterTooLong { tag: *tag, octets })?;
        out.put_u16(*tag);
        out.put_u16(length);
        out.put_slice(value);
        out.put_bytes(0, octets.next_multiple_of(4) - octets);
    }
    Ok(())
}

fn read_parameters(mut octets: Bytes) -> Result<Vec<M3uaParameter>, MalformedM3ua> {
    let mut parameters = Vec::new();
    while let Some(head) = octets.first_chunk::<PARAMETER_HEAD>() {
        let [tag_high, tag_low, high, low] = *head;
        let tag = u16::from_be_bytes([tag_high, tag_low]);
        let length = usize::from(u16::from_be_bytes([high, low]));
        if length < PARAMETER_HEAD || length > octets.len() {
            return Err(MalformedM3ua::ParameterLength(tag));
        }
        if parameters.len() == PARAMETERS_MAX {
            return Err(MalformedM3ua::Parameters);
        }
        parameters.push(M3uaParameter {
            tag,
            value: octets.slice(PARAMETER_HEAD..length),
        });
        octets.advance(length.next_multiple_of(4).min(octets.len()));
    }
    if octets.is_empty() {
        Ok(parameters)
    } else {
        Err(MalformedM3ua::CutShort)
    }
}

#[cfg(test)]
mod tests;
