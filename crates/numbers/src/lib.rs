//! Numbers as people write them, in international form: digits with the country code, without a plus (ITU-T E.164).
//!
//! Called for the recipients of messages that come over HTTP. Pure. National numbers, and the checks that an account
//! may want, follow the numbering plans of libphonenumber; without a country and a check, nothing of it is loaded or
//! asked. Invariant: without a check, a number in international form is never refused for what it says, because test
//! networks have numbers that no plan knows.

use std::ops::RangeInclusive;
use std::str::FromStr;
use std::sync::LazyLock;

use rlibphonenumber::{
    NumberLengthType, PHONE_NUMBER_UTIL, PhoneNumber, PhoneNumberFormat, PhoneNumberType, Region,
    ValidationError,
};

/// Digits of a number (E.164 has at most 15; numbers with routing prefixes have more).
pub const DIGITS: RangeInclusive<usize> = 3..=20;

/// A country whose national numbers are understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Country(Region);

/// It is no country of the numbering plans.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be two capital letters of ISO 3166 such as GB or DE")]
pub struct NotACountry;

/// How numbers are checked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Check {
    /// The number of digits is enough.
    #[default]
    Any,
    /// A country has its code, and numbers of this length.
    Possible,
    /// It is in a range that is assigned.
    Valid,
}

/// How the numbers of an account are written and checked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Numbers {
    country: Option<Country>,
    check: Check,
}

/// Why a text is not used as a number. Each follows the name of its field.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotANumber {
    #[error("must be a number in international form such as 447700900123, not {0:?}")]
    NotInternational(String),
    #[error(
        "must be a number in international form such as +447700900123, or as it is dialled in {1}, not {0:?}"
    )]
    NotNational(String, String),
    #[error("is an impossible number: {0:?} is {1}")]
    Impossible(String, String),
    #[error("is not in use: {0:?} is in no assigned range of its country")]
    Unassigned(String),
}

// === impl Country ===

impl FromStr for Country {
    type Err = NotACountry;

    fn from_str(code: &str) -> Result<Self, NotACountry> {
        let is_code = code.len() == 2 && code.bytes().all(|octet| octet.is_ascii_uppercase());
        let region = is_code.then(|| Region::from_code(code).ok()).flatten();
        let known = region.filter(|region| {
            let code = PHONE_NUMBER_UTIL.get_country_code_for_region(*region);
            code.is_some()
        });
        known.map(Self).ok_or(NotACountry)
    }
}

// === impl Numbers ===

impl Numbers {
    /// Numbers of accounts with this country and check. Loads the numbering plans if they will be needed: the first
    /// message does not wait for them.
    pub fn new(country: Option<Country>, check: Check) -> Self {
        if check != Check::Any {
            LazyLock::force(&PHONE_NUMBER_UTIL);
        }
        Self { country, check }
    }

    /// The numbers of this country, without the check.
    pub fn unchecked(self) -> Self {
        Self {
            check: Check::Any,
            ..self
        }
    }

    /// The number in international form, without a plus: of digits with or without spaces, dots, hyphens and
    /// parentheses. After a plus, two zeros or both it is international already; else it is a national number of the country
    /// if it can be none of another, or is that of a mobile phone.
    ///
    /// # Errors
    /// It is no number, or one that the check refuses.
    pub fn read(&self, text: &str) -> Result<String, NotANumber> {
        let is_decoration = |sign: char| matches!(sign, ' ' | '-' | '.' | '(' | ')' | '\u{a0}');
        let written = text.trim().chars().filter(|sign| !is_decoration(*sign));
        let written: String = written.collect();
        let behind_plus = written.strip_prefix('+');
        // No country code begins with a zero: two of them say the same as the plus.
        let behind_zeros = behind_plus.unwrap_or(&written).strip_prefix("00");
        let international = behind_zeros.or(behind_plus);
        let digits = international.unwrap_or(&written);
        let is_number = digits.bytes().all(|octet| octet.is_ascii_digit());
        if !is_number || !DIGITS.contains(&digits.len()) {
            return Err(self.no_number(text));
        }
        let number = match (international, self.country) {
            (None, Some(country)) => of_country(digits, country)
                .map_err(|why| NotANumber::Impossible(text.to_owned(), why))?,
            _ => digits.to_owned(),
        };
        self.check(text, &number)?;
        Ok(number)
    }

    fn check(&self, text: &str, number: &str) -> Result<(), NotANumber> {
        if self.check == Check::Any {
            return Ok(());
        }
        let impossible = |why| NotANumber::Impossible(text.to_owned(), why);
        let parsed = international(number).map_err(impossible)?;
        if self.check == Check::Valid && !PHONE_NUMBER_UTIL.is_valid_number(&parsed) {
            Err(NotANumber::Unassigned(text.to_owned()))
        } else {
            Ok(())
        }
    }

    fn no_number(&self, text: &str) -> NotANumber {
        let text = text.to_owned();
        match self.country {
            None => NotANumber::NotInternational(text),
            Some(country) => NotANumber::NotNational(text, country.0.to_string()),
        }
    }
}

/// Digits without a plus that an account of this country writes, in international form. Some can be both: they are a
/// number of the country if it is that of a mobile phone there, else one in international form.
fn of_country(digits: &str, country: Country) -> Result<String, String> {
    let parsed = PHONE_NUMBER_UTIL.parse(digits, Some(country.0));
    let national = match &parsed {
        Ok(number) => length(number).map(|()| number),
        Err(_) => Err("none"),
    };
    if !national.is_ok_and(is_mobile) && international(digits).is_ok() {
        return Ok(digits.to_owned());
    }
    let number = national.map_err(|why| {
        format!(
            "{why} in {}; a number of another country needs a plus",
            country.0
        )
    })?;
    let written = PHONE_NUMBER_UTIL.format(number, PhoneNumberFormat::E164);
    Ok(written.trim_start_matches('+').to_owned())
}

fn is_mobile(number: &PhoneNumber) -> bool {
    use PhoneNumberType::{FixedLineOrMobile, Mobile};
    [Mobile, FixedLineOrMobile].contains(&PHONE_NUMBER_UTIL.get_number_type(number))
}

/// A number that can be one by its length.
fn international(number: &str) -> Result<PhoneNumber, String> {
    let parsed = PHONE_NUMBER_UTIL.parse(format!("+{number}"), None);
    let parsed = parsed.map_err(|_| "of no country".to_owned())?;
    match length(&parsed) {
        Ok(()) => Ok(parsed),
        Err(why) => Err(format!("{why} for its country")),
    }
}

/// What is wrong with the length of a number.
fn length(number: &PhoneNumber) -> Result<(), &'static str> {
    match PHONE_NUMBER_UTIL.is_possible_number_with_reason(number) {
        Ok(NumberLengthType::IsPossible) => Ok(()),
        // Without its area code.
        Ok(NumberLengthType::IsPossibleLocalOnly) => Err("too short"),
        Err(ValidationError::TooShort) => Err("too short"),
        Err(ValidationError::TooLong) => Err("too long"),
        Err(ValidationError::InvalidCountryCode) => Err("of no country"),
        Err(ValidationError::InvalidLength) => Err("of the wrong length"),
    }
}

#[cfg(test)]
mod tests;
