//! Global titles: a subscriber's or a node's number as the address of a message (ITU-T Q.713 §3.4.2.3).
//!
//! We write the form that has everything (global title indicator 0100, §3.4.2.3.4). The other three are kept as
//! they came, so that an answer goes back to what its peer wrote.

use std::fmt;

use crate::address::SccpAddressProblem;

/// Numbering plan of telephone numbers (E.164).
pub const PLAN_E164: u8 = 1;
/// Nature of address of international numbers.
pub const NATURE_INTERNATIONAL: u8 = 4;
/// Most digits that are taken. The plans in use have 15 or 16.
pub const DIGITS_MAX: usize = 32;

/// Encoding schemes: two digits an octet, and whether the last half octet counts.
const SCHEME_ODD: u8 = 1;
const SCHEME_EVEN: u8 = 2;
/// Bit of an odd number of digits beside a nature of address (§3.4.2.3.1).
const ODD: u8 = 0x80;
/// End of the digits, where nothing else says it.
const END: u8 = 0x0F;

/// What is in a global title besides digits: its indicator.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum GlobalTitleForm {
    /// The nature of address.
    NatureOnly = 0b0001,
    /// The translation type.
    TranslationOnly = 0b0010,
    /// Translation type and numbering plan.
    WithoutNature = 0b0011,
    /// Translation type, numbering plan, nature of address.
    #[default]
    Full = 0b0100,
}

/// A global title. What its form lacks is 0.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct GlobalTitle {
    /// What it consists of.
    pub form: GlobalTitleForm,
    /// By which table gateways translate it; 0 where there is one for all.
    pub translation_type: u8,
    /// [`PLAN_E164`], 6 for mobile numbers (E.212), 7 for E.214.
    pub numbering_plan: u8,
    /// [`NATURE_INTERNATIONAL`], 3 for national numbers.
    pub nature: u8,
    /// `0` to `9`, and `A` to `E` for the codes 10 to 14.
    pub digits: String,
}

// === impl GlobalTitleForm ===

impl GlobalTitleForm {
    /// The indicator, of four bits.
    pub(crate) fn indicator(self) -> u8 {
        self as u8
    }

    pub(crate) fn of_indicator(indicator: u8) -> Option<Self> {
        match indicator {
            1 => Some(Self::NatureOnly),
            2 => Some(Self::TranslationOnly),
            3 => Some(Self::WithoutNature),
            4 => Some(Self::Full),
            _ => None,
        }
    }
}

// === impl GlobalTitle ===

impl Default for GlobalTitle {
    fn default() -> Self {
        Self::international("", 0)
    }
}

impl GlobalTitle {
    /// An international telephone number: plan E.164, all parts present.
    #[must_use]
    pub fn international(digits: impl Into<String>, translation_type: u8) -> Self {
        Self {
            form: GlobalTitleForm::Full,
            translation_type,
            numbering_plan: PLAN_E164,
            nature: NATURE_INTERNATIONAL,
            digits: digits.into(),
        }
    }

    /// Appends its octets.
    ///
    /// # Errors
    /// What cannot be written; `out` is then of no use.
    pub(crate) fn write(&self, out: &mut Vec<u8>) -> Result<(), SccpAddressProblem> {
        let digits = half_octets(&self.digits)?;
        let is_odd = digits.len() % 2 == 1;
        let plan = if self.numbering_plan > 0x0F {
            return Err(SccpAddressProblem::Plan(self.numbering_plan));
        } else {
            self.numbering_plan << 4
        };
        let scheme = if is_odd { SCHEME_ODD } else { SCHEME_EVEN };
        let nature = self.nature & !ODD;
        match self.form {
            GlobalTitleForm::NatureOnly => out.push(if is_odd { nature | ODD } else { nature }),
            GlobalTitleForm::TranslationOnly => out.push(self.translation_type),
            GlobalTitleForm::WithoutNature => {
                out.extend([self.translation_type, plan | scheme]);
            }
            GlobalTitleForm::Full => out.extend([self.translation_type, plan | scheme, nature]),
        }
        let filler = match self.form {
            // Nothing says how many digits there are.
            GlobalTitleForm::TranslationOnly => END,
            _ => 0,
        };
        let pairs = digits.chunks(2);
        out.extend(pairs.map(|pair| pair.get(1).unwrap_or(&filler) << 4 | pair[0]));
        Ok(())
    }

