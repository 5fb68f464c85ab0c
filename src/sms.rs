//! Short messages as phones see them: what user data is made of (3GPP TS 23.038, 23.040).
//!
//! ```text
//! user data, at most 140 octets (23.040 §9.2.3.24)
//! ┌──────┬───────────────┬───────────────┬─── fill ──┬─────────────────────────────┐
//! │ UDHL │ IEI len data… │ IEI len data… │ 0-6 bits  │ text: septets, octets, UCS-2│
//! └──────┴───────────────┴───────────────┴───────────┴─────────────────────────────┘
//!  └──────────── udh: Header ────────────┘            └─ segment: which part of it ─┘
//! ```
//!
//! [`udh`] reads and writes the header in front, [`segment`] cuts a long text into parts that fit,
//! [`reassemble`] collects the parts again. Pure: octets and instants in, values out; no socket, no
//! clock, no SMPP. In SMPP the default alphabet travels with one septet per octet, a *septet string*;
//! lengths of texts are counted in its elements.

pub mod reassemble;
pub mod segment;
pub mod udh;
