//! Addresses of messages: where they go and from whom they come (ITU-T Q.713 §3.4).
//!
//! ```text
//! ┌───────────┬────────────┬─────┬──────────────┐
//! │ indicator │ point code │ SSN │ global title │
//! └─────1─────┴──2, or 0───┴1 0 0┴──────────────┘
//!  bits of the indicator: 1 point code, 2 SSN, 3 to 6 form of the title, 7 route by SSN
//! ```

use std::fmt;

use crate::global_title::{GlobalTitle, GlobalTitleForm};
use crate::point_code::PointCode;

/// Subsystem numbers (Q.713 §3.4.2.2, 3GPP TS 23.003 §8.2).
pub mod ssn {
    /// Not known, or not used.
    pub const NONE: u8 = 0;
    /// The management of SCCP itself.
    pub const MANAGEMENT: u8 = 1;
    pub const HLR: u8 = 6;
    pub const VLR: u8 = 7;
    /// MSC and SMSC.
    pub const MSC: u8 = 8;
    pub const SGSN: u8 = 149;
}

/// By what an address is routed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SccpRouting {
    /// By the global title, which somebody on the way translates.
    GlobalTitle,
    /// By point code and subsystem number.
    Ssn,
}

/// A called or calling party.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct SccpAddress {
    /// What counts.
    pub routing: SccpRouting,
    /// The signalling point.
    pub point_code: Option<PointCode>,
    /// The subsystem there: see [`ssn`]; 0 for none.
    pub ssn: u8,
    /// The number.
    pub global_title: Option<GlobalTitle>,
}

/// What is wrong with an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SccpAddressProblem {
    /// It ends too early.
    #[error("an address ends too early")]
    CutShort,
    /// A form of global titles that is not defined.
    #[error("no global title has the indicator {0}")]
    Form(u8),
    /// More digits than are taken.
    #[error("a global title of {0} digits is too long")]
    Digits(usize),
    /// A character that is no digit.
    #[error("{0:?} is no digit of a global title")]
    Digit(char),
    /// A numbering plan above 15.
    #[error("numbering plan {0} is above 15")]
    Plan(u8),
    /// A point code of more than 14 bits.
    #[error("point code {0} has more than 14 bits")]
    PointCode(PointCode),
    /// Routing by a title that is not there.
    #[error("an address is routed by a global title that it lacks")]
    NoTitle,
}

const HAS_POINT_CODE: u8 = 0x01;
const HAS_SSN: u8 = 0x02;
const BY_SSN: u8 = 0x40;

// === impl SccpAddress ===

impl SccpAddress {
    /// One that is routed by its global title.
    #[must_use]
    pub fn of_title(global_title: GlobalTitle, ssn: u8) -> Self {
        Self {
            routing: SccpRouting::GlobalTitle,
            point_code: None,
            ssn,
            global_title: Some(global_title),
        }
    }

    /// One that is routed by point code and subsystem number.
    #[must_use]
    pub fn of_point(point_code: PointCode, ssn: u8) -> Self {
        Self {
            routing: SccpRouting::Ssn,
            point_code: Some(point_code),
            ssn,
            global_title: None,
        }
    }

    /// The digits of its global title.
    #[must_use]
    pub fn digits(&self) -> Option<&str> {
        self.global_title.as_ref().map(|title| &title.digits[..])
    }

    /// Whether it says nothing: a calling party that does not tell itself is one octet of zeros (§3.5).
    #[must_use]
    pub fn is_unknown(&self) -> bool {
        let is_empty = self.point_code.is_none() && self.global_title.is_none();
        is_empty && self.ssn == ssn::NONE && self.routing == SccpRouting::GlobalTitle
    }

    /// Its octets, without their length.
    ///
    /// # Errors
    /// What cannot be written.
    pub fn encode(&self) -> Result<Vec<u8>, SccpAddressProblem> {
        let is_by_title = self.routing == SccpRouting::GlobalTitle;
        // Only there a title may lack.
        let is_unknown = self.is_unknown();
        if is_by_title && self.global_title.is_none() && !is_unknown {
            return Err(SccpAddressProblem::NoTitle);
        }
        let mut indicator = 0;
        indicator |= if is_by_title { 0 } else { BY_SSN };
        indicator |= if is_unknown { 0 } else { HAS_SSN };
        let form = self
            .global_title
            .as_ref()
            .map_or(0, |title| title.form.indicator());
        indicator |= form << 2;
        indicator |= self.point_code.map_or(0, |_| HAS_POINT_CODE);
        let mut out = vec![indicator];
        if let Some(point_code) = self.point_code {
            let low = u16::try_from(point_code.0)
                .ok()
                .filter(|_| point_code.is_itu());
            let low = low.ok_or(SccpAddressProblem::PointCode(point_code))?;
            out.extend(low.to_le_bytes());
        }
        if !is_unknown {
            out.push(self.ssn);
        }
        if let Some(title) = &self.global_title {
            title.write(&mut out)?;
        }
        Ok(out)
    }

    /// Reads one. Octets after one without a title are passed over.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn decode(octets: &[u8]) -> Result<Self, SccpAddressProblem> {
        let cut = SccpAddressProblem::CutShort;
        let (indicator, mut rest) = octets.split_first().ok_or(cut)?;
        let mut point_code = None;
        if indicator & HAS_POINT_CODE != 0 {
            let (low, after) = rest.split_first_chunk::<2>().ok_or(cut)?;
            // The two highest bits are spare.
            point_code = Some(PointCode(
                u32::from(u16::from_le_bytes(*low)) & PointCode::MAX,
            ));
            rest = after;
        }
        let mut ssn = ssn::NONE;
        if indicator & HAS_SSN != 0 {
            let (number, after) = rest.split_first().ok_or(cut)?;
            (ssn, rest) = (*number, after);
        }
        let form = indicator >> 2 & 0x0F;
        let global_title = if form == 0 {
            None
        } else {
            let form = GlobalTitleForm::of_indicator(form).ok_or(SccpAddressProblem::Form(form))?;
            Some(GlobalTitle::read(form, rest)?)
        };
        // Some say that a title routes which is not there.
        let is_unknown = point_code.is_none() && ssn == ssn::NONE;
        let is_by_title = indicator & BY_SSN == 0 && (global_title.is_some() || is_unknown);
        let routing = if is_by_title {
            SccpRouting::GlobalTitle
        } else {
            SccpRouting::Ssn
        };
        Ok(Self {
            routing,
            point_code,
            ssn,
            global_title,
        })
    }
}

impl fmt::Display for SccpAddress {
    /// `+49170123 SSN 8`, `2.33.4 SSN 8`; what does not route is in brackets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let by_title = self.routing == SccpRouting::GlobalTitle;
        match (&self.global_title, self.point_code) {
            (Some(title), None) if by_title => write!(f, "{title}")?,
            (Some(title), Some(point_code)) if by_title => write!(f, "{title} ({point_code})")?,
            (Some(title), Some(point_code)) => write!(f, "{point_code} ({title})")?,
            (Some(title), None) => write!(f, "({title})")?,
            (None, Some(point_code)) => write!(f, "{point_code}")?,
            (None, None) => write!(f, "unknown")?,
        }
        if self.ssn != ssn::NONE {
            write!(f, " SSN {}", self.ssn)?;
        }
        Ok(())
    }
}

impl fmt::Debug for SccpAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let form = self
            .global_title
            .as_ref()
            .map_or(0, |title| title.form.indicator());
        write!(f, "{self} by {:?}", self.routing)?;
        if self.global_title.is_some() {
            write!(f, " GT{form:04b}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
pub(crate) mod tests;
