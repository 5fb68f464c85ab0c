//! Messages of connectionless SCCP: UDT, XUDT, LUDT and those that come back (ITU-T Q.713 §4).
//!
//! Their parts are where pointers say. Read in the order of the octets; pointers that lead backwards or out are a problem.

use bytes::Bytes;

use super::{m3ua, tcap};
use crate::decode::hex;
use crate::decode::report::{DecodeReport, DecodedField};
use smsc_sigtran::address::ssn;
use smsc_sigtran::global_title::{NATURE_INTERNATIONAL, PLAN_E164};
use smsc_sigtran::sccp::{END_OF_OPTIONAL, IMPORTANCE, SEGMENTATION, SccpForm, cause};
use smsc_sms::tpdu::address::bcd_digits;

/// An optional parameter that the codec passes over (§3.20).
const LONG_DATA: u8 = 0x13;

/// What a message has in front of its parts, by its type.
struct SccpLayout {
    name: &'static str,
    /// It comes back to who has sent it: a cause in place of the class.
    is_returned: bool,
    /// A hop counter, and a pointer to optional parameters.
    is_extended: bool,
    /// Pointers and the length of the data have two octets.
    is_long: bool,
}

/// One part of variable length.
struct SccpPart {
    name: &'static str,
    at: usize,
    /// Octets of its length.
    head: usize,
    value: Bytes,
}

/// Whether a message begins so.
pub fn is_type(first: u8) -> bool {
    layout(first).is_some()
}

fn layout(first: u8) -> Option<SccpLayout> {
    let (form, is_returned) = SccpForm::of_type(first)?;
    Some(SccpLayout {
        name: form.name(is_returned),
        is_returned,
        is_extended: form != SccpForm::Short,
        is_long: form == SccpForm::Long,
    })
}

/// Explains a message whose first octet is number `base` of what was given, and what it carries.
pub fn explain(octets: &Bytes, base: usize) -> Vec<DecodeReport> {
    let first = octets.first().copied().unwrap_or_default();
    let Some(form) = layout(first) else {
        let mut report = DecodeReport::new("sccp", "SCCP message", octets, base);
        report.note(DecodedField::hex(base, "(not read)", octets));
        let text = format!("0x{first:02X} is no message of connectionless SCCP");
        report.problem(base, "message type", text);
        return vec![report];
    };
    let mut report = DecodeReport::new("sccp", format!("SCCP {}", form.name), octets, base);
    let mut place = SccpPlace {
        report: &mut report,
        octets,
        base,
        at: 0,
    };
    let data = place.message(&form);
    place.rest();
    let mut reports = vec![report];
    if let Some((at, data)) = data {
        reports.extend(tcap::explain(&data, at));
    }
    reports
}

/// How far a message was read.
struct SccpPlace<'a> {
    report: &'a mut DecodeReport,
    octets: &'a Bytes,
    base: usize,
    at: usize,
}

// === impl SccpPlace ===

