//! Messages: Begin, Continue, End and Abort, with their transaction ids. Q.773 §3.1, tables 8 to 12
//!
//! [`TcapMessage::decode`] takes a message only if its transaction and dialogue portions are those of Q.773 to the
//! last octet; otherwise [`UnreadableMessage`] says what Q.774 §3.3.4 needs for the answer. Components that
//! cannot be read are among the components.

use bytes::Bytes;

use crate::ber::{self, BerElement, BerElements};
use crate::component::{COMPONENT_PORTION, Component, read_components};
use crate::dialogue_pdu::{DIALOGUE_PORTION, DialoguePdu};

const UNIDIRECTIONAL: u32 = 0x61;
const BEGIN: u32 = 0x62;
const END: u32 = 0x64;
const CONTINUE: u32 = 0x65;
const ABORT: u32 = 0x67;
const ORIGIN: u32 = 0x48;
const DESTINATION: u32 = 0x49;
const P_ABORT_CAUSE: u32 = 0x4A;

/// How many fields of a message are looked at; a fifth is one too many already.
const FIELDS_MAX: usize = 8;

/// A transaction id: one to four octets, which are repeated as they came.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct TransactionId {
    octets: [u8; 4],
    length: u8,
}

/// A message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TcapMessage {
    /// TC-UNI, which MAP does not use: nothing of it is kept.
    Unidirectional,
    /// TC-BEGIN
    Begin {
        origin: TransactionId,
        dialogue: Option<DialoguePdu>,
        components: Vec<Component>,
    },
    /// TC-CONTINUE
    Continue {
        origin: TransactionId,
        destination: TransactionId,
        dialogue: Option<DialoguePdu>,
        components: Vec<Component>,
    },
    /// TC-END
    End {
        destination: TransactionId,
        dialogue: Option<DialoguePdu>,
        components: Vec<Component>,
    },
    /// TC-P-ABORT, TC-U-ABORT
    Abort {
        destination: TransactionId,
        reason: AbortReason,
    },
}

/// What an Abort says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AbortReason {
    /// The provider aborts.
    Provider(PAbortCause),
    /// The user aborts, with or without a dialogue portion.
    User(Option<DialoguePdu>),
}

/// Why a provider aborts. Q.772 §2.3, Q.773 table 12; those that come from a dialogue portion are of Q.771.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PAbortCause {
    /// 0
    UnrecognizedMessageType,
    /// 1
    UnrecognizedTransactionId,
    /// 2
    BadlyFormattedTransactionPortion,
    /// 3
    IncorrectTransactionPortion,
    /// 4
    ResourceLimitation,
    /// Said by an ABRT: the dialogue portion was none, or came where there should be none.
    AbnormalDialogue,
    /// Said by an AARE: no version of the dialogue portion that both know.
    NoCommonDialoguePortion,
    /// Any other number.
    Other(u8),
}

/// The types of messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TcapMessageType {
    Unidirectional,
    Begin,
    End,
    Continue,
    Abort,
}

/// A message that cannot be read, and what can be said of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnreadableMessage {
    /// Its type; `None` when that is none of Q.773.
    pub message_type: Option<TcapMessageType>,
    /// The sender's transaction id, if it can be found.
    pub origin: Option<TransactionId>,
    /// The receiver's transaction id, if it can be found.
    pub destination: Option<TransactionId>,
    /// What is wrong.
    pub why: MessageFault,
}

/// Which portion of a message is wrong, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageFault {
    /// The transaction portion: what a P-Abort says about it.
    Transaction(PAbortCause),
    /// The dialogue portion.
    Dialogue,
}

// === impl TransactionId ===

impl TransactionId {
    /// From its octets; `None` unless there are one to four.
    #[must_use]
    pub fn new(octets: &[u8]) -> Option<Self> {
        let mut id = Self {
            octets: [0; 4],
            length: u8::try_from(octets.len()).ok()?,
        };
        if octets.is_empty() {
            return None;
        }
        id.octets.get_mut(..octets.len())?.copy_from_slice(octets);
        Some(id)
    }

    /// Its octets.
    #[must_use]
    pub fn octets(&self) -> &[u8] {
        &self.octets[..usize::from(self.length)]
    }

    /// Its number if it has four octets, as all of ours.
    #[must_use]
    pub fn number(&self) -> Option<u32> {
        (self.length == 4).then_some(u32::from_be_bytes(self.octets))
    }
}

impl From<u32> for TransactionId {
    fn from(number: u32) -> Self {
        Self {
            octets: number.to_be_bytes(),
            length: 4,
        }
    }
}

impl std::fmt::Debug for TransactionId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for octet in self.octets() {
            write!(f, "{octet:02x}")?;
        }
        Ok(())
    }
}

// === impl PAbortCause ===

