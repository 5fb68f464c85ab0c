//! Fields of fixed widths, as CMPP, SGIP and SMGP write them: integers are unsigned and big-endian, texts are
//! left aligned and padded with NULs.
//!
//! Used through [`crate::body!`], which makes a struct of a table of fields. A type says how a field is written,
//! and the version of the protocol, where the versions differ, is that of the reader or writer.
//!
//! Invariants: `at <= octets.len()`; the writer refuses what the reader would read as something else; the reader
//! takes a tail of reserved octets that is short or absent, because peers leave it out.

use bytes::{BufMut, Bytes, BytesMut};

/// Why a body could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}, at octet {at}: {problem}")]
pub struct Malformed {
    /// The field's name in the standard.
    pub field: &'static str,
    /// Its first octet, counted from the start of the PDU.
    pub at: usize,
    /// What is wrong.
    pub problem: &'static str,
}

/// Why a body cannot be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {problem}")]
pub struct Unwritable {
    /// The field's name in the standard.
    pub field: &'static str,
    /// What is wrong.
    pub problem: &'static str,
}

/// A field that was read, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Its first octet, counted from the start of the PDU.
    pub at: usize,
    /// How many octets it has.
    pub octets: usize,
    /// Its name in the standard.
    pub name: &'static str,
    /// Its value.
    pub value: Value,
}

/// A value for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// An integer.
    Number(u64),
    /// A text, without its padding.
    Text(Bytes),
    /// Octets that are no text.
    Octets(Bytes),
}

/// A position in a PDU.
#[derive(Debug)]
pub struct Reader<'a> {
    pdu: &'a Bytes,
    at: usize,
    version: u8,
    seen: Option<Vec<Seen>>,
}

/// Appends fields.
#[derive(Debug)]
pub struct Writer<'a> {
    out: &'a mut BytesMut,
    version: u8,
}

