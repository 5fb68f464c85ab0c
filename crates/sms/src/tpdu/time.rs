//! Time stamps and validity periods: digits in semi-octets, and minutes to weeks in one octet
//! (§9.2.3.11, §9.2.3.12).

use bytes::Bytes;

use super::field::{FieldFault, FieldProblem, TpduField, TpduWriteError, UnwritableReason};
use super::reader::TpduReader;

/// Octets of a time stamp, and of an enhanced validity period.
const OCTETS: usize = 7;
/// Sign of the zone: the highest bit of its first semi-octet (§9.2.3.11).
const NEGATIVE: u8 = 0x08;
/// Largest distance of a zone from UTC that its semi-octets can say, in quarters of an hour.
const ZONE_MAX: u8 = 79;

/// Minutes and seconds.
const MINUTE: u32 = 60;
const HOUR: u32 = 60 * MINUTE;
const DAY: u32 = 24 * HOUR;
const WEEK: u32 = 7 * DAY;

/// A local time with its distance from UTC (§9.2.3.11). A value read may be none that a calendar has:
/// see [`TimeStamp::is_possible`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct TimeStamp {
    /// The last two digits of the year; 90 to 99 are of the last century by custom.
    pub year: u8,
    /// 1 to 12.
    pub month: u8,
    /// 1 to 31.
    pub day: u8,
    /// 0 to 23.
    pub hour: u8,
    /// 0 to 59.
    pub minute: u8,
    /// 0 to 59.
    pub second: u8,
    /// Quarters of an hour that local time is ahead of UTC, -79 to 79.
    pub zone: i8,
}

/// How long the service centre keeps trying (§9.2.3.12); the variants are the formats of TP-VPF (§9.2.3.3).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Validity {
    /// The service centre decides.
    #[default]
    Absent,
    /// One octet: see [`relative_seconds`].
    Relative(u8),
    /// Until then.
    Absolute(TimeStamp),
    /// Seven octets with a period and a flag.
    Enhanced(Enhanced),
}

/// An enhanced validity period (§9.2.3.12.3).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Enhanced {
    /// One attempt only.
    pub single_shot: bool,
    /// How long.
    pub period: Period,
}

/// The period of an enhanced validity period.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Period {
    /// The service centre decides.
    #[default]
    Absent,
    /// As in the relative format.
    Relative(u8),
    /// Seconds, 1 to 255; 0 is reserved.
    Seconds(u8),
    /// Hours, minutes and seconds, each of two digits.
    Clock { hours: u8, minutes: u8, seconds: u8 },
    /// A format that the standard reserves; never written.
    Reserved(u8),
}

/// Seconds of a relative validity period (§9.2.3.12.1): 5 minutes to 63 weeks.
#[must_use]
pub fn relative_seconds(octet: u8) -> u32 {
    let value = u32::from(octet);
    match octet {
        0..=143 => (value + 1) * 5 * MINUTE,
        144..=167 => 12 * HOUR + (value - 143) * 30 * MINUTE,
        168..=196 => (value - 166) * DAY,
        197..=255 => (value - 192) * WEEK,
    }
}

/// The shortest relative validity period that is not shorter than so many seconds; 63 weeks is the
/// longest.
#[must_use]
pub fn relative_of(seconds: u32) -> u8 {
    (0..u8::MAX)
        .find(|octet| relative_seconds(*octet) >= seconds)
        .unwrap_or(u8::MAX)
}

/// The zone of an offset from UTC, `+01:00` or `-03:30`, in quarters of an hour; `None` for one that is none, or none of
/// whole quarters, or beyond what a time stamp can say.
#[must_use]
pub fn zone_of(offset: &str) -> Option<i8> {
    let (sign, digits) = match offset.split_at_checked(1)? {
        ("+", digits) => (1, digits),
        ("-", digits) => (-1, digits),
        _ => return None,
    };
    let (hours, minutes) = digits.split_once(':')?;
    let number = |digits: &str| {
        let is_number = digits.len() == 2 && digits.bytes().all(|octet| octet.is_ascii_digit());
        is_number.then(|| digits.parse::<u8>().ok())?
    };
    let (hours, minutes) = (number(hours)?, number(minutes)?);
    let is_possible = hours <= ZONE_MAX / 4 && minutes < 60 && minutes.is_multiple_of(15);
    // Both are small now.
    is_possible.then(|| sign * (hours * 4 + minutes / 15) as i8)
}

// === impl TimeStamp ===

impl TimeStamp {
    /// The numbers, from the year to the second.
    #[must_use]
    pub fn fields(&self) -> [u8; 6] {
        [
            self.year,
            self.month,
            self.day,
            self.hour,
            self.minute,
            self.second,
        ]
    }

    /// Whether a calendar has this time, and its zone can be written. Years are those from 2000.
    #[must_use]
    pub fn is_possible(&self) -> bool {
        let days = match self.month {
            2 if self.year.is_multiple_of(4) => 29,
            2 => 28,
            4 | 6 | 9 | 11 => 30,
            _ => 31,
        };
        self.year <= 99
            && (1..=12).contains(&self.month)
            && (1..=days).contains(&self.day)
            && self.hour < 24
            && self.minute < 60
            && self.second < 60
            && self.zone.unsigned_abs() <= ZONE_MAX
    }

    /// Reads a time stamp alone.
    ///
    /// # Errors
    /// There are fewer than 7 octets.
    pub fn decode(octets: &Bytes) -> Result<Self, FieldFault> {
        Self::read(&mut TpduReader::new(octets, None), TpduField::DischargeTime)
    }

