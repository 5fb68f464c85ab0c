//! The dialogue portion: AARQ, AARE and ABRT, by which both ends agree on an application context.
//! Q.773 §3.2; Q.774 §3.2.1, §3.2.3.
//!
//! ```text
//! 6B [28 EXTERNAL [06 dialogue-as 0.0.17.773.1.1.1] [A0 [60 AARQ | 61 AARE | 64 ABRT]]]
//! ```

use bytes::Bytes;

use crate::ber::{self, BerElement, BerElements, MalformedBer};
use crate::context::{ApplicationContext, ContextName};

/// The dialogue portion of a message.
pub(crate) const DIALOGUE_PORTION: u32 = 0x6B;

const AARQ: u32 = 0x60;
const AARE: u32 = 0x61;
const ABRT: u32 = 0x64;
const PROTOCOL_VERSION: u32 = 0x80;
const ABORT_SOURCE: u32 = 0x80;
const CONTEXT_NAME: u32 = 0xA1;
const RESULT: u32 = 0xA2;
const DIAGNOSTIC: u32 = 0xA3;
const BY_USER: u32 = 0xA1;
const BY_PROVIDER: u32 = 0xA2;
const USER_INFORMATION: u32 = 0xBE;
const SINGLE_ASN1_TYPE: u32 = 0xA0;

/// dialogue-as-id, `0.0.17.773.1.1.1`.
const DIALOGUE_AS: [u8; 7] = [0x00, 0x11, 0x86, 0x05, 0x01, 0x01, 0x01];
/// map-DialogueAS, `0.4.0.0.1.1.1.1`: what MAP adds to a refusal.
const MAP_DIALOGUE_AS: [u8; 7] = [0x04, 0x00, 0x00, 0x01, 0x01, 0x01, 0x01];
/// map-refuse, a member of MAP-DialoguePDU: 3GPP TS 29.002 §17.4
const MAP_REFUSE: u32 = 0xA3;
/// version1 as a BIT STRING: seven bits are not used.
const VERSION_1: [u8; 2] = [0x07, 0x80];

/// Why the diagnostic of an AARE says what it says. Q.773 §3.2
pub(crate) mod diagnostic {
    /// no-reason-given, by the user.
    pub(crate) const NO_REASON: u8 = 1;
    /// application-context-name-not-supported, by the user.
    pub(crate) const CONTEXT_NOT_SUPPORTED: u8 = 2;
    /// no-common-dialogue-portion, by the provider.
    pub(crate) const NO_COMMON_PORTION: u8 = 2;
}

/// What a dialogue portion holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DialoguePdu {
    /// AARQ, in a Begin: what the dialogue is to be about.
    Request {
        /// The context.
        context: ContextName,
        /// Whether version 1 of the dialogue portion is among those that the peer knows.
        has_version_1: bool,
    },
    /// AARE, in what answers a Begin first.
    Response {
        /// The context; in a refusal one that would be accepted, or the refused one.
        context: ContextName,
        /// Whether it was accepted.
        outcome: AssociateOutcome,
        /// What the user added: EXTERNALs, one behind the other. Empty for none.
        information: Bytes,
    },
    /// ABRT, in an Abort.
    Abort {
        /// Whether the user aborts, not the provider.
        is_by_user: bool,
        /// What the user added: EXTERNALs, one behind the other. Empty for none.
        information: Bytes,
    },
}

/// The result of an AARE, with its diagnostic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AssociateOutcome {
    /// accepted
    Accepted,
    /// reject-permanent by the user: 0 null, 1 no reason given, 2 application context name not supported.
    RefusedByUser(u8),
    /// reject-permanent by the provider: 0 null, 1 no reason given, 2 no common dialogue portion.
    RefusedByProvider(u8),
}

/// The dialogue portion is none of Q.773: "abnormal dialogue".
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the dialogue portion cannot be read")]
pub struct MalformedDialogue;

// === impl DialoguePdu ===

impl DialoguePdu {
    /// An AARQ.
    #[must_use]
    pub fn request(context: ContextName) -> Self {
        Self::Request {
            context,
            has_version_1: true,
        }
    }

    /// An AARE that accepts.
    #[must_use]
    pub fn accept(context: ContextName) -> Self {
        Self::Response {
            context,
            outcome: AssociateOutcome::Accepted,
            information: Bytes::new(),
        }
    }