impl PAbortCause {
    /// Its number in an Abort. The two of the dialogue portion have none, and become that of an incorrect
    /// transaction portion.
    #[must_use]
    pub fn number(self) -> u8 {
        match self {
            Self::UnrecognizedMessageType => 0,
            Self::UnrecognizedTransactionId => 1,
            Self::BadlyFormattedTransactionPortion => 2,
            Self::IncorrectTransactionPortion
            | Self::AbnormalDialogue
            | Self::NoCommonDialoguePortion => 3,
            Self::ResourceLimitation => 4,
            Self::Other(number) => number,
        }
    }

    /// In the words of Q.773; `None` for a number that it does not have.
    #[must_use]
    pub fn name(self) -> Option<&'static str> {
        Some(match self {
            Self::UnrecognizedMessageType => "unrecognized message type",
            Self::UnrecognizedTransactionId => "unrecognized transaction id",
            Self::BadlyFormattedTransactionPortion => "badly formatted transaction portion",
            Self::IncorrectTransactionPortion => "incorrect transaction portion",
            Self::ResourceLimitation => "resource limitation",
            Self::AbnormalDialogue => "abnormal dialogue",
            Self::NoCommonDialoguePortion => "no common dialogue portion",
            Self::Other(_) => return None,
        })
    }
}

impl From<u8> for PAbortCause {
    fn from(number: u8) -> Self {
        match number {
            0 => Self::UnrecognizedMessageType,
            1 => Self::UnrecognizedTransactionId,
            2 => Self::BadlyFormattedTransactionPortion,
            3 => Self::IncorrectTransactionPortion,
            4 => Self::ResourceLimitation,
            _ => Self::Other(number),
        }
    }
}

impl std::fmt::Display for PAbortCause {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "P-Abort cause {}", self.number()),
        }
    }
}

// === impl TcapMessageType ===

impl TcapMessageType {
    /// Of the tag of a message; `None` for one that is not of Q.773.
    #[must_use]
    pub fn of(tag: u32) -> Option<Self> {
        Some(match tag {
            UNIDIRECTIONAL => Self::Unidirectional,
            BEGIN => Self::Begin,
            END => Self::End,
            CONTINUE => Self::Continue,
            ABORT => Self::Abort,
            _ => return None,
        })
    }

    /// Its name in Q.773.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Unidirectional => "Unidirectional",
            Self::Begin => "Begin",
            Self::End => "End",
            Self::Continue => "Continue",
            Self::Abort => "Abort",
        }
    }
}

// === impl UnreadableMessage ===

impl UnreadableMessage {
    /// What is known of a message whose fields begin with `content`; a cause follows.
    fn of(message_type: Option<TcapMessageType>, content: &[u8]) -> Self {
        let id = |tag: u32| {
            let mut found = BerElements::of(content).map_while(Result::ok);
            let found = found.find(|element| element.tag == tag)?;
            TransactionId::new(found.content)
        };
        Self {
            message_type,
            origin: id(ORIGIN),
            destination: id(DESTINATION),
            why: MessageFault::Transaction(PAbortCause::UnrecognizedMessageType),
        }
    }

    fn because(self, cause: PAbortCause) -> Self {
        Self {
            why: MessageFault::Transaction(cause),
            ..self
        }
    }

    fn incorrect(self) -> Self {
        self.because(PAbortCause::IncorrectTransactionPortion)
    }

    /// The dialogue portion, if there is one.
    fn dialogue(self, fields: &mut MessageElements<'_>) -> Result<Option<DialoguePdu>, Self> {
        let Some(portion) = fields.next_if(DIALOGUE_PORTION) else {
            return Ok(None);
        };
        let pdu = DialoguePdu::read(portion.content).map_err(|_| Self {
            why: MessageFault::Dialogue,
            ..self
        })?;
        Ok(Some(pdu))
    }

    fn id(self, fields: &mut MessageElements<'_>, tag: u32) -> Result<TransactionId, Self> {
        let id = fields.next_if(tag).ok_or_else(|| self.incorrect())?;
        TransactionId::new(id.content).ok_or_else(|| self.incorrect())
    }
}

/// The fields of a message, all of them well formed.
struct MessageElements<'a>(std::iter::Peekable<std::vec::IntoIter<BerElement<'a>>>);

// === impl MessageElements ===

impl<'a> MessageElements<'a> {
    fn next_if(&mut self, tag: u32) -> Option<BerElement<'a>> {
        self.0.next_if(|element| element.tag == tag)
    }

    /// The components; nothing may be behind them.
    fn components(
        &mut self,
        fault: UnreadableMessage,
    ) -> Result<Vec<Component>, UnreadableMessage> {
        let portion = self.next_if(COMPONENT_PORTION);
        self.nothing_left(fault)?;
        Ok(portion.map_or_else(Vec::new, |portion| read_components(portion.content)))
    }

    fn nothing_left(&mut self, fault: UnreadableMessage) -> Result<(), UnreadableMessage> {
        match self.0.next() {
            None => Ok(()),
            Some(_) => Err(fault.incorrect()),
        }
    }
}

