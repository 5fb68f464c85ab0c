//! Components: operations that are invoked, their results and errors, and rejects of what cannot be taken.
//! Q.773 §3.1, tables 18 to 25; what is wrong with one that cannot be read is said by the problem codes of Q.772 §3.7.
//!
//! Operations and errors have local codes of one octet, as all of MAP's for short messages. Parameters pass as
//! they are, but for their lengths, which a reader gets in definite form.

use std::time::Duration;

use bytes::Bytes;

use crate::ber::{self, BerElement, BerElements, MalformedBer};

/// The component portion of a message.
pub const COMPONENT_PORTION: u32 = 0x6C;

/// Most components of a message that are read; those of short messages have two.
const COMPONENTS_MAX: usize = 32;

/// Tags of the components.
pub const INVOKE: u32 = 0xA1;
pub const RESULT_LAST: u32 = 0xA2;
pub const ERROR: u32 = 0xA3;
pub const REJECT: u32 = 0xA4;
pub const RESULT_NOT_LAST: u32 = 0xA7;
/// The id of another invoke, behind that of an invoke.
pub const LINKED_ID: u32 = 0x80;

/// One component.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Component {
    /// An operation is asked for.
    Invoke(Invoke),
    /// An operation succeeded.
    Result {
        /// The id of its invoke.
        id: i8,
        /// Whether no further result of it follows.
        is_last: bool,
        /// The operation, which a result without a parameter does not name.
        operation: Option<u8>,
        /// BER of the result, one element; empty for none. Written only beside an operation.
        parameter: Bytes,
    },
    /// An operation failed.
    Error {
        /// The id of its invoke.
        id: i8,
        /// The local code of the error.
        code: u8,
        /// BER of its parameter, one element; empty for none.
        parameter: Bytes,
    },
    /// The peer could not take a component.
    Reject {
        /// The id of the rejected component, if it could be read.
        id: Option<i8>,
        /// What was wrong with it.
        problem: RejectProblem,
    },
    /// What came and could not be read: TC-L-REJECT. A Reject goes to the peer with the next message of the
    /// dialogue. Never written.
    Unreadable {
        /// The id that it has, if that could be read.
        id: Option<i8>,
        /// What it is, if that could be read. A `Result` or an `Error` was the answer to the invoke of this id.
        of: Option<ComponentKind>,
        /// What is wrong with it.
        problem: RejectProblem,
    },
}

/// An operation that is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invoke {
    /// What the answer repeats; one of its kind among those that wait in a dialogue.
    pub id: i8,
    /// The local code of the operation.
    pub operation: u8,
    /// BER of the argument, one element; empty for none.
    pub parameter: Bytes,
    /// How long to wait for the answer; zero when none is awaited, and in what was read.
    pub timeout: Duration,
}

/// The kinds of components.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ComponentKind {
    Invoke,
    Result,
    Error,
    Reject,
}

/// What is wrong with a rejected component: a class and a code. Q.772 §3.7, Q.773 table 25
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RejectProblem {
    /// 0 unrecognized, 1 mistyped, 2 badly structured component.
    General(u8),
    /// 0 duplicate id, 1 unrecognized operation, 2 mistyped parameter, 3 resource limitation, 4 initiating
    /// release, 5 unrecognized linked id, 6 linked response unexpected, 7 unexpected linked operation.
    Invoke(u8),
    /// 0 unrecognized id, 1 result unexpected, 2 mistyped parameter.
    Result(u8),
    /// 0 unrecognized id, 1 error unexpected, 2 unrecognized error, 3 unexpected error, 4 mistyped parameter.
    Error(u8),
}

// === impl RejectProblem ===

impl RejectProblem {
    pub const UNRECOGNIZED_COMPONENT: Self = Self::General(0);
    pub const MISTYPED_COMPONENT: Self = Self::General(1);
    pub const BADLY_STRUCTURED_COMPONENT: Self = Self::General(2);
    pub const DUPLICATE_INVOKE_ID: Self = Self::Invoke(0);
    pub const UNRECOGNIZED_OPERATION: Self = Self::Invoke(1);
    pub const MISTYPED_INVOKE_PARAMETER: Self = Self::Invoke(2);
    pub const RESOURCE_LIMITATION: Self = Self::Invoke(3);
    pub const LINKED_RESPONSE_UNEXPECTED: Self = Self::Invoke(6);
    pub const RESULT_OF_UNRECOGNIZED_ID: Self = Self::Result(0);
    pub const RESULT_UNEXPECTED: Self = Self::Result(1);
    pub const MISTYPED_RESULT_PARAMETER: Self = Self::Result(2);
    pub const ERROR_OF_UNRECOGNIZED_ID: Self = Self::Error(0);
    pub const UNRECOGNIZED_ERROR: Self = Self::Error(2);
    pub const MISTYPED_ERROR_PARAMETER: Self = Self::Error(4);

