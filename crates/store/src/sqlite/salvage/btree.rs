//! Pages of the B-trees of a SQLite file, and the rows in them (sqlite.org/fileformat2.html §1.6 and §2.1).
//!
//! Pure, and made for pages of which any octet may be wrong: nothing is read beyond a page, and a cell that is not exactly as
//! SQLite writes it is none. What deleted rows have left between the cells is never looked at.

use rusqlite::ToSql;
use rusqlite::types::{ToSqlOutput, ValueRef};

use super::pages::FILE_HEADER;

/// What a page is, by its first octet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageKind {
    IndexInterior,
    TableInterior,
    IndexLeaf,
    TableLeaf,
}

/// A page of a B-tree.
pub struct TreePage<'a> {
    octets: &'a [u8],
    /// Where it begins: behind the header of the file on the first one.
    start: usize,
    pub kind: PageKind,
    /// Where the pointers to the cells begin.
    pointers: usize,
    pub cells: usize,
}

/// A cell: a row, a child, or both.
#[derive(Debug, PartialEq, Eq)]
pub struct PageCell<'a> {
    /// Octets of the page that it takes.
    size: usize,
    /// The page with what is in front of it, on interior pages.
    pub child: u32,
    /// The key of a row of a table, or the highest key below the child.
    pub rowid: Option<i64>,
    pub payload: Option<Payload<'a>>,
}

/// The octets of a row.
#[derive(Debug, PartialEq, Eq)]
pub struct Payload<'a> {
    /// All of them.
    pub length: usize,
    /// Those on the page.
    pub local: &'a [u8],
    /// The page with the next ones; 0 for none.
    pub overflow: u32,
}

/// A value of a row.
#[derive(Debug, Clone, PartialEq)]
pub enum RawValue {
    Null,
    Int(i64),
    Real(f64),
    Text(Vec<u8>),
    Blob(Vec<u8>),
}

// === impl PageKind ===

impl PageKind {
    fn of(octet: u8) -> Option<Self> {
        match octet {
            0x02 => Some(Self::IndexInterior),
            0x05 => Some(Self::TableInterior),
            0x0a => Some(Self::IndexLeaf),
            0x0d => Some(Self::TableLeaf),
            _ => None,
        }
    }

    pub fn is_interior(self) -> bool {
        matches!(self, Self::IndexInterior | Self::TableInterior)
    }

    /// Whether it is of a table with rowids.
    pub fn is_of_table(self) -> bool {
        matches!(self, Self::TableInterior | Self::TableLeaf)
    }

    /// Whether its cells are rows.
    pub fn has_rows(self) -> bool {
        self != Self::TableInterior
    }
}

// === impl TreePage ===

impl<'a> TreePage<'a> {
    /// A page with this number; `None` for one that is no page of a B-tree.
    pub fn parse(page: u32, octets: &'a [u8]) -> Option<Self> {
        let start = match page {
            1 => FILE_HEADER,
            _ => 0,
        };
        let kind = PageKind::of(*octets.get(start)?)?;
        let header = if kind.is_interior() { 12 } else { 8 };
        let cells = usize::from(short(octets, start + 3)?);
        let pointers = start + header;
        (pointers + 2 * cells <= octets.len()).then_some(Self {
            octets,
            start,
            kind,
            pointers,
            cells,
        })
    }

    /// The last child of an interior page.
    pub fn last_child(&self) -> u32 {
        word(self.octets, self.pointers - 4).unwrap_or(0)
    }