    /// Reads one that goes to the end of the octets.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(crate) fn read(form: GlobalTitleForm, octets: &[u8]) -> Result<Self, SccpAddressProblem> {
        let cut = SccpAddressProblem::CutShort;
        let (translation_type, plan_and_scheme, nature, digits) = match (form, octets) {
            (GlobalTitleForm::NatureOnly, [nature, digits @ ..]) => {
                let scheme = if nature & ODD == 0 {
                    SCHEME_EVEN
                } else {
                    SCHEME_ODD
                };
                (0, scheme, *nature, digits)
            }
            (GlobalTitleForm::TranslationOnly, [kind, digits @ ..]) => (*kind, 0, 0, digits),
            (GlobalTitleForm::WithoutNature, [kind, plan, digits @ ..]) => {
                (*kind, *plan, 0, digits)
            }
            (GlobalTitleForm::Full, [kind, plan, nature, digits @ ..]) => {
                (*kind, *plan, *nature, digits)
            }
            _ => return Err(cut),
        };
        let is_odd = plan_and_scheme & 0x0F == SCHEME_ODD;
        Ok(Self {
            form,
            translation_type,
            numbering_plan: plan_and_scheme >> 4,
            nature: nature & !ODD,
            digits: digits_of(digits, is_odd)?,
        })
    }
}

/// Digits as half octets.
fn half_octets(digits: &str) -> Result<Vec<u8>, SccpAddressProblem> {
    if digits.len() > DIGITS_MAX {
        return Err(SccpAddressProblem::Digits(digits.len()));
    }
    let half_octet = |digit: char| {
        let value = digit
            .to_digit(16)
            .and_then(|value| u8::try_from(value).ok());
        value
            .filter(|value| *value != END)
            .ok_or(SccpAddressProblem::Digit(digit))
    };
    digits.chars().map(half_octet).collect()
}

/// Digits of octets. The last half octet of an odd number is a filler, whatever it is; and some write the
/// end of the digits (1111) where a filler would do.
fn digits_of(octets: &[u8], is_odd: bool) -> Result<String, SccpAddressProblem> {
    if octets.len() > DIGITS_MAX / 2 {
        return Err(SccpAddressProblem::Digits(octets.len() * 2));
    }
    let mut halves: Vec<u8> = octets
        .iter()
        .flat_map(|pair| [pair & 0x0F, pair >> 4])
        .collect();
    if is_odd {
        halves.pop();
    }
    let digits = halves.into_iter().take_while(|half| *half != END);
    Ok(digits
        .filter_map(|half| char::from_digit(u32::from(half), 16))
        .map(|digit| digit.to_ascii_uppercase())
        .collect())
}

impl fmt::Display for GlobalTitle {
    /// `+49170123 TT 5`: what is usual is not said.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_usual = (self.numbering_plan, self.nature) == (PLAN_E164, NATURE_INTERNATIONAL);
        let plus = if is_usual { "+" } else { "" };
        write!(f, "{plus}{}", self.digits)?;
        if self.translation_type != 0 {
            write!(f, " TT {}", self.translation_type)?;
        }
        if !is_usual {
            write!(f, " plan {} nature {}", self.numbering_plan, self.nature)?;
        }
        Ok(())
    }
}