/// The type of a field: how it is read, written and shown.
pub trait Field: Sized {
    /// Reads it.
    ///
    /// # Errors
    /// What is wrong with it.
    fn read(reader: &mut Reader, name: &'static str) -> Result<Self, Malformed>;

    /// Writes it.
    ///
    /// # Errors
    /// It does not fit, or would be read as something else.
    fn write(&self, writer: &mut Writer, name: &'static str) -> Result<(), Unwritable>;

    /// What people see of it; `None` when it has no octets in this version.
    fn shown(&self, version: u8) -> Option<Value>;
}

/// A text of `N` octets, padded with NULs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Text<const N: usize>(pub Bytes);

/// A text of `OLD` octets, or of `NEW` from version 3.0 on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Varying<const OLD: usize, const NEW: usize>(pub Bytes);

/// `N` octets of any value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Raw<const N: usize>(pub [u8; N]);

/// The reserved octets at the end, or what a later version put there: `OLD` octets, `NEW` from version 3.0 on.
/// A peer may leave them out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Tail<const OLD: usize, const NEW: usize>(pub Bytes);

/// An octet that exists from version 3.0 on; 0 before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Newer(pub u8);

/// An integer of one octet that has four from version 3.0 on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Widened(pub u32);

/// The number of recipients, then each of them in `OLD` octets, or in `NEW` from version 3.0 on. At least one,
/// at most `MOST`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Recipients<const OLD: usize, const NEW: usize, const MOST: usize>(pub Vec<Bytes>);

/// A length of `WIDTH` octets (1 or 4), then as many octets, at most `MOST`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Content<const WIDTH: usize, const MOST: usize>(pub Bytes);

/// The first version with the widths called new.
const NEW_VERSION: u8 = 0x30;

// === impl Unwritable ===

impl Unwritable {
    /// A field of this name that has this problem.
    #[must_use]
    pub fn new(field: &'static str, problem: &'static str) -> Self {
        Self { field, problem }
    }
}

// === impl Reader ===

impl<'a> Reader<'a> {
    /// Starts at octet `at` of a PDU of this version (0x20, 0x30).
    pub fn new(pdu: &'a Bytes, at: usize, version: u8) -> Self {
        Self {
            pdu,
            at: at.min(pdu.len()),
            version,
            seen: None,
        }
    }

    /// A reader that keeps what it reads for [`Self::into_seen`].
    pub fn watched(pdu: &'a Bytes, at: usize, version: u8) -> Self {
        Self {
            seen: Some(Vec::new()),
            ..Self::new(pdu, at, version)
        }
    }

    /// What was read.
    pub fn into_seen(self) -> Vec<Seen> {
        self.seen.unwrap_or_default()
    }

    /// The next octet's place.
    pub fn position(&self) -> usize {
        self.at
    }

    /// How many octets are left.
    pub fn left(&self) -> usize {
        self.pdu.len() - self.at
    }

    /// Reads a field.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn field<F: Field>(&mut self, name: &'static str) -> Result<F, Malformed> {
        let at = self.at;
        let field = F::read(self, name)?;
        if let Some(seen) = &mut self.seen
            && let Some(value) = field.shown(self.version)
        {
            seen.push(Seen {
                at,
                octets: self.at - at,
                name,
                value,
            });
        }
        Ok(field)
    }

    /// Takes so many octets.
    ///
    /// # Errors
    /// They are not there.
    pub fn take(&mut self, name: &'static str, octets: usize) -> Result<Bytes, Malformed> {
        let taken = self.octets(name, octets)?;
        Ok(self.pdu.slice_ref(taken))
    }

    /// Takes so many octets of what is not kept.
    fn octets(&mut self, name: &'static str, octets: usize) -> Result<&'a [u8], Malformed> {
        if octets > self.left() {
            return Err(self.wrong(name, "the PDU ends in it"));
        }
        let taken = &self.pdu[self.at..self.at + octets];
        self.at += octets;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self, name: &'static str) -> Result<[u8; N], Malformed> {
        let mut array = [0; N];
        array.copy_from_slice(self.octets(name, N)?);
        Ok(array)
    }

    /// A text up to its first NUL: some peers do not clear what follows.
    fn text(&mut self, name: &'static str, octets: usize) -> Result<Bytes, Malformed> {
        let octets = self.octets(name, octets)?;
        let end = octets.iter().position(|octet| *octet == 0);
        Ok(self.pdu.slice_ref(&octets[..end.unwrap_or(octets.len())]))
    }

    fn wrong(&self, field: &'static str, problem: &'static str) -> Malformed {
        Malformed {
            field,
            at: self.at,
            problem,
        }
    }
}

fn width(version: u8, old: usize, new: usize) -> usize {
    if version >= NEW_VERSION { new } else { old }
}

// === impl Writer ===

impl<'a> Writer<'a> {
    /// Appends to `out` in this version (0x20, 0x30).
    pub fn new(out: &'a mut BytesMut, version: u8) -> Self {
        Self { out, version }
    }

    /// Writes a field.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn field<F: Field>(&mut self, name: &'static str, field: &F) -> Result<(), Unwritable> {
        field.write(self, name)
    }

    /// Appends octets as they are.
    pub fn octets(&mut self, octets: &[u8]) {
        self.out.put_slice(octets);
    }

    fn text(&mut self, field: &'static str, text: &[u8], octets: usize) -> Result<(), Unwritable> {
        if text.contains(&0) {
            return Err(Unwritable::new(field, "it contains NUL, which ends a text"));
        }
        self.padded(field, text, octets)
    }

    fn padded(
        &mut self,
        field: &'static str,
        text: &[u8],
        octets: usize,
    ) -> Result<(), Unwritable> {
        let Some(padding) = octets.checked_sub(text.len()) else {
            return Err(Unwritable::new(field, "it is too long"));
        };
        self.out.put_slice(text);
        self.out.put_bytes(0, padding);
        Ok(())
    }
}

macro_rules! integers {
    ($($type:ty),*) => {
        $(impl Field for $type {
            fn read(reader: &mut Reader, name: &'static str) -> Result<Self, Malformed> {
                Ok(<$type>::from_be_bytes(reader.array(name)?))
            }

            fn write(&self, writer: &mut Writer, _: &'static str) -> Result<(), Unwritable> {
                writer.octets(&self.to_be_bytes());
                Ok(())
            }

            fn shown(&self, _: u8) -> Option<Value> {
                Some(Value::Number((*self).into()))
            }
        })*
    };
}

integers!(u8, u32, u64);

impl<const N: usize> Field for Text<N> {
    fn read(reader: &mut Reader, name: &'static str) -> Result<Self, Malformed> {
        Ok(Self(reader.text(name, N)?))
    }

    fn write(&self, writer: &mut Writer, name: &'static str) -> Result<(), Unwritable> {
        writer.text(name, &self.0, N)
    }

    fn shown(&self, _: u8) -> Option<Value> {
        Some(Value::Text(self.0.clone()))
    }
}

impl<const OLD: usize, const NEW: usize> Field for Varying<OLD, NEW> {
    fn read(reader: &mut Reader, name: &'static str) -> Result<Self, Malformed> {
        Ok(Self(reader.text(name, width(reader.version, OLD, NEW))?))
    }

    fn write(&self, writer: &mut Writer, name: &'static str) -> Result<(), Unwritable> {
        writer.text(name, &self.0, width(writer.version, OLD, NEW))
    }

    fn shown(&self, _: u8) -> Option<Value> {
        Some(Value::Text(self.0.clone()))
    }
}

impl<const N: usize> Field for Raw<N> {
    fn read(reader: &mut Reader, name: &'static str) -> Result<Self, Malformed> {
        Ok(Self(reader.array(name)?))
    }

    fn write(&self, writer: &mut Writer, _: &'static str) -> Result<(), Unwritable> {
        writer.octets(&self.0);
        Ok(())
    }

