//! TCAP messages with MAP, element by element (ITU-T Q.773 §3; 3GPP TS 29.002 §17), and the TPDUs in them.
//!
//! Each element of BER is a field: one that is made of elements has its head there, and those behind it. The operation of a
//! component says what its elements are called.

use bytes::Bytes;

use super::ber::{self, INTEGER, NULL, OBJECT_IDENTIFIER, PlacedElement, SEQUENCE};
use super::operations::{self, Carried};
use super::shape::{self, Member, Shape};
use crate::decode::report::{DecodeReport, DecodedField, FieldDetail};
use crate::decode::{hex, tpdu};
use smsc_sms::tpdu::address::bcd_digits;
use smsc_sms::tpdu::{Direction, TpduAddress, TpduKind};
use smsc_tcap::component::{
    COMPONENT_PORTION, ERROR, INVOKE, LINKED_ID, REJECT, RESULT_LAST, RESULT_NOT_LAST,
};
use smsc_tcap::message::TcapMessageType;

/// Whether a message begins so.
pub fn is_message(first: u8) -> bool {
    name(first.into()).is_some()
}

fn name(tag: u32) -> Option<&'static str> {
    TcapMessageType::of(tag).map(TcapMessageType::name)
}

/// Explains a message whose first octet is number `base` of what was given, and the TPDUs in it.
pub fn explain(octets: &Bytes, base: usize) -> Vec<DecodeReport> {
    let mut walk = Walk {
        report: DecodeReport::new("tcap", "TCAP message", octets, base),
        operations: Vec::new(),
        tpdus: Vec::new(),
        depth: 0,
    };
    let message = match ber::first(octets) {
        Ok(message) if name(message.tag).is_some() => message,
        Ok(message) => {
            let text = format!("0x{:02X} is no message of TCAP", message.tag);
            walk.unread(octets, base, "message", &text, base);
            return vec![walk.report];
        }
        Err(problem) => {
            walk.unread(octets, base, "message", &problem.to_string(), base);
            return vec![walk.report];
        }
    };
    let title = name(message.tag).unwrap_or_default();
    walk.head(&message, base, title, "Q.773 §3.1");
    walk.members(&message.value, base + message.head, shape::MESSAGE);
    walk.end(&message, base);
    let behind = octets.slice(message.octets()..);
    if !behind.is_empty() {
        let at = base + message.octets();
        walk.unread(&behind, at, "message", "octets behind its end", at);
    }
    walk.finished(title)
}

/// What was found so far.
struct Walk {
    report: DecodeReport,
    /// Names for the title.
    operations: Vec<String>,
    tpdus: Vec<FoundTpdu>,
    depth: usize,
}

/// A TPDU and the octets around it that say which it is.
struct FoundTpdu {
    at: usize,
    octets: Bytes,
    which: tpdu::ExpectedTpdu,
}

// === impl Walk ===

impl Walk {
    fn finished(mut self, title: &str) -> Vec<DecodeReport> {
        let mut titles = vec![format!("TCAP {title}")];
        titles.append(&mut self.operations);
        self.report.title = titles.join(", ");
        let mut reports = vec![self.report];
        let tpdus = self.tpdus.into_iter();
        reports.extend(tpdus.map(|found| tpdu::explain(&found.octets, found.at, found.which)));
        reports
    }

    /// Notes the head of an element that is made of elements.
    fn head(&mut self, element: &PlacedElement, at: usize, name: &str, defined: &str) {
        let mut field = DecodedField::hex(at, name, &[]);
        field.octets = element.head;
        field.shown = hex::counted(element.value.len(), "octet");
        field.value = field.shown.clone().into();
        field.section = section(defined);
        self.report.note(field);
    }

    /// Notes the end of an element without a length.
    fn end(&mut self, element: &PlacedElement, at: usize) {
        if element.end > 0 {
            let at = at + element.octets() - element.end;
            let mut field = DecodedField::hex(at, "end of contents", &[0, 0]);
            field.octets = element.end;
            self.report.note(field);
        }
    }

    fn unread(&mut self, octets: &Bytes, at: usize, field: &str, text: &str, problem: usize) {
        self.report.problem(problem, field, text);
        if !octets.is_empty() {
            self.report
                .note(DecodedField::hex(at, "(not read)", octets));
        }
    }

