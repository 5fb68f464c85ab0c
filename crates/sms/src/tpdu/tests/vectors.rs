//! TPDUs that others wrote and published, or that several other programs read alike.

use super::*;

/// A kind, the octets, the number or name, TP-DCS, the text (`None` for data), part and total.
type Vector = (
    TpduKind,
    &'static str,
    &'static str,
    u8,
    Option<&'static str>,
    Option<(u8, u8)>,
);

/// The time of the first vector has a zone of minus zero, which is written without its sign.
const MINUS_ZERO: &str = "20806291731408";
const ZERO: &str = "20806291731400";

const TO: &str = "49160001";

#[rustfmt::skip]
const VECTORS: &[Vector] = &[
    (TpduKind::Deliver, "040B911346610089F60000208062917314080CC8F71D14969741F977FD07", "31641600986", 0, Some("How are you?"), None),
    (TpduKind::Submit, "11000B916407281553F80000AA0AE8329BFD4697D9EC37", "46708251358", 0, Some("hellohello"), None),
    (TpduKind::Deliver, "040BC87238880900F10000993092516195800AE8329BFD4697D9EC37", "27838890001", 0, Some("hellohello"), None),
    (TpduKind::Submit, "010008919461001000000BC8329BFD065DDF723619", TO, 0, Some("Hello World"), None),
    (TpduKind::Submit, "01000891946100100000121BD486B7296F7A1BDF26B5A16C809B17", TO, 0, Some("{[€~]}^|\\"), None),
    (TpduKind::Submit, "010008919461001000002A8080604028180E88C482E17840229209A562B960321A4EC7F32101B7DCAEF70BDEF3FBFE3F", TO, 0, Some("@£$¥èéùìòÇØøÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ¤¡ÄÖÑÜ§¿äöñüà"), None),
    (TpduKind::Submit, "0100089194610010000816041F04400438043204350442002C0020043C04380440", TO, 8, Some("Привет, мир"), None),
    (TpduKind::Submit, "210008919461001000000D737A985E9F83E0EC72785E06", TO, 0, Some("status please"), None),
    (TpduKind::Submit, "410008919461001000001805000300020266B49AED86CBC162B219AD66BBE172", TO, 0, Some("34567890123456789"), Some((2, 2))),
    (TpduKind::Submit, "41000891946100100008200500030002020437043804390430043104320433043404350436043704380439", TO, 8, Some("зийабвгдежзий"), Some((2, 2))),
    (TpduKind::Submit, "010008919461001000000731D98C56B3DD00", TO, 0, Some("1234567"), None),
    (TpduKind::Submit, "010008919461001000000831D98C56B3DD70", TO, 0, Some("12345678"), None),
    (TpduKind::Submit, "010005812143F500000DF437688E7ECBE9A0F19B5C06", "12345", 0, Some("to short code"), None),
    (TpduKind::Deliver, "040DD0C8F71D1496970100006211125003510005C8329BFD06", "How are", 0, Some("Hello"), None),
    (TpduKind::Submit, "190008919461001000006211125003510005C8329BFD06", TO, 0, Some("Hello"), None),
    (TpduKind::Submit, "0100089194610010000404DEADBEEF", TO, 4, None, None),
    (TpduKind::Deliver, "440891946100100008621112500351000B06080400CE020100480069", TO, 8, Some("Hi"), Some((1, 2))),
    (TpduKind::Deliver, "440891946100100004621112500351000B0605040B8423F001020304", TO, 4, None, None),
    (TpduKind::StatusReport, "062A089194610010621112500351006211125003510045", TO, 0, None, None),
    (TpduKind::Submit, "410008919461001000088C0500030002010430043104320433043404350436043704380439043004310432043304340435043604370438043904300431043204330434043504360437043804390430043104320433043404350436043704380439043004310432043304340435043604370438043904300431043204330434043504360437043804390430043104320433043404350436", TO, 8, Some("абвгдежзийабвгдежзийабвгдежзийабвгдежзийабвгдежзийабвгдежзийабвгдеж"), Some((1, 2))),
    (TpduKind::Submit, "01000891946100100000A0783C1E8FC7E3F1783C1E8FC7E3F1783C1E8FC7E3F1783C1E8FC7E3F1783C1E8FC7E3F1783C1E8FC7E3F1783C1E8FC7E3F1783C1E8FC7E3F1783C1E8FC7E3F1783C1E8FC7E3F1783C1E8FC7E3F1783C1E8FC7E3F1783C1E8FC7E3F1783C1E8FC7E3F1783C1E8FC7E3F1783C1E8FC7E3F1783C1E8FC7E3F1783C1E8FC7E3F1783C1E8FC7E3F1783C1E8FC7E3F1", TO, 0, Some("xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"), None),
    (TpduKind::StatusReport, "062A089194610010621112500351006211125013510045", TO, 0, None, None),
    // Captured at a service centre of another maker: SMS-DELIVER of 5 characters.
    (TpduKind::Deliver, "040481214300003211221234440005C8329BFD06", "1234", 0, Some("Hello"), None),
];

#[test]
fn vectors_of_others_are_read_and_written() {
    for (kind, hex, address, data_coding, text, part) in VECTORS {
        let octets = given(hex);
        let read = examine(*kind, &octets);
        assert_eq!(read.notes.oddities, [], "{hex}");
        let tpdu = read.tpdu.unwrap_or_else(|fault| panic!("{hex}: {fault}"));
        let found = match &tpdu {
            Tpdu::Deliver(deliver) => &deliver.originating_address,
            Tpdu::Submit(submit) => &submit.destination_address,
            Tpdu::StatusReport(report) => &report.recipient_address,
            other => panic!("{other:?}"),
        };
        assert_eq!(found.text, *address, "{hex}");
        if let Some((user_data, coding)) = tpdu.user_data() {
            assert_eq!(coding, *data_coding, "{hex}");
            assert_eq!(user_data.text(coding).as_deref(), *text, "{hex}");
            let concat = user_data.header.concat();
            let numbers = concat.map(|concat| (concat.sequence, concat.total));
            assert_eq!(numbers, *part, "{hex}");
        }
        let written = given(&hex.replace(MINUS_ZERO, ZERO));
        assert_eq!(tpdu.encode().unwrap(), written, "{hex}");
    }
}

#[test]
fn the_first_of_two_parts_is_full() {
    // 153 septets behind a header of 6 octets, as python-messaging writes them.
    let digits = "0123456789".repeat(16)[..153].to_owned();
    let tpdu = Tpdu::Submit(SmsSubmit {
        user_data: UserData {
            header: {
                let mut header = UserDataHeader::default();
                header.set_concat(Some(Concat {
                    reference: 0,
                    wide: false,
                    total: 2,
                    sequence: 1,
                }));
                header
            },
            ..septets(&digits)
        },
        ..submit()
    });
    let ten = "31D98C56B3DD7039584C36A3D56C375C0E1693CD6835DB0D9783C564335ACD76C3E560";
    let head = "41000891946100100000A005000300020160";
    let hex = format!("{head}{}{}", ten.repeat(3), &ten[..56]);
    assert_eq!(tpdu.encode().unwrap(), given(&hex));
}