impl fmt::Debug for GlobalTitle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GT{:04b} ", self.form.indicator())?;
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hex::octets;

    #[test]
    fn the_forms_of_global_titles() {
        // Q.713 §3.4.2.3.1 to §3.4.2.3.4.
        let title = |form, translation_type, numbering_plan, nature, digits: &str| GlobalTitle {
            form,
            translation_type,
            numbering_plan,
            nature,
            digits: digits.into(),
        };
        for (hex, expected) in [
            (
                "84 9471 00",
                title(GlobalTitleForm::NatureOnly, 0, 0, 4, "49170"),
            ),
            (
                "04 9471",
                title(GlobalTitleForm::NatureOnly, 0, 0, 4, "4917"),
            ),
            (
                "05 9471 F0",
                title(GlobalTitleForm::TranslationOnly, 5, 0, 0, "49170"),
            ),
            (
                "00 61 1002 03",
                title(GlobalTitleForm::WithoutNature, 0, 6, 0, "01203"),
            ),
            (
                "00 12 04 9471 1032",
                title(GlobalTitleForm::Full, 0, 1, 4, "49170123"),
            ),
            (
                "09 11 04 9471 0B",
                title(GlobalTitleForm::Full, 9, 1, 4, "4917B"),
            ),
            ("00 12 04", title(GlobalTitleForm::Full, 0, 1, 4, "")),
        ] {
            let read = GlobalTitle::read(expected.form, &octets(hex));
            assert_eq!(read.as_ref(), Ok(&expected), "{hex}");
            let mut written = Vec::new();
            expected.write(&mut written).unwrap();
            assert_eq!(written, octets(hex), "{hex}");
        }
    }

    #[test]
    fn digits_end_where_they_end_for_other_writers_too() {
        for (hex, digits) in [
            // A filler of ones; ones where the scheme says even; no scheme at all.
            ("00 11 04 9471 F0", "49170"),
            ("00 12 04 9471 F0", "49170"),
            ("00 10 04 9471 F0", "49170"),
            ("00 12 04 94FF", "49"),
        ] {
            let title = GlobalTitle::read(GlobalTitleForm::Full, &octets(hex)).unwrap();
            assert_eq!(title.digits, digits, "{hex}");
        }
    }

    #[test]
    fn what_is_no_title_is_refused() {
        let read = |form, hex| GlobalTitle::read(form, &octets(hex)).unwrap_err();
        for (form, hex) in [
            (GlobalTitleForm::NatureOnly, ""),
            (GlobalTitleForm::TranslationOnly, ""),
            (GlobalTitleForm::WithoutNature, "00"),
            (GlobalTitleForm::Full, "0012"),
        ] {
            assert_eq!(read(form, hex), SccpAddressProblem::CutShort);
        }
        let long = format!("001204{}", "11".repeat(17));
        assert_eq!(
            read(GlobalTitleForm::Full, &long),
            SccpAddressProblem::Digits(34)
        );
        let write = |title: GlobalTitle| title.write(&mut Vec::new()).unwrap_err();
        let digits = |digits: &str| GlobalTitle::international(digits, 0);
        assert_eq!(write(digits("49x")), SccpAddressProblem::Digit('x'));
        assert_eq!(write(digits("49F")), SccpAddressProblem::Digit('F'));
        assert_eq!(
            write(digits(&"1".repeat(33))),
            SccpAddressProblem::Digits(33)
        );
        let plan = GlobalTitle {
            numbering_plan: 16,
            ..GlobalTitle::default()
        };
        assert_eq!(write(plan), SccpAddressProblem::Plan(16));
    }

    #[test]
    fn titles_are_short_in_logs() {
        let mut title = GlobalTitle::international("49170123", 0);
        assert_eq!(title.to_string(), "+49170123");
        title.translation_type = 5;
        assert_eq!(format!("{title:?}"), "GT0100 +49170123 TT 5");
        title.nature = 3;
        assert_eq!(title.to_string(), "49170123 TT 5 plan 1 nature 3");
    }
}