    /// Goes over the elements of a value; `each` gets every one with its place.
    fn each(
        &mut self,
        value: &Bytes,
        base: usize,
        mut each: impl FnMut(&mut Self, PlacedElement, usize),
    ) {
        if self.depth == ber::DEEPEST {
            let text = "too many elements within elements";
            self.unread(value, base, "element", text, base);
            return;
        }
        self.depth += 1;
        let mut at = 0;
        while at < value.len() {
            let left = value.slice(at..);
            match ber::first(&left) {
                Ok(element) => {
                    let octets = element.octets();
                    each(self, element, base + at);
                    at += octets;
                }
                Err(problem) => {
                    self.unread(&left, base + at, "element", &problem.to_string(), base + at);
                    break;
                }
            }
        }
        self.depth -= 1;
    }

    /// Goes over elements that are named by a table, each by the first of its tag behind the one before.
    fn members(&mut self, value: &Bytes, base: usize, members: &'static [Member]) {
        self.parameters(value, base, members, None);
    }

    /// As [`Self::members`], for what an operation carries.
    fn parameters(
        &mut self,
        value: &Bytes,
        base: usize,
        members: &'static [Member],
        which: Option<tpdu::ExpectedTpdu>,
    ) {
        let mut next = 0;
        self.each(value, base, |walk, element, at| {
            let is_it = |member: &&Member| member.tag == element.tag;
            let behind = members.get(next..).unwrap_or_default();
            let place = behind.iter().position(|member| is_it(&member));
            let found = match place {
                Some(place) => {
                    let found = members.get(next + place);
                    next += place + 1;
                    // Of a choice there is one.
                    let choice = found.and_then(Member::choice);
                    let is_other = |member: &&Member| choice.is_some() && member.choice() == choice;
                    let behind = members.get(next..).unwrap_or_default();
                    next += behind.iter().take_while(is_other).count();
                    found
                }
                None => members.iter().find(is_it),
            };
            walk.element(&element, at, found, which);
        });
    }

    /// Notes one element, and those that it is made of.
    fn element(
        &mut self,
        element: &PlacedElement,
        at: usize,
        member: Option<&Member>,
        which: Option<tpdu::ExpectedTpdu>,
    ) {
        let unnamed = format!("element 0x{:02X}", element.tag);
        let (name, defined) = match member {
            Some(member) => (member.name, member.section),
            None => (unnamed.as_str(), ""),
        };
        let shape = member.map_or(Shape::Octets, |member| member.shape);
        if element.is_constructed {
            self.head(element, at, name, defined);
            let inner = at + element.head;
            match shape {
                _ if element.tag == COMPONENT_PORTION => self.components(&element.value, inner),
                Shape::Sequence(members) => self.parameters(&element.value, inner, members, which),
                _ => self.members(&element.value, inner, &[]),
            }
            self.end(element, at);
            return;
        }
        let mut field = DecodedField::hex(at, name, &element.value);
        field.octets = element.octets();
        field.section = section(defined);
        if let Err(text) = read(&mut field, shape, &element.value) {
            self.report.problem(at, name, text);
        }
        if let Shape::Tpdu = shape
            && !element.value.is_empty()
            && let Some(which) = which.or_else(|| of_error(&element.value))
        {
            self.tpdus.push(FoundTpdu {
                at: at + element.head,
                octets: element.value.clone(),
                which,
            });
        }
        self.report.note(field);
    }

    fn components(&mut self, value: &Bytes, base: usize) {
        self.each(value, base, |walk, element, at| {
            let name = match element.tag {
                INVOKE => "invoke",
                RESULT_LAST => "returnResultLast",
                RESULT_NOT_LAST => "returnResultNotLast",
                ERROR => "returnError",
                REJECT => "reject",
                _ => "component",
            };
            if !element.is_constructed {
                walk.element(&element, at, None, None);
                return;
            }
            walk.head(&element, at, name, "Q.773 §3.3");
            walk.component(element.tag, &element.value, at + element.head);
            walk.end(&element, at);
        });
    }