impl SccpPlace<'_> {
    /// Reads everything; gives the place and the octets of TCAP.
    fn message(&mut self, form: &SccpLayout) -> Option<(usize, Bytes)> {
        self.octet("message type", |_| form.name)?;
        if form.is_returned {
            self.octet("return cause", cause::name)?;
        } else {
            self.octet("protocol class", class)?;
        }
        if form.is_extended {
            self.octet("hop counter", |_| "")?;
        }
        let names = ["called", "calling", "data", "optional"];
        let count = if form.is_extended { 4 } else { 3 };
        let mut starts = Vec::new();
        for name in &names[..count] {
            starts.push((*name, self.pointer(name, form.is_long)?));
        }
        let mut data = None;
        let (mut is_whole, mut is_management) = (true, false);
        for (name, start) in starts {
            // Zero: there is none.
            let Some(start) = start else { continue };
            if name == "optional" {
                self.go_to(start, name)?;
                is_whole = self.optional_parameters()?;
                continue;
            }
            let part = self.part(name, start, form.is_long && name == "data")?;
            if name == "data" {
                self.note_data(&part);
                data = Some((self.base + part.at + part.head, part.value));
            } else {
                is_management |=
                    name == "called" && self.note_address(&part) == Some(ssn::MANAGEMENT);
                if name == "calling" {
                    self.note_address(&part);
                }
            }
        }
        data.filter(|(_, data)| is_whole && !is_management && !data.is_empty())
    }

    fn octet(&mut self, name: &str, meaning: impl Fn(u8) -> &'static str) -> Option<u8> {
        let Some(octet) = self.octets.get(self.at).copied() else {
            self.problem(name, "the message ends before it");
            return None;
        };
        let field = DecodedField::code(self.base + self.at, name, octet, meaning(octet));
        self.report.note(field);
        self.at += 1;
        Some(octet)
    }

    /// Where a pointer leads: it counts from its most significant octet, which is its last one (§2.3).
    fn pointer(&mut self, name: &str, is_long: bool) -> Option<Option<usize>> {
        let width = if is_long { 2 } else { 1 };
        let name = format!("pointer to {name}");
        let Some(octets) = self.octets.get(self.at..self.at + width) else {
            self.problem(&name, "the message ends before it");
            return None;
        };
        let value = octets
            .iter()
            .rev()
            .fold(0_u32, |value, octet| value << 8 | u32::from(*octet));
        let leads = (value > 0).then(|| self.at + width - 1 + value as usize);
        let field = DecodedField::number(self.base + self.at, width, &name, value);
        let meaning = leads.map(|at| format!("octet {}", self.base + at));
        self.report
            .note(field.meaning(meaning.unwrap_or_else(|| "none".to_owned())));
        self.at += width;
        Some(leads)
    }

    /// A part of variable length. Parts follow one another; what is between them is noted.
    fn part(&mut self, name: &'static str, at: usize, is_long: bool) -> Option<SccpPart> {
        self.go_to(at, name)?;
        let head = if is_long { 2 } else { 1 };
        let length = self.octets.get(at..at + head).map(|octets| {
            let octets = octets.iter().rev();
            octets.fold(0_usize, |length, octet| length << 8 | usize::from(*octet))
        });
        let end = length.map(|length| at + head + length);
        let Some(end) = end.filter(|end| *end <= self.octets.len()) else {
            let text = match length {
                Some(length) => format!("said to have {length} octets; the message ends before"),
                None => "the message ends before it".to_owned(),
            };
            self.problem(name, &text);
            return None;
        };
        self.at = end;
        Some(SccpPart {
            name,
            at,
            head,
            value: self.octets.slice(at + head..end),
        })
    }

    /// Notes what is up to an octet to which a pointer leads.
    fn go_to(&mut self, at: usize, name: &str) -> Option<()> {
        if at < self.at || at > self.octets.len() {
            let text = format!(
                "the pointer leads to octet {}, which is not behind what was read",
                self.base + at
            );
            self.problem(name, &text);
            return None;
        }
        let between = self.octets.slice(self.at..at);
        if !between.is_empty() {
            let field = DecodedField::hex(self.base + self.at, "(between)", &between);
            self.report.note(field);
        }
        self.at = at;
        Some(())
    }

    fn note_data(&mut self, part: &SccpPart) {
        let mut field = DecodedField::hex(self.base + part.at, part.name, &part.value);
        field.octets += part.head;
        field.shown = hex::counted(part.value.len(), "octet");
        self.report.note(field);
    }

    /// Notes an address (§3.4); gives its subsystem number.
    fn note_address(&mut self, part: &SccpPart) -> Option<u8> {
        let mut field = DecodedField::hex(self.base + part.at, part.name, &part.value);
        field.octets += part.head;
        "Q.713 §3.4".clone_into(&mut field.section);
        let address = ReadAddress::of(&part.value);
        let subsystem = address.as_ref().and_then(|address| address.subsystem);
        match address {
            Some(address) => address.show(&mut field),
            None => self.problem(part.name, "the address ends within its fields"),
        }
        self.report.note(field);
        subsystem
    }

    /// Notes them; false when the data are one of several segments.
    fn optional_parameters(&mut self) -> Option<bool> {
        let mut is_whole = true;
        loop {
            let at = self.at;
            let name = match self.octets.get(at) {
                Some(&END_OF_OPTIONAL) => {
                    self.octet("end of optional parameters", |_| "")?;
                    return Some(is_whole);
                }
                Some(&SEGMENTATION) => "segmentation",
                Some(&IMPORTANCE) => "importance",
                Some(&LONG_DATA) => "long data",
                Some(_) => "optional parameter",
                None => {
                    self.problem("optional parameters", "the message ends before their end");
                    return None;
                }
            };
            let length = self.octets.get(at + 1).map(|length| usize::from(*length));
            let end = length.map(|length| at + 2 + length);
            let Some(end) = end.filter(|end| *end <= self.octets.len()) else {
                self.problem(name, "the message ends within it");
                return None;
            };
            let value = self.octets.slice(at + 2..end);
            let mut field = DecodedField::hex(self.base + at, name, &value);
            field.octets += 2;
            if let (Some(&SEGMENTATION), [first, reference @ ..]) =
                (self.octets.get(at), &value[..])
            {
                let left = first & 0x0F;
                is_whole = first & 0x80 != 0 && left == 0;
                let which = if first & 0x80 == 0 {
                    "a later"
                } else {
                    "the first"
                };
                field.meaning = format!("{which} segment, {left} follow");
                let reference = hex::spaced(reference);
                field.details = vec![
                    m3ua::detail("bit 7", first >> 7, "this is the first segment"),
                    m3ua::detail("bit 6", first >> 6 & 1, "class of the whole message"),
                    m3ua::detail("bits 3-0", left, "segments that follow"),
                    m3ua::detail("local reference", reference, ""),
                ];
            }
            self.report.note(field);
            self.at = end;
        }
    }

    fn problem(&mut self, name: &str, text: &str) {
        self.report.problem(self.base + self.at, name, text);
    }

    /// Notes what is left.
    fn rest(&mut self) {
        let left = self.octets.slice(self.at.min(self.octets.len())..);
        if left.is_empty() {
            return;
        }
        let field = DecodedField::hex(self.base + self.at, "(not read)", &left);
        self.report.note(field);
    }
}

