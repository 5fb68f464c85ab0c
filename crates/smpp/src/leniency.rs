//! Tolerated deviations of a peer: real ESMEs and operators deviate from the standard in known ways.
//!
//! One value per account or operator, read by [`super::codec::decode`]. Whatever is accepted here is
//! kept verbatim, so that the layers above can still refuse it with a better reason.
//!
//! Never tolerated: `sm_length` reaching past the PDU (ESME_RINVMSGLEN) and a mandatory field of a
//! request that is absent.

/// Which deviations the decoder accepts. [`Default`] is lenient, [`Leniency::strict`] the standard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leniency {
    /// Octets by which a C-octet string may exceed the standard's maximum: 24-digit addresses and
    /// 70-octet message ids exist. Passwords have their own limit.
    pub c_string_extra: usize,
    /// Octets of a password without its NUL: the standard allows 8 (§5.2.2), providers assign
    /// longer ones.
    pub password_max: usize,
    /// A last C-octet string that lacks its NUL ends with the PDU.
    pub missing_final_nul: bool,
    /// Octets above 0x7F in C-octet strings are kept ("Café" as a sender); §3.1 says ASCII.
    pub non_ascii: bool,
    /// Octets after the last field of a PDU without optional parameters are ignored.
    pub trailing_octets: bool,
    /// A truncated last TLV is dropped and [`super::Tlvs::is_incomplete`] is true.
    pub incomplete_trailing_tlv: bool,
    /// A known TLV of another length than the standard's is kept raw (2-octet sar_total_segments).
    pub tlv_lengths: bool,
    /// Times that are neither empty nor 16 characters long are kept for [`super::time::parse_time`].
    pub short_times: bool,
    /// Fields missing at the end of a response read as empty or 0, also when its status is ESME_ROK.
    pub short_responses: bool,
}

impl Leniency {
    /// The standard to the letter: for conformance tests of a peer.
    pub const fn strict() -> Leniency {
        Leniency {
            c_string_extra: 0,
            password_max: 8,
            missing_final_nul: false,
            non_ascii: false,
            trailing_octets: false,
            incomplete_trailing_tlv: false,
            tlv_lengths: false,
            short_times: false,
            short_responses: false,
        }
    }
}

impl Default for Leniency {
    fn default() -> Leniency {
        Leniency {
            c_string_extra: 64,
            password_max: 128,
            missing_final_nul: true,
            non_ascii: true,
            trailing_octets: true,
            incomplete_trailing_tlv: true,
            tlv_lengths: true,
            short_times: true,
            short_responses: true,
        }
    }
}