    /// What a component is made of: ids, an operation or error, and what that carries.
    fn component(&mut self, kind: u32, value: &Bytes, base: usize) {
        let mut has_id = false;
        let mut code = None;
        self.each(value, base, |walk, element, at| match (kind, element.tag) {
            // NULL stands for one that could not be read.
            (_, INTEGER | NULL) if !has_id => {
                has_id = true;
                walk.number(&element, at, "invoke id", |_| String::new());
            }
            (INVOKE, LINKED_ID) if code.is_none() => {
                walk.number(&element, at, "linked id", |_| String::new());
            }
            (INVOKE, INTEGER) if code.is_none() => {
                code = Some(walk.operation(&element, at));
            }
            (ERROR, INTEGER) if code.is_none() => {
                let name = |code| operations::error(code).to_owned();
                let number = walk.number(&element, at, "error", name);
                code = Some(number);
                walk.operations.push(format!(
                    "MAP {}",
                    numbered(operations::error(number), number)
                ));
            }
            (INVOKE | ERROR, OBJECT_IDENTIFIER) if code.is_none() => {
                code = Some(-1);
                let member =
                    shape::member(OBJECT_IDENTIFIER, "global code", Shape::ObjectIdentifier);
                walk.element(&element, at, Some(&member), None);
            }
            (REJECT, tag) => {
                walk.number(&element, at, "problem", |code| {
                    operations::problem(tag, code).to_owned()
                });
            }
            (RESULT_NOT_LAST | RESULT_LAST, SEQUENCE) => {
                walk.head(&element, at, "result", "Q.773 §3.3");
                walk.result(&element.value, at + element.head);
                walk.end(&element, at);
            }
            (INVOKE, _) => walk.carried(code, Carried::Argument, &element, at),
            (ERROR, _) => walk.carried(code, Carried::Error, &element, at),
            _ => walk.element(&element, at, None, None),
        });
    }

    fn result(&mut self, value: &Bytes, base: usize) {
        let mut code = None;
        self.each(value, base, |walk, element, at| match element.tag {
            INTEGER if code.is_none() => code = Some(walk.operation(&element, at)),
            _ => walk.carried(code, Carried::Result, &element, at),
        });
    }

    fn operation(&mut self, element: &PlacedElement, at: usize) -> i32 {
        let code = self.number(element, at, "operation", |code| {
            operations::operation(code).to_owned()
        });
        let name = numbered(operations::operation(code), code);
        self.operations.push(format!("MAP {name}"));
        code
    }

    /// Notes a number and gives it; -1 for one that cannot be read.
    fn number(
        &mut self,
        element: &PlacedElement,
        at: usize,
        name: &str,
        meaning: impl Fn(i32) -> String,
    ) -> i32 {
        let mut field = DecodedField::hex(at, name, &element.value);
        field.octets = element.octets();
        let number = set_number(&mut field, &element.value);
        match number {
            Ok(number) => field.meaning = meaning(number),
            Err(_) if element.value.is_empty() => {}
            Err(text) => self.report.problem(at, name, text),
        }
        self.report.note(field);
        number.unwrap_or(-1)
    }

    /// What an operation carries: a sequence, or one element alone.
    fn carried(&mut self, code: Option<i32>, carried: Carried, element: &PlacedElement, at: usize) {
        let code = code.unwrap_or(-1);
        let members = operations::members(code, carried);
        let which = which(code, carried, &element.value);
        if element.tag == SEQUENCE {
            let name = match carried {
                Carried::Argument => "argument",
                Carried::Result => "result of the operation",
                Carried::Error => "parameter of the error",
            };
            self.head(element, at, name, "§17.7.6");
            self.parameters(&element.value, at + element.head, members, which);
            self.end(element, at);
        } else {
            let member = members.iter().find(|member| member.tag == element.tag);
            self.element(element, at, member, which);
        }
    }
}

/// A section with its standard.
fn section(defined: &str) -> String {
    if defined.starts_with('§') {
        format!("29.002 {defined}")
    } else {
        defined.to_owned()
    }
}

fn numbered(name: &str, code: i32) -> String {
    match name {
        "operation" | "error" => format!("{name} {code}"),
        _ => name.to_owned(),
    }
}