// === impl TcapMessage ===

impl TcapMessage {
    /// Reads the user data of one SCCP message.
    ///
    /// # Errors
    /// [`UnreadableMessage`].
    pub fn decode(data: &[u8]) -> Result<Self, UnreadableMessage> {
        let (tag, content) = ber::opened(data).unwrap_or((0, &[]));
        let fault = UnreadableMessage::of(TcapMessageType::of(tag), content);
        let Some(message_type) = fault.message_type else {
            return Err(fault);
        };
        let malformed = || fault.because(PAbortCause::BadlyFormattedTransactionPortion);
        let message = ber::only(data).map_err(|_| malformed())?;
        let fields = BerElements::of(message.content).take(FIELDS_MAX);
        let fields: Result<Vec<_>, _> = fields.collect();
        let mut fields = MessageElements(fields.map_err(|_| malformed())?.into_iter().peekable());
        let fields = &mut fields;
        match message_type {
            TcapMessageType::Unidirectional => Ok(Self::Unidirectional),
            TcapMessageType::Begin => Ok(Self::Begin {
                origin: fault.id(fields, ORIGIN)?,
                dialogue: fault.dialogue(fields)?,
                components: fields.components(fault)?,
            }),
            TcapMessageType::Continue => Ok(Self::Continue {
                origin: fault.id(fields, ORIGIN)?,
                destination: fault.id(fields, DESTINATION)?,
                dialogue: fault.dialogue(fields)?,
                components: fields.components(fault)?,
            }),
            TcapMessageType::End => Ok(Self::End {
                destination: fault.id(fields, DESTINATION)?,
                dialogue: fault.dialogue(fields)?,
                components: fields.components(fault)?,
            }),
            TcapMessageType::Abort => {
                let destination = fault.id(fields, DESTINATION)?;
                let reason = match fields.next_if(P_ABORT_CAUSE) {
                    Some(cause) => {
                        let cause =
                            ber::integer(cause.content).and_then(|it| u8::try_from(it).ok());
                        AbortReason::Provider(cause.ok_or_else(|| fault.incorrect())?.into())
                    }
                    None => AbortReason::User(fault.dialogue(fields)?),
                };
                fields.nothing_left(fault)?;
                Ok(Self::Abort {
                    destination,
                    reason,
                })
            }
        }
    }

    /// Its octets.
    #[must_use]
    pub fn encode(&self) -> Bytes {
        let mut fields = Vec::with_capacity(256);
        let tag = match self {
            Self::Unidirectional => UNIDIRECTIONAL,
            Self::Begin {
                origin,
                dialogue,
                components,
            } => {
                ber::write(&mut fields, ORIGIN, origin.octets());
                write_portions(&mut fields, dialogue.as_ref(), components);
                BEGIN
            }
            Self::Continue {
                origin,
                destination,
                dialogue,
                components,
            } => {
                ber::write(&mut fields, ORIGIN, origin.octets());
                ber::write(&mut fields, DESTINATION, destination.octets());
                write_portions(&mut fields, dialogue.as_ref(), components);
                CONTINUE
            }
            Self::End {
                destination,
                dialogue,
                components,
            } => {
                ber::write(&mut fields, DESTINATION, destination.octets());
                write_portions(&mut fields, dialogue.as_ref(), components);
                END
            }
            Self::Abort {
                destination,
                reason,
            } => {
                ber::write(&mut fields, DESTINATION, destination.octets());
                match reason {
                    AbortReason::Provider(cause) => {
                        ber::write_unsigned(&mut fields, P_ABORT_CAUSE, cause.number());
                    }
                    AbortReason::User(dialogue) => {
                        write_portions(&mut fields, dialogue.as_ref(), &[]);
                    }
                }
                ABORT
            }
        };
        ber::element(tag, &fields).into()
    }
}

fn write_portions(out: &mut Vec<u8>, dialogue: Option<&DialoguePdu>, components: &[Component]) {
    if let Some(dialogue) = dialogue {
        dialogue.write(out);
    }
    let mut portion = Vec::with_capacity(256);
    for component in components {
        component.write(&mut portion);
    }
    if !portion.is_empty() {
        ber::write(out, COMPONENT_PORTION, &portion);
    }
}

/// Whose message this is, from what is left of one of ours that came back: type, origin and destination.
/// What was sent in segments comes back with its first one at best, so the lengths are not looked at.
pub(crate) fn returned_ids(data: &[u8]) -> UnreadableMessage {
    let (tag, content) = ber::opened(data).unwrap_or((0, &[]));
    UnreadableMessage::of(TcapMessageType::of(tag), content)
}

#[cfg(test)]
mod tests;