    /// An AARE that refuses.
    #[must_use]
    pub fn refuse(context: ContextName, outcome: AssociateOutcome) -> Self {
        Self::Response {
            context,
            outcome,
            information: Bytes::new(),
        }
    }

    /// An ABRT without user information.
    #[must_use]
    pub fn abort(is_by_user: bool) -> Self {
        Self::Abort {
            is_by_user,
            information: Bytes::new(),
        }
    }

    /// Appends the dialogue portion.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        let mut fields = Vec::with_capacity(48);
        let tag = match self {
            Self::Request { context, .. } => {
                ber::write(&mut fields, PROTOCOL_VERSION, &VERSION_1);
                write_name(&mut fields, context);
                AARQ
            }
            Self::Response {
                context,
                outcome,
                information,
            } => {
                ber::write(&mut fields, PROTOCOL_VERSION, &VERSION_1);
                write_name(&mut fields, context);
                outcome.write(&mut fields);
                write_information(&mut fields, information);
                AARE
            }
            Self::Abort {
                is_by_user,
                information,
            } => {
                ber::write_unsigned(&mut fields, ABORT_SOURCE, u8::from(!is_by_user));
                write_information(&mut fields, information);
                ABRT
            }
        };
        let mut external = ber::element(ber::OBJECT_IDENTIFIER, &DIALOGUE_AS);
        ber::write(&mut external, SINGLE_ASN1_TYPE, &ber::element(tag, &fields));
        let external = ber::element(ber::EXTERNAL, &external);
        ber::write(out, DIALOGUE_PORTION, &external);
    }

    /// Reads the content of a dialogue portion.
    ///
    /// # Errors
    /// [`MalformedDialogue`].
    pub(crate) fn read(portion: &[u8]) -> Result<Self, MalformedDialogue> {
        let apdu = single_type_of(portion, &DIALOGUE_AS)?;
        let mut fields = BerElements::of(apdu.content);
        let pdu = match apdu.tag {
            AARQ => {
                let has_version_1 = read_version(&mut fields)?;
                let context = read_name(&mut fields)?;
                read_information(&mut fields)?;
                Self::Request {
                    context,
                    has_version_1,
                }
            }
            AARE => {
                // Q.774 §3.2.3: another version is none in an answer.
                if !read_version(&mut fields)? {
                    return Err(MalformedDialogue);
                }
                Self::Response {
                    context: read_name(&mut fields)?,
                    outcome: AssociateOutcome::read(&mut fields)?,
                    information: read_information(&mut fields)?,
                }
            }
            ABRT => {
                let source = fields.expect(ABORT_SOURCE)?;
                Self::Abort {
                    is_by_user: unsigned(&source)? == 0,
                    information: read_information(&mut fields)?,
                }
            }
            _ => return Err(MalformedDialogue),
        };
        // What later versions add behind the fields would follow here; there is none.
        fields.is_empty().then_some(pdu).ok_or(MalformedDialogue)
    }
}

// === impl AssociateOutcome ===

impl AssociateOutcome {
    fn write(self, out: &mut Vec<u8>) {
        let (result, source, diagnostic) = match self {
            Self::Accepted => (0, BY_USER, 0),
            Self::RefusedByUser(diagnostic) => (1, BY_USER, diagnostic),
            Self::RefusedByProvider(diagnostic) => (1, BY_PROVIDER, diagnostic),
        };
        ber::write(out, RESULT, &unsigned_element(result));
        let diagnostic = ber::element(source, &unsigned_element(diagnostic));
        ber::write(out, DIAGNOSTIC, &diagnostic);
    }

    fn read(fields: &mut BerElements<'_>) -> Result<Self, MalformedDialogue> {
        let result = fields.expect(RESULT)?;
        let result = BerElements::of(result.content).expect(ber::INTEGER)?;
        let is_accepted = unsigned(&result)? == 0;
        let source = ber::only(fields.expect(DIAGNOSTIC)?.content)?;
        let diagnostic = ber::only(source.content)?;
        if diagnostic.tag != ber::INTEGER {
            return Err(MalformedDialogue);
        }
        let diagnostic = unsigned(&diagnostic)?;
        match source.tag {
            BY_USER | BY_PROVIDER if is_accepted => Ok(Self::Accepted),
            BY_USER => Ok(Self::RefusedByUser(diagnostic)),
            BY_PROVIDER => Ok(Self::RefusedByProvider(diagnostic)),
            _ => Err(MalformedDialogue),
        }
    }
}