/// Which TPDU an operation carries.
fn which(code: i32, carried: Carried, argument: &Bytes) -> Option<tpdu::ExpectedTpdu> {
    use tpdu::ExpectedTpdu::{Any, One};
    // Operation 46 is that of both directions in versions 1 and 2: who is the service centre says which.
    let is_to_service_centre = || {
        let first = ber::first(argument).map(|element| element.tag);
        code == operations::FORWARD_SM && first == Ok(operations::SERVICE_CENTRE)
    };
    match (carried, code) {
        (Carried::Argument, _) if is_to_service_centre() => Some(Any(Direction::FromPhone)),
        (Carried::Argument, _) => Some(Any(Direction::ToPhone)),
        (Carried::Result, operations::FORWARD_SM) => Some(One(TpduKind::SubmitReport)),
        (Carried::Result, _) => Some(One(TpduKind::DeliverReport)),
        (Carried::Error, _) => None,
    }
}

/// Which TPDU an error carries: its message type says whether it is a service centre's.
fn of_error(octets: &[u8]) -> Option<tpdu::ExpectedTpdu> {
    let kind = match octets.first()? & 3 {
        0 => TpduKind::DeliverReportError,
        _ => TpduKind::SubmitReportError,
    };
    Some(tpdu::ExpectedTpdu::One(kind))
}

fn set_number(field: &mut DecodedField, value: &Bytes) -> Result<i32, &'static str> {
    let number = ber::integer(value).ok_or("no number of one to four octets")?;
    field.value = number.into();
    field.shown = number.to_string();
    Ok(number)
}

/// Reads a value as its shape says.
fn read(field: &mut DecodedField, shape: Shape, value: &Bytes) -> Result<(), &'static str> {
    match shape {
        Shape::Number(names) => {
            let number = usize::try_from(set_number(field, value)?).ok();
            let name = number.and_then(|number| names.get(number));
            field.meaning = name.copied().unwrap_or_default().to_owned();
        }
        Shape::AbortCause => {
            field.meaning = operations::abort_cause(set_number(field, value)?).to_owned();
        }
        Shape::Address => {
            let address =
                TpduAddress::from_type_and_digits(value).ok_or("an address without octets")?;
            let named = tpdu::with_address(field.clone(), &address);
            *field = named;
        }
        Shape::Digits => field.set_string(&bcd_digits(value)),
        Shape::Tpdu => field.shown = hex::counted(value.len(), "octet"),
        Shape::ObjectIdentifier => {
            let name = ber::object_identifier(value).ok_or("no object identifier")?;
            field.meaning = object(&name);
            field.set_string(&name);
        }
        Shape::Truth => {
            let is_true = value.iter().any(|octet| *octet != 0);
            field.meaning = if is_true { "yes" } else { "no" }.to_owned();
        }
        Shape::Bits(names) => field.details = bits(value, names),
        Shape::Sequence(_) | Shape::Octets => {}
    }
    Ok(())
}

/// The bits of a BIT STRING, behind the octet that counts those that are not used (X.690 §8.6).
fn bits(value: &[u8], names: &[&str]) -> Vec<FieldDetail> {
    let octets = value.get(1..).unwrap_or_default();
    let bit = |(number, name): (usize, &&str)| {
        let octet = octets.get(number / 8)?;
        let is_set = octet >> (7 - number % 8) & 1;
        Some(FieldDetail::new(
            format!("bit {number}"),
            is_set.to_string(),
            *name,
        ))
    };
    names.iter().enumerate().filter_map(bit).collect()
}

/// What an object identifier of TCAP or MAP stands for.
fn object(name: &str) -> String {
    match name {
        "0.0.17.773.1.1.1" => "structured dialogue".to_owned(),
        "0.0.17.773.1.2.1" => "unstructured dialogue".to_owned(),
        "0.4.0.0.1.1.1.1" => "MAP dialogue".to_owned(),
        _ => {
            let context = name.strip_prefix("0.4.0.0.1.0.");
            match context.and_then(|context| context.split_once('.')) {
                Some((context, version)) => {
                    format!("{}, version {version}", operations::context(context))
                }
                None => String::new(),
            }
        }
    }
}