    /// Its class as the number of its tag, and its code.
    #[must_use]
    pub fn class_and_code(self) -> (u8, u8) {
        match self {
            Self::General(code) => (0, code),
            Self::Invoke(code) => (1, code),
            Self::Result(code) => (2, code),
            Self::Error(code) => (3, code),
        }
    }
}

impl From<MalformedBer> for RejectProblem {
    /// Elements that can be read and are not those of the component are mistyped.
    fn from(malformed: MalformedBer) -> Self {
        match malformed {
            MalformedBer::Unexpected => Self::MISTYPED_COMPONENT,
            _ => Self::BADLY_STRUCTURED_COMPONENT,
        }
    }
}

// === impl Component ===

impl Component {
    /// The last result of an invoke.
    #[must_use]
    pub fn result(id: i8, operation: u8, parameter: Bytes) -> Self {
        Self::Result {
            id,
            is_last: true,
            operation: Some(operation),
            parameter,
        }
    }

    /// An error instead of a result.
    #[must_use]
    pub fn error(id: i8, code: u8, parameter: Bytes) -> Self {
        Self::Error {
            id,
            code,
            parameter,
        }
    }

    /// Appends it.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        let mut fields = Vec::with_capacity(32);
        let tag = match self {
            Self::Invoke(invoke) => {
                write_id(&mut fields, invoke.id);
                ber::write_unsigned(&mut fields, ber::INTEGER, invoke.operation);
                fields.extend_from_slice(&invoke.parameter);
                INVOKE
            }
            Self::Result {
                id,
                is_last,
                operation,
                parameter,
            } => {
                write_id(&mut fields, *id);
                if let Some(operation) = operation.filter(|_| !parameter.is_empty()) {
                    let mut result = Vec::with_capacity(parameter.len() + 4);
                    ber::write_unsigned(&mut result, ber::INTEGER, operation);
                    result.extend_from_slice(parameter);
                    ber::write(&mut fields, ber::SEQUENCE, &result);
                }
                if *is_last {
                    RESULT_LAST
                } else {
                    RESULT_NOT_LAST
                }
            }
            Self::Error {
                id,
                code,
                parameter,
            } => {
                write_id(&mut fields, *id);
                ber::write_unsigned(&mut fields, ber::INTEGER, *code);
                fields.extend_from_slice(parameter);
                ERROR
            }
            Self::Reject { id, problem } => {
                match id {
                    Some(id) => write_id(&mut fields, *id),
                    None => ber::write(&mut fields, ber::NULL, &[]),
                }
                let (class, code) = problem.class_and_code();
                ber::write_unsigned(&mut fields, 0x80 | u32::from(class), code);
                REJECT
            }
            Self::Unreadable { .. } => return,
        };
        ber::write(out, tag, &fields);
    }
}

/// The components that a portion holds. The first that is not well formed is the last: Q.774 §3.2.2.2 discards
/// those behind it. One more than [`COMPONENTS_MAX`] counts as not well formed: each takes a peer few octets, and us an answer.
pub(crate) fn read_components(portion: &[u8]) -> Vec<Component> {
    let (mut components, mut rest) = (Vec::new(), portion);
    while !rest.is_empty() {
        if components.len() == COMPONENTS_MAX {
            components.push(Component::Unreadable {
                id: None,
                of: None,
                problem: RejectProblem::BADLY_STRUCTURED_COMPONENT,
            });
            break;
        }
        let component = match ber::first(rest) {
            Ok((element, behind)) => {
                rest = behind;
                read_component(&element)
            }
            Err(_) => {
                let (tag, content) = ber::opened(rest).unwrap_or((0, &[]));
                let of = kind_of(tag);
                Component::Unreadable {
                    id: of.and_then(|_| id_of(content)),
                    of,
                    problem: RejectProblem::BADLY_STRUCTURED_COMPONENT,
                }
            }
        };
        let is_malformed = matches!(
            &component,
            Component::Unreadable {
                problem: RejectProblem::General(_),
                ..
            }
        );
        components.push(component);
        if is_malformed {
            break;
        }
    }
    components
}

fn read_component(element: &BerElement<'_>) -> Component {
    let fields = BerElements::of(element.content);
    let read = match element.tag {
        INVOKE => read_invoke(fields),
        RESULT_LAST => read_result(fields, true),
        RESULT_NOT_LAST => read_result(fields, false),
        ERROR => read_error(fields),
        REJECT => read_reject(fields),
        _ => Err(RejectProblem::UNRECOGNIZED_COMPONENT),
    };
    read.unwrap_or_else(|problem| {
        let of = kind_of(element.tag);
        Component::Unreadable {
            id: of.and_then(|_| id_of(element.content)),
            of,
            problem,
        }
    })
}