    fn shown(&self, _: u8) -> Option<Value> {
        Some(Value::Octets(Bytes::copy_from_slice(&self.0)))
    }
}

impl<const N: usize> Default for Raw<N> {
    fn default() -> Self {
        Self([0; N])
    }
}

impl<const OLD: usize, const NEW: usize> Field for Tail<OLD, NEW> {
    fn read(reader: &mut Reader, name: &'static str) -> Result<Self, Malformed> {
        let octets = width(reader.version, OLD, NEW).min(reader.left());
        Ok(Self(reader.text(name, octets)?))
    }

    fn write(&self, writer: &mut Writer, name: &'static str) -> Result<(), Unwritable> {
        writer.text(name, &self.0, width(writer.version, OLD, NEW))
    }

    fn shown(&self, _: u8) -> Option<Value> {
        Some(Value::Text(self.0.clone()))
    }
}

impl Field for Newer {
    fn read(reader: &mut Reader, name: &'static str) -> Result<Self, Malformed> {
        if reader.version >= NEW_VERSION {
            Ok(Self(u8::read(reader, name)?))
        } else {
            Ok(Self(0))
        }
    }

    fn write(&self, writer: &mut Writer, name: &'static str) -> Result<(), Unwritable> {
        match (writer.version >= NEW_VERSION, self.0) {
            (true, octet) => octet.write(writer, name),
            (false, 0) => Ok(()),
            (false, _) => Err(Unwritable::new(name, "it exists from version 3.0 on")),
        }
    }

    fn shown(&self, version: u8) -> Option<Value> {
        (version >= NEW_VERSION).then(|| Value::Number(self.0.into()))
    }
}

impl Field for Widened {
    fn read(reader: &mut Reader, name: &'static str) -> Result<Self, Malformed> {
        if reader.version >= NEW_VERSION {
            Ok(Self(u32::read(reader, name)?))
        } else {
            Ok(Self(u8::read(reader, name)?.into()))
        }
    }

    fn write(&self, writer: &mut Writer, name: &'static str) -> Result<(), Unwritable> {
        match (writer.version >= NEW_VERSION, u8::try_from(self.0)) {
            (true, _) => self.0.write(writer, name),
            (false, Ok(octet)) => octet.write(writer, name),
            (false, Err(_)) => Err(Unwritable::new(name, "it has one octet before version 3.0")),
        }
    }

    fn shown(&self, _: u8) -> Option<Value> {
        Some(Value::Number(self.0.into()))
    }
}

impl<const OLD: usize, const NEW: usize, const MOST: usize> Field for Recipients<OLD, NEW, MOST> {
    fn read(reader: &mut Reader, name: &'static str) -> Result<Self, Malformed> {
        let count = usize::from(u8::read(reader, name)?);
        let octets = width(reader.version, OLD, NEW);
        if count > MOST {
            return Err(reader.wrong(name, "it has too many recipients"));
        }
        if count * octets > reader.left() {
            return Err(reader.wrong(name, "it has fewer recipients than it says"));
        }
        let numbers = (0..count).map(|_| reader.text(name, octets));
        Ok(Self(numbers.collect::<Result<_, _>>()?))
    }

    fn write(&self, writer: &mut Writer, name: &'static str) -> Result<(), Unwritable> {
        let count = u8::try_from(self.0.len()).ok().filter(|count| {
            let most = MOST.min(usize::from(u8::MAX));
            (1..=most).contains(&usize::from(*count))
        });
        let Some(count) = count else {
            return Err(Unwritable::new(name, "it has no recipients, or too many"));
        };
        count.write(writer, name)?;
        let octets = width(writer.version, OLD, NEW);
        self.0
            .iter()
            .try_for_each(|number| writer.text(name, number, octets))
    }

    fn shown(&self, _: u8) -> Option<Value> {
        Some(Value::Text(self.0.join(&b", "[..]).into()))
    }
}

impl<const WIDTH: usize, const MOST: usize> Field for Content<WIDTH, MOST> {
    fn read(reader: &mut Reader, name: &'static str) -> Result<Self, Malformed> {
        let length = match WIDTH {
            1 => u8::read(reader, name)?.into(),
            _ => u32::read(reader, name)? as usize,
        };
        Ok(Self(reader.take(name, length)?))
    }

    fn write(&self, writer: &mut Writer, name: &'static str) -> Result<(), Unwritable> {
        let length = u32::try_from(self.0.len())
            .ok()
            .filter(|_| self.0.len() <= MOST);
        let Some(length) = length else {
            return Err(Unwritable::new(name, "it is too long"));
        };
        match WIDTH {
            1 => (length as u8).write(writer, name)?,
            _ => length.write(writer, name)?,
        }
        writer.octets(&self.0);
        Ok(())
    }

    fn shown(&self, _: u8) -> Option<Value> {
        Some(Value::Octets(self.0.clone()))
    }
}

macro_rules! from_text {
    ($($type:ident<$($width:ident),*>),*) => {
        $(impl<$(const $width: usize),*> From<&str> for $type<$($width),*> {
            fn from(text: &str) -> Self {
                Self(Bytes::copy_from_slice(text.as_bytes()))
            }
        })*
    };
}

from_text!(Text<N>, Varying<OLD, NEW>, Tail<OLD, NEW>, Content<WIDTH, MOST>);