    /// A cell, from 0; `None` where there is none that is whole.
    pub fn cell(&self, index: usize) -> Option<PageCell<'a>> {
        let at = usize::from(short(self.octets, self.pointers + 2 * index)?);
        if index >= self.cells || at < self.pointers + 2 * self.cells {
            return None;
        }
        let mut rest = self.octets.get(at..)?;
        let child = if self.kind.is_interior() {
            word(rest, 0)?
        } else {
            0
        };
        if self.kind.is_interior() {
            rest = rest.get(4..)?;
        }
        if self.kind == PageKind::TableInterior {
            let (rowid, used) = varint(rest)?;
            return Some(PageCell {
                size: 4 + used,
                child,
                rowid: Some(rowid as i64),
                payload: None,
            });
        }
        let (length, used) = varint(rest)?;
        rest = rest.get(used..)?;
        let mut rowid = None;
        if self.kind == PageKind::TableLeaf {
            let (key, used) = varint(rest)?;
            rowid = Some(key as i64);
            rest = rest.get(used..)?;
        }
        let payload = self.payload(usize::try_from(length).ok()?, rest)?;
        let head = self.octets.len() - at - rest.len();
        let further = if payload.overflow > 0 { 4 } else { 0 };
        Some(PageCell {
            size: head + payload.local.len() + further,
            child,
            rowid,
            payload: Some(payload),
        })
    }

    /// Whether its cells and what is free between them fill it, as on every page that SQLite has written: there is no cell
    /// that the count or a pointer misses.
    pub fn is_full(&self) -> bool {
        self.try_full().unwrap_or(false)
    }

    fn try_full(&self) -> Option<bool> {
        let start = self.start;
        let octet = |at: usize| self.octets.get(at).copied().map(usize::from);
        let mut used = self.pointers + 2 * self.cells + octet(start + 7)?;
        for index in 0..self.cells {
            used += self.cell(index)?.size.max(4);
        }
        let mut free = usize::from(short(self.octets, start + 1)?);
        let mut last = 0;
        while free > 0 {
            // They ascend.
            if free <= last {
                return None;
            }
            used += usize::from(short(self.octets, free + 2)?);
            last = free;
            free = usize::from(short(self.octets, free)?);
        }
        let content = match short(self.octets, start + 5)? {
            0 => 65_536,
            content => usize::from(content),
        };
        let gap = content.checked_sub(self.pointers + 2 * self.cells)?;
        Some(used + gap == self.octets.len())
    }

    fn payload(&self, length: usize, rest: &'a [u8]) -> Option<Payload<'a>> {
        let usable = self.octets.len();
        let most = match self.kind {
            PageKind::TableLeaf => usable - 35,
            _ => (usable - 12) * 64 / 255 - 23,
        };
        if length <= most {
            return Some(Payload {
                length,
                local: rest.get(..length)?,
                overflow: 0,
            });
        }
        let least = (usable - 12) * 32 / 255 - 23;
        let filled = least + (length - least) % (usable - 4);
        let local = if filled <= most { filled } else { least };
        Some(Payload {
            length,
            local: rest.get(..local)?,
            overflow: word(rest, local)?,
        })
    }
}

/// The values of a row; `None` if its octets are not exactly that.
pub fn decode(row: &[u8]) -> Option<Vec<RawValue>> {
    let (length, mut at) = varint(row)?;
    let length = usize::try_from(length).ok()?;
    let head = row.get(..length)?;
    let mut body = row.get(length..)?;
    let mut fields = Vec::new();
    while at < length {
        let (serial, used) = varint(head.get(at..)?)?;
        at += used;
        let size = match serial {
            0 | 8 | 9 => 0,
            1..=4 => serial as usize,
            5 => 6,
            6 | 7 => 8,
            10 | 11 => return None,
            longer => usize::try_from((longer - 12) / 2).ok()?,
        };
        let (octets, rest) = body.split_at_checked(size)?;
        body = rest;
        fields.push(field(serial, octets));
    }
    (at == length && body.is_empty()).then_some(fields)
}

fn field(serial: u64, octets: &[u8]) -> RawValue {
    match serial {
        0 => RawValue::Null,
        8 => RawValue::Int(0),
        9 => RawValue::Int(1),
        1..=6 => RawValue::Int(signed(octets)),
        7 => RawValue::Real(f64::from_bits(signed(octets) as u64)),
        even if even % 2 == 0 => RawValue::Blob(octets.to_vec()),
        _ => RawValue::Text(octets.to_vec()),
    }
}

/// A big-endian number with a sign.
fn signed(octets: &[u8]) -> i64 {
    let sign = octets.first().map_or(0, |first| (*first as i8) >> 7);
    let start = i64::from(sign);
    octets
        .iter()
        .fold(start, |number, octet| number << 8 | i64::from(*octet))
}

/// SQLite's number of one to nine octets, and how many it has.
fn varint(octets: &[u8]) -> Option<(u64, usize)> {
    let mut number = 0;
    for (index, octet) in octets.iter().take(8).enumerate() {
        number = number << 7 | u64::from(octet & 0x7f);
        if octet & 0x80 == 0 {
            return Some((number, index + 1));
        }
    }
    Some((number << 8 | u64::from(*octets.get(8)?), 9))
}

fn short(octets: &[u8], at: usize) -> Option<u16> {
    let two = octets.get(at..at + 2)?.try_into().ok()?;
    Some(u16::from_be_bytes(two))
}

/// The big-endian number at this place.
pub fn word(octets: &[u8], at: usize) -> Option<u32> {
    let four = octets.get(at..at + 4)?.try_into().ok()?;
    Some(u32::from_be_bytes(four))
}

// === impl RawValue ===

impl RawValue {
    pub fn int(&self) -> Option<i64> {
        match self {
            Self::Int(number) => Some(*number),
            _ => None,
        }
    }

    /// Text that is valid.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(octets) => std::str::from_utf8(octets).ok(),
            _ => None,
        }
    }
}

impl ToSql for RawValue {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Null => ValueRef::Null,
            Self::Int(number) => ValueRef::Integer(*number),
            Self::Real(number) => ValueRef::Real(*number),
            Self::Text(octets) => ValueRef::Text(octets),
            Self::Blob(octets) => ValueRef::Blob(octets),
        }))
    }
}