    pub(super) fn read(reader: &mut TpduReader, field: TpduField) -> Result<Self, FieldFault> {
        let at = reader.at();
        let octets = reader.array::<OCTETS>(field)?;
        let [year, month, day, hour, minute, second, _] = octets.map(number);
        let zone = octets[OCTETS - 1];
        let quarters = number(zone & !NEGATIVE) as i8;
        let stamp = Self {
            year,
            month,
            day,
            hour,
            minute,
            second,
            zone: if zone & NEGATIVE == 0 {
                quarters
            } else {
                -quarters
            },
        };
        let is_decimal = octets[..OCTETS - 1].iter().all(|octet| is_decimal(*octet));
        if !(is_decimal && is_decimal_zone(zone) && stamp.is_possible()) {
            reader.odd(field, at, FieldProblem::Time);
        }
        Ok(stamp)
    }

    pub(super) fn write(&self, field: TpduField, out: &mut Vec<u8>) -> Result<(), TpduWriteError> {
        if !self.is_possible() {
            return Err(field.refuses(UnwritableReason::Time));
        }
        out.extend(self.fields().map(semi_octets));
        let sign = if self.zone < 0 { NEGATIVE } else { 0 };
        out.push(semi_octets(self.zone.unsigned_abs()) | sign);
        Ok(())
    }
}

// === impl Validity ===

impl Validity {
    /// TP-VPF (§9.2.3.3).
    pub(super) fn format(&self) -> u8 {
        match self {
            Validity::Absent => 0,
            Validity::Enhanced(_) => 1,
            Validity::Relative(_) => 2,
            Validity::Absolute(_) => 3,
        }
    }

    /// Reads the period of a TP-VPF alone; two bits of that count.
    ///
    /// # Errors
    /// There are fewer octets than the format has.
    pub fn decode(format: u8, octets: &Bytes) -> Result<Self, FieldFault> {
        Self::read(&mut TpduReader::new(octets, None), format)
    }

    /// Reads the period of a format, of which two bits count.
    pub(super) fn read(reader: &mut TpduReader, format: u8) -> Result<Self, FieldFault> {
        let field = TpduField::ValidityPeriod;
        Ok(match format & 3 {
            0 => Validity::Absent,
            1 => Validity::Enhanced(Enhanced::read(reader)?),
            2 => Validity::Relative(reader.octet(field)?),
            _ => Validity::Absolute(TimeStamp::read(reader, field)?),
        })
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) -> Result<(), TpduWriteError> {
        match self {
            Validity::Absent => Ok(()),
            Validity::Relative(octet) => {
                out.push(*octet);
                Ok(())
            }
            Validity::Absolute(stamp) => stamp.write(TpduField::ValidityPeriod, out),
            Validity::Enhanced(enhanced) => enhanced.write(out),
        }
    }
}

// === impl Enhanced ===

impl Enhanced {
    /// Another octet of flags follows.
    const EXTENSION: u8 = 0x80;
    const SINGLE_SHOT: u8 = 0x40;
    const FORMAT: u8 = 0x07;

    fn read(reader: &mut TpduReader) -> Result<Self, FieldFault> {
        let field = TpduField::ValidityPeriod;
        let at = reader.at();
        let octets = reader.array::<OCTETS>(field)?;
        let flags = octets[0];
        // Flags of a later release are passed over; the last octet ends them in any case.
        let more = octets[..OCTETS - 1]
            .iter()
            .take_while(|octet| *octet & Self::EXTENSION != 0)
            .count();
        let value = |place: usize| octets.get(1 + more + place).copied().unwrap_or(0);
        let period = match flags & Self::FORMAT {
            0 => Period::Absent,
            1 => Period::Relative(value(0)),
            2 => Period::Seconds(value(0)),
            3 => {
                if !(0..3).all(|place| is_decimal(value(place))) {
                    reader.odd(field, at + 1 + more, FieldProblem::Time);
                }
                Period::Clock {
                    hours: number(value(0)),
                    minutes: number(value(1)),
                    seconds: number(value(2)),
                }
            }
            format => {
                reader.odd(field, at, FieldProblem::ValidityFormat(format));
                Period::Reserved(format)
            }
        };
        Ok(Self {
            single_shot: flags & Self::SINGLE_SHOT != 0,
            period,
        })
    }

    fn write(&self, out: &mut Vec<u8>) -> Result<(), TpduWriteError> {
        let field = TpduField::ValidityPeriod;
        let (format, value) = match self.period {
            Period::Absent => (0, [0; 3]),
            Period::Relative(octet) => (1, [octet, 0, 0]),
            Period::Seconds(0) => return Err(field.refuses(UnwritableReason::Reserved(0))),
            Period::Seconds(seconds) => (2, [seconds, 0, 0]),
            Period::Clock {
                hours,
                minutes,
                seconds,
            } => {
                if hours > 99 || minutes > 59 || seconds > 59 {
                    return Err(field.refuses(UnwritableReason::Time));
                }
                (3, [hours, minutes, seconds].map(semi_octets))
            }
            Period::Reserved(format) => {
                return Err(field.refuses(UnwritableReason::Reserved(format)));
            }
        };
        let single_shot = if self.single_shot {
            Self::SINGLE_SHOT
        } else {
            0
        };
        out.push(single_shot | format);
        out.extend(value);
        out.extend([0; OCTETS - 4]);
        Ok(())
    }
}

/// Two digits, the first one in the lower half; at most 165 for semi-octets that are none.
fn number(octet: u8) -> u8 {
    (octet & 0x0F) * 10 + (octet >> 4)
}

/// The octet of a number below 100.
fn semi_octets(number: u8) -> u8 {
    ((number % 10) << 4) | (number / 10)
}

fn is_decimal(octet: u8) -> bool {
    octet & 0x0F <= 9 && octet >> 4 <= 9
}

fn is_decimal_zone(octet: u8) -> bool {
    is_decimal(octet & !NEGATIVE)
}