// === impl MalformedDialogue ===

impl From<MalformedBer> for MalformedDialogue {
    fn from(_: MalformedBer) -> Self {
        Self
    }
}

/// The context that a refusal offers instead of `offered`: the one of map-refuse, otherwise that of the AARE if
/// it is another. 3GPP TS 29.002 §17.4, §15.1.2
pub(crate) fn alternative_of(
    offered: ApplicationContext,
    context: &ContextName,
    information: &[u8],
) -> Option<ApplicationContext> {
    let alternative = map_alternative(information).unwrap_or_else(|| context.clone());
    alternative.known().filter(|context| *context != offered)
}

/// alternativeApplicationContext of a map-refuse.
fn map_alternative(information: &[u8]) -> Option<ContextName> {
    let refuse = single_type_of(information, &MAP_DIALOGUE_AS).ok()?;
    if refuse.tag != MAP_REFUSE {
        return None;
    }
    let mut fields = BerElements::of(refuse.content).map_while(Result::ok);
    let name = fields.find(|field| field.tag == ber::OBJECT_IDENTIFIER)?;
    Some(ContextName(Bytes::copy_from_slice(name.content)))
}

/// What an EXTERNAL of this abstract syntax holds as its single ASN.1 type.
fn single_type_of<'a>(
    external: &'a [u8],
    syntax: &[u8],
) -> Result<BerElement<'a>, MalformedDialogue> {
    let external = ber::only(external)?;
    if external.tag != ber::EXTERNAL {
        return Err(MalformedDialogue);
    }
    let mut fields = BerElements::of(external.content);
    if fields.expect(ber::OBJECT_IDENTIFIER)?.content != syntax {
        return Err(MalformedDialogue);
    }
    let single = fields.expect(SINGLE_ASN1_TYPE)?;
    if !fields.is_empty() {
        return Err(MalformedDialogue);
    }
    Ok(ber::only(single.content)?)
}

/// Whether version 1 is offered, as it also is when the field is left out.
fn read_version(fields: &mut BerElements<'_>) -> Result<bool, MalformedDialogue> {
    let Some(version) = fields.next_if(PROTOCOL_VERSION)? else {
        return Ok(true);
    };
    // The first octet counts the bits that are not used; version1 is the first bit behind it.
    match version.content {
        [0] => Ok(false),
        [0..=7, bits, ..] => Ok(bits & 0x80 != 0),
        _ => Err(MalformedDialogue),
    }
}

fn read_name(fields: &mut BerElements<'_>) -> Result<ContextName, MalformedDialogue> {
    let name = ber::only(fields.expect(CONTEXT_NAME)?.content)?;
    if name.tag != ber::OBJECT_IDENTIFIER || name.content.is_empty() {
        return Err(MalformedDialogue);
    }
    Ok(ContextName(Bytes::copy_from_slice(name.content)))
}

fn write_name(out: &mut Vec<u8>, name: &ContextName) {
    let name = ber::element(ber::OBJECT_IDENTIFIER, &name.0);
    ber::write(out, CONTEXT_NAME, &name);
}

fn read_information(fields: &mut BerElements<'_>) -> Result<Bytes, MalformedDialogue> {
    let information = fields.next_if(USER_INFORMATION)?;
    Ok(information.map_or_else(Bytes::new, |found| Bytes::copy_from_slice(found.content)))
}

fn write_information(out: &mut Vec<u8>, information: &[u8]) {
    if !information.is_empty() {
        ber::write(out, USER_INFORMATION, information);
    }
}

fn unsigned(element: &BerElement<'_>) -> Result<u8, MalformedDialogue> {
    let value = ber::integer(element.content).ok_or(MalformedDialogue)?;
    u8::try_from(value).map_err(|_| MalformedDialogue)
}

fn unsigned_element(value: u8) -> Vec<u8> {
    let mut out = Vec::with_capacity(4);
    ber::write_unsigned(&mut out, ber::INTEGER, value);
    out
}

#[cfg(test)]
mod tests;
