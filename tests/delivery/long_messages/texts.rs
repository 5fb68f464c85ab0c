//! Texts of 700 characters, encoded as by an ESME, and a decoder for arriving texts that shares no code
//! with the SMSC.

use bytes::Bytes;
use smsc::smpp::{SubmitSm, Tlvs, tag};

/// Characters of each text.
const LENGTH: usize = 700;

/// A text and the data_coding in which it is submitted.
#[derive(Debug, Clone)]
pub struct Text {
    pub name: &'static str,
    pub text: String,
    pub data_coding: u8,
}

/// One text for each kind of encoding problem.
pub fn all() -> Vec<Text> {
    let make = |name, pattern: &str, data_coding| Text {
        name,
        text: pattern.chars().cycle().take(LENGTH).collect(),
        data_coding,
    };
    vec![
        make(
            "gsm",
            "Price {10€} at [home] ~ @ \\o/ | Ünïque? àèìòù Ñ 0123456789 ",
            0,
        )
        .without('ï'),
        make("turkish", "Şişli'de çığlık atan İğdır'lı öğüt ", 8),
        make("hindi", "नमस्ते दुनिया, यह एक लंबा संदेश है। ", 8),
        make("emoji", "a😀b👩‍👩‍👧‍👦c🇹🇷d", 8),
    ]
}

impl Text {
    fn without(mut self, character: char) -> Self {
        self.text = self.text.replace(character, "i");
        self
    }

    /// Its octets in SMPP.
    pub fn octets(&self) -> Vec<u8> {
        match self.data_coding {
            0 => to_gsm(&self.text),
            _ => to_utf16(&self.text),
        }
    }

    /// A submit_sm with the whole text in message_payload.
    pub fn submit(&self, to: &str) -> SubmitSm {
        let mut tlvs = Tlvs::default();
        tlvs.push(tag::MESSAGE_PAYLOAD, &self.octets());
        tlvs.push(tag::USER_MESSAGE_REFERENCE, &[0x12, 0x34]);
        SubmitSm {
            short_message: Bytes::new(),
            data_coding: self.data_coding,
            tlvs,
            validity_period: Bytes::from_static(b"000000020000000R"),
            ..crate::harness::submit(to, "")
        }
    }
}

/// A text as an ESME divides it, with an 8-bit reference.
pub fn in_parts(text: &Text, reference: u8) -> Vec<SubmitSm> {
    let octets = text.octets();
    let pieces: Vec<&[u8]> = octets.chunks(132).collect();
    let total = pieces.len() as u8;
    (1..=total)
        .zip(pieces)
        .map(|(sequence, piece)| {
            let mut user_data = vec![5, 0, 3, reference, total, sequence];
            user_data.extend(piece);
            SubmitSm {
                esm_class: 0x40,
                data_coding: text.data_coding,
                short_message: user_data.into(),
                ..crate::harness::submit("447700900123", "")
            }
        })
        .collect()
}

/// A part as a handset would see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    pub reference: u16,
    pub total: u8,
    pub sequence: u8,
    pub body: Vec<u8>,
    /// Octets of the user data header.
    pub header: usize,
}

/// Decodes a PDU: `None` if it is not a part.
pub fn part_of(pdu: &SubmitSm) -> Option<Seen> {
    let octets = pdu.payload().to_vec();
    if pdu.esm_class & 0x40 != 0 {
        let header = usize::from(octets[0]) + 1;
        let (reference, rest) = match octets[1] {
            0x00 => (u16::from(octets[3]), 4),
            0x08 => (u16::from_be_bytes([octets[3], octets[4]]), 5),
            other => panic!("element {other} first"),
        };
        return Some(Seen {
            reference,
            total: octets[rest],
            sequence: octets[rest + 1],
            body: octets[header..].to_vec(),
            header,
        });
    }
    let octet = |tag| Some(pdu.tlvs.get(tag)?[0]);
    let reference = pdu.tlvs.get(tag::SAR_MSG_REF_NUM)?;
    Some(Seen {
        reference: u16::from_be_bytes([reference[0], reference[1]]),
        total: octet(tag::SAR_TOTAL_SEGMENTS)?,
        sequence: octet(tag::SAR_SEGMENT_SEQNUM)?,
        body: octets,
        header: 0,
    })
}