fn kind_of(tag: u32) -> Option<ComponentKind> {
    Some(match tag {
        INVOKE => ComponentKind::Invoke,
        RESULT_LAST | RESULT_NOT_LAST => ComponentKind::Result,
        ERROR => ComponentKind::Error,
        REJECT => ComponentKind::Reject,
        _ => return None,
    })
}

fn read_invoke(mut fields: BerElements<'_>) -> Result<Component, RejectProblem> {
    let id = read_id(&mut fields)?;
    if let Some(linked) = fields.next_if(LINKED_ID)? {
        small(&linked)?;
        // No operation of ours has linked ones.
        return Err(RejectProblem::LINKED_RESPONSE_UNEXPECTED);
    }
    let operation = read_code(&mut fields)?;
    let parameter = read_parameter(&fields)?;
    Ok(Component::Invoke(Invoke {
        id,
        operation: operation.ok_or(RejectProblem::UNRECOGNIZED_OPERATION)?,
        parameter,
        timeout: Duration::ZERO,
    }))
}

fn read_result(mut fields: BerElements<'_>, is_last: bool) -> Result<Component, RejectProblem> {
    let id = read_id(&mut fields)?;
    let (mut operation, mut parameter) = (None, Bytes::new());
    if let Some(result) = fields.next_if(ber::SEQUENCE)? {
        let mut result = BerElements::of(result.content);
        let code = read_code(&mut result)?;
        parameter = read_parameter(&result)?;
        // A result of an operation that we do not know: we asked for none such.
        operation = Some(code.ok_or(RejectProblem::RESULT_UNEXPECTED)?);
    }
    if !fields.is_empty() {
        return Err(RejectProblem::MISTYPED_COMPONENT);
    }
    Ok(Component::Result {
        id,
        is_last,
        operation,
        parameter,
    })
}

fn read_error(mut fields: BerElements<'_>) -> Result<Component, RejectProblem> {
    let id = read_id(&mut fields)?;
    let code = read_code(&mut fields)?;
    let parameter = read_parameter(&fields)?;
    Ok(Component::Error {
        id,
        code: code.ok_or(RejectProblem::UNRECOGNIZED_ERROR)?,
        parameter,
    })
}

fn read_reject(mut fields: BerElements<'_>) -> Result<Component, RejectProblem> {
    let id = match fields.next_if(ber::NULL)? {
        Some(null) if null.content.is_empty() => None,
        Some(_) => return Err(RejectProblem::MISTYPED_COMPONENT),
        None => Some(read_id(&mut fields)?),
    };
    let problem = ber::only(fields.rest())?;
    let code = ber::integer(problem.content).and_then(|code| u8::try_from(code).ok());
    let code = code.ok_or(RejectProblem::MISTYPED_COMPONENT)?;
    let problem = match problem.tag {
        0x80 => RejectProblem::General(code),
        0x81 => RejectProblem::Invoke(code),
        0x82 => RejectProblem::Result(code),
        0x83 => RejectProblem::Error(code),
        _ => return Err(RejectProblem::MISTYPED_COMPONENT),
    };
    Ok(Component::Reject { id, problem })
}

/// The id of a component whose other fields may be unreadable.
fn id_of(content: &[u8]) -> Option<i8> {
    read_id(&mut BerElements::of(content)).ok()
}

fn read_id(fields: &mut BerElements<'_>) -> Result<i8, RejectProblem> {
    small(&fields.expect(ber::INTEGER)?)
}

/// InvokeIdType: an INTEGER of one octet.
fn small(element: &BerElement<'_>) -> Result<i8, RejectProblem> {
    match element.content {
        [octet] => Ok(i8::from_ne_bytes([*octet])),
        _ => Err(RejectProblem::MISTYPED_COMPONENT),
    }
}

fn write_id(out: &mut Vec<u8>, id: i8) {
    ber::write(out, ber::INTEGER, &id.to_ne_bytes());
}

/// The code of an operation or error; `None` for a global one, and for one that is not within an octet.
fn read_code(fields: &mut BerElements<'_>) -> Result<Option<u8>, RejectProblem> {
    if fields.next_if(ber::OBJECT_IDENTIFIER)?.is_some() {
        return Ok(None);
    }
    let code = fields.expect(ber::INTEGER)?;
    if code.content.is_empty() {
        return Err(RejectProblem::MISTYPED_COMPONENT);
    }
    Ok(ber::integer(code.content).and_then(|code| u8::try_from(code).ok()))
}

/// What is left of the fields: one element, or nothing. It is copied, so that it does not keep a whole message
/// in memory.
fn read_parameter(fields: &BerElements<'_>) -> Result<Bytes, RejectProblem> {
    if fields.is_empty() {
        return Ok(Bytes::new());
    }
    let parameter = ber::only(fields.rest())?.whole;
    Ok(ber::definite(parameter).map_or_else(|| Bytes::copy_from_slice(parameter), Bytes::from))
}

#[cfg(test)]
pub(crate) mod tests;