/// An address, as its indicator says (§3.4.1).
struct ReadAddress {
    indicator: u8,
    point: Option<u16>,
    subsystem: Option<u8>,
    translation: Option<u8>,
    plan: Option<u8>,
    nature: Option<u8>,
    digits: Option<String>,
}

// === impl ReadAddress ===

impl ReadAddress {
    fn of(octets: &[u8]) -> Option<Self> {
        let (indicator, mut left) = octets.split_first()?;
        let indicator = *indicator;
        let mut take = |wanted: bool| -> Option<Option<u8>> {
            if !wanted {
                return Some(None);
            }
            let (octet, behind) = left.split_first()?;
            left = behind;
            Some(Some(*octet))
        };
        let (low, high) = (take(indicator & 1 != 0)?, take(indicator & 1 != 0)?);
        let point = low.zip(high);
        let point = point.map(|(low, high)| u16::from_le_bytes([low, high & 0x3F]));
        let subsystem = take(indicator & 2 != 0)?;
        let form = indicator >> 2 & 0x0F;
        let translation = take(matches!(form, 2..=4))?;
        let plan = take(matches!(form, 3 | 4))?;
        let nature = take(matches!(form, 1 | 4))?;
        let is_odd = match form {
            1 => nature? & 0x80 != 0,
            3 | 4 => plan? & 0x0F == 1,
            _ => false,
        };
        let digits = (form != 0).then(|| {
            let mut digits = bcd_digits(left);
            // The filler behind an odd number may be 0.
            if is_odd && digits.len().is_multiple_of(2) {
                digits.pop();
            }
            digits
        });
        Some(Self {
            indicator,
            point,
            subsystem,
            translation,
            plan,
            nature,
            digits,
        })
    }

    fn show(self, field: &mut DecodedField) {
        let form = self.indicator >> 2 & 0x0F;
        let routing = if self.indicator & 0x40 == 0 {
            "routed by global title"
        } else {
            "routed by subsystem"
        };
        field.meaning = match self.subsystem {
            Some(number) => format!("{routing}, {}", subsystem(number)),
            None => routing.to_owned(),
        };
        if let Some(digits) = &self.digits {
            field.set_string(digits);
        }
        let indicator = format!("0x{:02X}", self.indicator);
        let meaning = format!("{routing}, global title of form {form}");
        let point = |code: u16| m3ua::detail("point code", code, &m3ua::point(code.into()));
        let plan = |octet: u8| {
            let shown = format!("0x{octet:02X}");
            m3ua::detail("plan and coding", shown, numbering_plan(octet >> 4))
        };
        let nature = |octet: u8| m3ua::detail("nature", octet, nature_of_address(octet));
        let details = [
            Some(m3ua::detail("indicator", indicator, &meaning)),
            self.point.map(point),
            (self.subsystem).map(|number| m3ua::detail("SSN", number, subsystem(number))),
            (self.translation).map(|octet| m3ua::detail("TT", octet, "translation type")),
            self.plan.map(plan),
            self.nature.map(|octet| nature(octet & 0x7F)),
        ];
        field.details = details.into_iter().flatten().collect();
    }
}

/// Protocol class and what happens when it cannot be delivered (§3.6).
fn class(octet: u8) -> &'static str {
    match (octet & 0x0F, octet >> 4) {
        (0, 0) => "class 0: any order, discarded on error",
        (0, 8) => "class 0: any order, returned on error",
        (1, 0) => "class 1: in order, discarded on error",
        (1, 8) => "class 1: in order, returned on error",
        _ => "no class known",
    }
}

/// Subsystem numbers (§3.4.2.2; 3GPP TS 23.003 §8).
fn subsystem(number: u8) -> &'static str {
    match number {
        ssn::NONE => "subsystem not known",
        ssn::MANAGEMENT => "SCCP management",
        5 => "MAP",
        ssn::HLR => "HLR",
        ssn::VLR => "VLR",
        ssn::MSC => "MSC",
        9 => "EIR",
        10 => "AuC",
        145 => "GMLC",
        146 => "CAP",
        147 => "gsmSCF or IM-SSF",
        ssn::SGSN => "SGSN",
        150 => "GGSN",
        _ => "another subsystem",
    }
}

/// Numbering plan of a global title (§3.4.2.3.3).
fn numbering_plan(plan: u8) -> &'static str {
    match plan {
        PLAN_E164 => "ISDN (E.164)",
        6 => "land mobile (E.212)",
        7 => "ISDN/mobile (E.214)",
        14 => "private",
        _ => "another plan",
    }
}

/// Nature of address (§3.4.2.3.1).
fn nature_of_address(nature: u8) -> &'static str {
    match nature {
        1 => "subscriber number",
        2 => "national, reserved",
        3 => "national",
        NATURE_INTERNATIONAL => "international",
        _ => "another nature",
    }
}