/// The text of parts in any order, after the checks of a handset: one reference, every position once,
/// no part longer than 140 octets over the air, no split pair.
pub fn whole_of(pdus: &[SubmitSm]) -> String {
    let mut parts: Vec<Seen> = pdus
        .iter()
        .map(|pdu| part_of(pdu).expect("a part"))
        .collect();
    parts.sort_by_key(|part| part.sequence);
    let data_coding = pdus[0].data_coding;
    for (at, part) in parts.iter().enumerate() {
        assert_eq!(part.reference, parts[0].reference);
        assert_eq!(usize::from(part.total), parts.len());
        assert_eq!(usize::from(part.sequence), at + 1);
        // SAR parts get headers on the way.
        let header = part.header.max(6);
        match data_coding {
            0 => {
                assert!(part.body.len() <= (140 - header) * 8 / 7, "septets");
                assert_ne!(part.body.last(), Some(&0x1B), "a cut escape");
            }
            _ => {
                assert!(part.body.len() <= 140 - header);
                let last = part.body.len() - 2;
                assert_ne!(part.body[last] & 0xFC, 0xD8, "a cut surrogate");
            }
        }
    }
    read(&parts.concat_bodies(), data_coding)
}

trait Bodies {
    fn concat_bodies(&self) -> Vec<u8>;
}

impl Bodies for Vec<Seen> {
    fn concat_bodies(&self) -> Vec<u8> {
        self.iter().flat_map(|part| part.body.clone()).collect()
    }
}

/// The characters of octets.
pub fn read(octets: &[u8], data_coding: u8) -> String {
    match data_coding {
        0 => from_gsm(octets),
        _ => {
            let units: Vec<u16> = octets
                .chunks(2)
                .map(|pair| u16::from_be_bytes([pair[0], pair[1]]))
                .collect();
            String::from_utf16(&units).expect("UTF-16")
        }
    }
}

fn to_utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_be_bytes).collect()
}

/// The characters of the test texts outside ASCII letters and digits (3GPP TS 23.038 §6.2.1).
const GSM: &[(char, &[u8])] = &[
    ('@', &[0x00]),
    ('{', &[0x1B, 0x28]),
    ('}', &[0x1B, 0x29]),
    ('€', &[0x1B, 0x65]),
    ('[', &[0x1B, 0x3C]),
    (']', &[0x1B, 0x3E]),
    ('~', &[0x1B, 0x3D]),
    ('\\', &[0x1B, 0x2F]),
    ('|', &[0x1B, 0x40]),
    ('Ü', &[0x5E]),
    ('à', &[0x7F]),
    ('è', &[0x04]),
    ('ì', &[0x07]),
    ('ò', &[0x08]),
    ('ù', &[0x06]),
    ('Ñ', &[0x5D]),
];

fn to_gsm(text: &str) -> Vec<u8> {
    let septets = |character: char| match GSM.iter().find(|(known, _)| *known == character) {
        Some((_, septets)) => septets.to_vec(),
        None => vec![u8::try_from(character).expect("ASCII")],
    };
    text.chars().flat_map(septets).collect()
}

fn from_gsm(mut septets: &[u8]) -> String {
    let mut text = String::new();
    'next: while let Some(first) = septets.first() {
        for (character, octets) in GSM {
            if septets.starts_with(octets) {
                text.push(*character);
                septets = &septets[octets.len()..];
                continue 'next;
            }
        }
        text.push(char::from(*first));
        septets = &septets[1..];
    }
    text
}
