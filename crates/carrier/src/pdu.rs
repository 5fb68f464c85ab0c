//! A PDU: a header with its length, its command and its sequence, and a body.
//!
//! [`crate::body!`] makes the struct of a body, and [`crate::commands!`] the enum of all bodies of a protocol.
//! A [`Protocol`] adds its header and what its sessions need to know of a PDU.

use std::fmt::Debug;
use std::hash::Hash;

use bytes::{Buf as _, Bytes, BytesMut};

use crate::fields::{Malformed, Reader, Unwritable, Writer};

/// A PDU of a protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pdu<S, B> {
    /// The sequence of a request; its response repeats it.
    pub sequence: S,
    /// What it says.
    pub body: B,
}

/// What a PDU is for a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Opens the session.
    Login,
    /// The response to a login; whether it is accepted.
    LoginResponse(bool),
    /// Asks whether the peer is there.
    Probe,
    /// The response to a probe.
    ProbeResponse,
    /// Ends the session.
    Logout,
    /// The response to the end.
    LogoutResponse,
    /// Any other request.
    Request,
    /// Its response.
    Response,
}

/// A protocol, with the version that the peers speak.
pub trait Protocol {
    /// The sequence in a header.
    type Sequence: Copy + Debug + PartialEq + Eq + Hash;
    /// The bodies.
    type Body: Clone + Debug + PartialEq + Eq;

    /// Octets of a header.
    const HEADER: usize;
    /// Longest PDU.
    const LONGEST: usize;

    /// Reads a whole PDU.
    ///
    /// # Errors
    /// The first field that is wrong.
    fn decode(&self, frame: &Bytes) -> Result<Pdu<Self::Sequence, Self::Body>, Malformed>;

    /// Appends a whole PDU; nothing when it fails.
    ///
    /// # Errors
    /// The first field that cannot be written.
    fn encode(
        &self,
        pdu: &Pdu<Self::Sequence, Self::Body>,
        out: &mut BytesMut,
    ) -> Result<(), Unwritable>;

    /// What a body is for a session.
    fn kind(body: &Self::Body) -> Kind;

    /// The sequence of our request with this number.
    fn sequence(&self, number: u32) -> Self::Sequence;

    /// The number of a sequence.
    fn number(sequence: Self::Sequence) -> u32;

    /// Our probe; `None` where the protocol has none.
    fn probe() -> Option<Self::Body>;

    /// The response to a probe or a logout.
    fn reply(kind: Kind) -> Option<Self::Body>;

    /// Our logout.
    fn logout() -> Self::Body;

    /// What a request is answered that has the sequence of another one; `None` where its response has no result.
    fn refuse_sequence(request: &Self::Body) -> Option<Self::Body>;

    /// Whether a response says that its request was taken.
    fn takes(response: &Self::Body) -> bool;
}

/// A length that no PDU has: where the next one begins is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a PDU of {0} octets")]
pub struct BadLength(pub u32);

/// Cuts the next whole PDU off the octets that were read.
///
/// # Errors
/// [`BadLength`]; the connection is to be closed.
pub fn next_frame<P: Protocol>(buffer: &mut BytesMut) -> Result<Option<Bytes>, BadLength> {
    let Some(length) = buffer.first_chunk::<4>() else {
        return Ok(None);
    };
    let length = u32::from_be_bytes(*length);
    if (length as usize) < P::HEADER || length as usize > P::LONGEST {
        return Err(BadLength(length));
    }
    if buffer.len() < length as usize {
        return Ok(None);
    }
    Ok(Some(buffer.copy_to_bytes(length as usize)))
}

/// The length and the command at the beginning of a PDU.
///
/// # Errors
/// The PDU is shorter, or its length is not what it says.
pub fn length_and_command(reader: &mut Reader, whole: usize) -> Result<u32, Malformed> {
    let length: u32 = reader.field("Total_Length")?;
    if length as usize != whole {
        return Err(Malformed {
            field: "Total_Length",
            at: 0,
            problem: "it is not the length of the PDU",
        });
    }
    reader.field("Command_Id")
}

