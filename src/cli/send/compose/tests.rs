//! Alphabets, parts and headers of texts.

use super::*;

fn writing() -> Writing {
    Writing {
        reference: 0xABCD,
        ..Writing::default()
    }
}

fn messages(text: &str, writing: &Writing) -> Vec<SubmitSm> {
    compose(text, writing)
        .unwrap()
        .messages(&SubmitSm::default())
}

#[test]
fn texts_travel_in_the_alphabet_that_takes_the_fewest_messages() {
    for (text, data_coding, octets) in [
        ("hello", 0, &b"hello"[..]),
        ("a@b", 0, b"a\x00b"),
        ("5 €", 0, b"5 \x1Be"),
        ("ж", 8, &[0x04, 0x36]),
        ("😀", 8, &[0xD8, 0x3D, 0xDE, 0x00]),
        ("", 0, b""),
    ] {
        let sent = messages(text, &writing());
        assert_eq!(sent.len(), 1);
        assert_eq!(sent[0].data_coding, data_coding, "{text}");
        assert_eq!(&sent[0].short_message[..], octets, "{text}");
        assert_eq!(sent[0].esm_class, 0);
    }
    let turkish = Writing {
        languages: vec![Language::Turkish],
        ..writing()
    };
    let sent = messages("ışık", &turkish);
    assert_eq!((sent[0].data_coding, sent[0].esm_class), (0, ESM_UDHI));
    assert_eq!(
        sent[0].short_message[..4],
        [3, 0x24, 1, 1],
        "a header names the table"
    );
}

#[test]
fn long_texts_are_numbered_as_asked() {
    let text = "x".repeat(300);
    let with = |long| Writing { long, ..writing() };
    let udh = messages(&text, &with(Long::Udh));
    assert_eq!(udh.len(), 2);
    assert_eq!(udh[0].short_message[..6], [5, 0, 3, 0xCD, 2, 1]);
    assert_eq!(udh[1].short_message[..6], [5, 0, 3, 0xCD, 2, 2]);
    assert_eq!(udh[0].short_message.len(), 6 + 153);
    assert!(udh.iter().all(|message| message.esm_class == ESM_UDHI));
    let wide = messages(&text, &with(Long::Udh16));
    assert_eq!(wide[1].short_message[..7], [6, 8, 4, 0xAB, 0xCD, 2, 2]);
    assert_eq!(wide[0].short_message.len(), 7 + 152);
    let sar = messages(&text, &with(Long::Sar));
    assert_eq!(sar[0].short_message.len(), 153);
    assert_eq!(sar[1].tlvs.get_uint(tag::SAR_MSG_REF_NUM), Some(0xABCD));
    assert_eq!(sar[1].tlvs.get_uint(tag::SAR_TOTAL_SEGMENTS), Some(2));
    assert_eq!(sar[1].tlvs.get_uint(tag::SAR_SEGMENT_SEQNUM), Some(2));
    assert!(sar.iter().all(|message| message.esm_class == 0));
    let whole = messages(&text, &with(Long::Payload));
    assert_eq!(whole.len(), 1);
    assert!(whole[0].short_message.is_empty());
    assert_eq!(whole[0].payload().len(), 300);
    let short = messages("hi", &with(Long::Payload));
    assert_eq!(&short[0].short_message[..], b"hi");
}

#[test]
fn flash_keeps_its_alphabet() {
    let flash = |alphabet| Writing {
        alphabet,
        flash: true,
        ..writing()
    };
    assert_eq!(messages("hi", &flash(None))[0].data_coding, 0x10);
    assert_eq!(messages("ж", &flash(None))[0].data_coding, 0x18);
    assert_eq!(
        messages("00", &flash(Some(SendAlphabet::Binary)))[0].data_coding,
        0x14
    );
    let error = compose("hi", &flash(Some(SendAlphabet::Latin1))).unwrap_err();
    assert!(error.to_string().contains("--alphabet gsm"), "{error}");
}

#[test]
fn what_an_alphabet_lacks_is_named_with_the_cure() {
    let forced = |alphabet| Writing {
        alphabet: Some(alphabet),
        ..writing()
    };
    let error = |text, writing: &Writing| compose(text, writing).unwrap_err().to_string();
    let gsm = error("naïve ж", &forced(SendAlphabet::Gsm));
    assert!(
        gsm.contains("`ï` (U+00EF, character 3") && gsm.contains("--language"),
        "{gsm}"
    );
    let latin1 = error("5 €", &forced(SendAlphabet::Latin1));
    assert!(
        latin1.contains("`€` (U+20AC, character 3") && latin1.contains("ucs2"),
        "{latin1}"
    );
    let national = Writing {
        languages: vec![Language::Turkish],
        ..forced(SendAlphabet::Gsm)
    };
    let best = error("ışık ж", &national);
    assert!(best.contains('ж'), "the best table stops there: {best}");
    let data = format!(
        "{:#}",
        compose("0g", &forced(SendAlphabet::Binary)).unwrap_err()
    );
    assert!(
        data.contains("column 2") && data.contains("hexadecimal"),
        "{data}"
    );
    let endless = error(&"x".repeat(255 * 153 + 1), &writing());
    assert!(
        endless.contains("256 parts") && endless.contains("--long payload"),
        "{endless}"
    );
}

#[test]
fn what_will_be_sent_is_shown() {
    let lines = |text: &str, writing: &Writing| compose(text, writing).unwrap().lines();
    assert_eq!(
        lines("5 €", &writing()),
        ["1 part     GSM 7-bit, 3 characters, data_coding 0x00, 156 septets left"]
    );
    assert_eq!(
        lines(&"ж".repeat(71), &writing()),
        [
            "2 parts    UCS-2, 71 characters, data_coding 0x08",
            "  1 of 2   67 characters, 0 octets left",
            "  2 of 2   4 characters, 126 octets left",
        ]
    );
    let binary = Writing {
        alphabet: Some(SendAlphabet::Binary),
        long: Long::Sar,
        ..writing()
    };
    assert_eq!(
        lines(&"00".repeat(135), &binary),
        ["1 part     data, 135 octets, data_coding 0x04, 5 octets left"]
    );
    assert_eq!(
        lines(&"00".repeat(150), &binary)[1],
        "  1 of 2   134 octets, 0 octets left"
    );
}
