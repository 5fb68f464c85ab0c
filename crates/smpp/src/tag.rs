//! Tags of optional parameters (SMPP 3.4 §5.3.2, 5.0 §4.8.1) and the lengths the standard gives them.
//!
//! Used with [`super::Tlvs`]. Tags 0x1400-0x3FFF belong to vendors and are opaque here.

macro_rules! tags {
    ($($name:ident = $value:literal, $lengths:expr;)*) => {
        $(
            #[doc = concat!("`", stringify!($name), "` (§5.3.2, 5.0 §4.8.4).")]
            pub const $name: u16 = $value;
        )*

        /// Every tag of 3.4 and 5.0, ascending.
        pub const ALL: &[u16] = &[$($name),*];

        /// The constant's name in this module, for traces; `None` for vendor tags.
        pub const fn name(tag: u16) -> Option<&'static str> {
            match tag {
                $($value => Some(stringify!($name)),)*
                _ => None,
            }
        }

        /// Shortest and longest value the standard allows; `None` for vendor tags.
        pub const fn lengths(tag: u16) -> Option<(usize, usize)> {
            match tag {
                $($value => Some($lengths),)*
                _ => None,
            }
        }
    };
}

tags! {
    DEST_ADDR_SUBUNIT = 0x0005, (1, 1);
    DEST_NETWORK_TYPE = 0x0006, (1, 1);
    DEST_BEARER_TYPE = 0x0007, (1, 1);
    DEST_TELEMATICS_ID = 0x0008, (1, 2);
    SOURCE_ADDR_SUBUNIT = 0x000D, (1, 1);
    SOURCE_NETWORK_TYPE = 0x000E, (1, 1);
    SOURCE_BEARER_TYPE = 0x000F, (1, 1);
    SOURCE_TELEMATICS_ID = 0x0010, (1, 2);
    QOS_TIME_TO_LIVE = 0x0017, (4, 4);
    PAYLOAD_TYPE = 0x0019, (1, 1);
    ADDITIONAL_STATUS_INFO_TEXT = 0x001D, (1, 256);
    RECEIPTED_MESSAGE_ID = 0x001E, (1, 65);
    MS_MSG_WAIT_FACILITIES = 0x0030, (1, 1);
    PRIVACY_INDICATOR = 0x0201, (1, 1);
    SOURCE_SUBADDRESS = 0x0202, (2, 23);
    DEST_SUBADDRESS = 0x0203, (2, 23);
    USER_MESSAGE_REFERENCE = 0x0204, (2, 2);
    USER_RESPONSE_CODE = 0x0205, (1, 1);
    SOURCE_PORT = 0x020A, (2, 2);
    DEST_PORT = 0x020B, (2, 2);
    SAR_MSG_REF_NUM = 0x020C, (2, 2);
    LANGUAGE_INDICATOR = 0x020D, (1, 1);
    SAR_TOTAL_SEGMENTS = 0x020E, (1, 1);
    SAR_SEGMENT_SEQNUM = 0x020F, (1, 1);
    SC_INTERFACE_VERSION = 0x0210, (1, 1);
    CALLBACK_NUM_PRES_IND = 0x0302, (1, 1);
    CALLBACK_NUM_ATAG = 0x0303, (1, 65);
    NUMBER_OF_MESSAGES = 0x0304, (1, 1);
    CALLBACK_NUM = 0x0381, (4, 19);
    DPF_RESULT = 0x0420, (1, 1);
    SET_DPF = 0x0421, (1, 1);
    MS_AVAILABILITY_STATUS = 0x0422, (1, 1);
    NETWORK_ERROR_CODE = 0x0423, (3, 3);
    MESSAGE_PAYLOAD = 0x0424, (0, 65_535);
    DELIVERY_FAILURE_REASON = 0x0425, (1, 1);
    MORE_MESSAGES_TO_SEND = 0x0426, (1, 1);
    MESSAGE_STATE = 0x0427, (1, 1);
    CONGESTION_STATE = 0x0428, (1, 1);
    USSD_SERVICE_OP = 0x0501, (1, 1);
    BROADCAST_CHANNEL_INDICATOR = 0x0600, (1, 1);
    BROADCAST_CONTENT_TYPE = 0x0601, (3, 3);
    BROADCAST_CONTENT_TYPE_INFO = 0x0602, (1, 255);
    BROADCAST_MESSAGE_CLASS = 0x0603, (1, 1);
    BROADCAST_REP_NUM = 0x0604, (2, 2);
    BROADCAST_FREQUENCY_INTERVAL = 0x0605, (3, 3);
    BROADCAST_AREA_IDENTIFIER = 0x0606, (1, 101);
    BROADCAST_ERROR_STATUS = 0x0607, (4, 4);
    BROADCAST_AREA_SUCCESS = 0x0608, (1, 1);
    BROADCAST_END_TIME = 0x0609, (1, 17);
    BROADCAST_SERVICE_GROUP = 0x060A, (1, 255);
    BILLING_IDENTIFICATION = 0x060B, (1, 1024);
    SOURCE_NETWORK_ID = 0x060D, (7, 66);
    DEST_NETWORK_ID = 0x060E, (7, 66);
    SOURCE_NODE_ID = 0x060F, (6, 6);
    DEST_NODE_ID = 0x0610, (6, 6);
    DEST_ADDR_NP_RESOLUTION = 0x0611, (1, 1);
    DEST_ADDR_NP_INFORMATION = 0x0612, (10, 10);
    DEST_ADDR_NP_COUNTRY = 0x0613, (1, 5);
    DISPLAY_TIME = 0x1201, (1, 1);
    SMS_SIGNAL = 0x1203, (2, 2);
    MS_VALIDITY = 0x1204, (1, 4);
    ALERT_ON_MESSAGE_DELIVERY = 0x130C, (0, 1);
    ITS_REPLY_TYPE = 0x1380, (1, 1);
    ITS_SESSION_INFO = 0x1383, (2, 2);
}

/// A vendor tag of ours: LinkID of CMPP and SMGP, up to 20 octets (docs/carriers.md).
pub const LINK_ID: u16 = 0x2C1D;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_ascend_and_have_names() {
        assert!(ALL.is_sorted());
        assert_eq!(name(MESSAGE_PAYLOAD), Some("MESSAGE_PAYLOAD"));
        assert_eq!(lengths(0x1400), None);
    }
}