/// Appends a PDU whose length is not known before: `write` appends what follows the length.
///
/// # Errors
/// What `write` returns; then nothing is appended.
pub fn with_length(
    out: &mut BytesMut,
    write: impl FnOnce(&mut BytesMut) -> Result<(), Unwritable>,
) -> Result<(), Unwritable> {
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    if let Err(error) = write(out) {
        out.truncate(start);
        return Err(error);
    }
    let length = (out.len() - start) as u32;
    out[start..start + 4].copy_from_slice(&length.to_be_bytes());
    Ok(())
}

/// The fields of a body, in their order.
pub trait Fields: Sized {
    /// Reads them.
    ///
    /// # Errors
    /// The first field that is wrong.
    fn read(reader: &mut Reader) -> Result<Self, Malformed>;

    /// Writes them.
    ///
    /// # Errors
    /// The first field that cannot be written.
    fn write(&self, writer: &mut Writer) -> Result<(), Unwritable>;
}

/// For bodies that are much larger than others.
impl<F: Fields> Fields for Box<F> {
    fn read(reader: &mut Reader) -> Result<Self, Malformed> {
        F::read(reader).map(Self::new)
    }

    fn write(&self, writer: &mut Writer) -> Result<(), Unwritable> {
        F::write(self, writer)
    }
}

/// Makes the structs of bodies of the tables of their fields.
#[macro_export]
macro_rules! body {
    ($($(#[$about:meta])* $name:ident {
        $($(#[$doc:meta])* $field:ident: $type:ty = $label:literal,)*
    })+) => {$(
        $(#[$about])*
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub struct $name {
            $($(#[$doc])* pub $field: $type,)*
        }

        impl $crate::Fields for $name {
            fn read(reader: &mut $crate::Reader) -> Result<Self, $crate::Malformed> {
                let _ = &reader;
                Ok(Self { $($field: reader.field($label)?,)* })
            }

            fn write(&self, writer: &mut $crate::Writer) -> Result<(), $crate::Unwritable> {
                let _ = &writer;
                $(writer.field($label, &self.$field)?;)*
                Ok(())
            }
        }
    )+};
}

/// Makes the enum of all bodies of a protocol of the table of its commands.
#[macro_export]
macro_rules! commands {
    ($($(#[$doc:meta])* $name:ident($type:ty) = $id:literal, $label:literal;)*) => {
        /// What a PDU says.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum Body {
            $($(#[$doc])* $name($type),)*
            /// A command that is not in the standard.
            Unknown {
                /// Its command.
                command: u32,
                /// Its body.
                octets: bytes::Bytes,
            },
        }

        impl Body {
            /// Every command of the standard, with its name.
            pub const COMMANDS: &'static [(u32, &'static str)] = &[$(($id, $label)),*];

            /// The command in the header.
            pub fn command(&self) -> u32 {
                match self {
                    $(Self::$name(_) => $id,)*
                    Self::Unknown { command, .. } => *command,
                }
            }

            /// The command's name in the standard.
            pub fn name_of(command: u32) -> Option<&'static str> {
                let known = Self::COMMANDS.iter().find(|(id, _)| *id == command);
                known.map(|(_, name)| *name)
            }

            /// Reads the body of a command.
            ///
            /// # Errors
            /// The first field that is wrong.
            pub fn read(
                command: u32,
                reader: &mut $crate::Reader,
            ) -> Result<Self, $crate::Malformed> {
                match command {
                    $($id => <$type as $crate::Fields>::read(reader).map(Self::$name),)*
                    _ => {
                        let octets = reader.take("body", reader.left())?;
                        Ok(Self::Unknown { command, octets })
                    }
                }
            }

            /// Writes the body.
            ///
            /// # Errors
            /// The first field that cannot be written.
            pub fn write(&self, writer: &mut $crate::Writer) -> Result<(), $crate::Unwritable> {
                match self {
                    $(Self::$name(body) => $crate::Fields::write(body, writer),)*
                    Self::Unknown { octets, .. } => {
                        writer.octets(octets);
                        Ok(())
                    }
                }
            }
        }
    };
}
