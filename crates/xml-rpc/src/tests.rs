//! Calls as clients write them, round trips, and documents that mean harm.

use bytes::Bytes;
use proptest::prelude::*;

use super::*;
use crate::write::write;

const HEAD: &str = "<?xml version='1.0'?><methodCall><methodName>m</methodName><params>";
const TAIL: &str = "</params></methodCall>";

fn document(value: &str) -> String {
    format!("{HEAD}<param>{value}</param>{TAIL}")
}

fn read(text: &str) -> Result<Call, Error> {
    read_call(text.as_bytes(), None)
}

fn value(text: &str) -> Result<XmlRpcValue, Error> {
    read(&document(text)).map(|mut call| call.params.remove(0))
}

fn said(text: &str) -> String {
    value(text).unwrap_err().to_string()
}

#[test]
fn a_call_has_a_name_and_parameters() {
    let call = read(
        "<?xml version=\"1.0\"?>\n<!-- a call -->\n<methodCall>\n <methodName> sms.status </methodName>\n <params>\n  \
         <param><value><i4>41</i4></value></param>\n  <param>\n<value>x</value></param>\n </params>\n</methodCall>\n",
    );
    let params = vec![XmlRpcValue::Int(41), XmlRpcValue::from("x")];
    assert_eq!(
        call,
        Ok(Call {
            method: "sms.status".to_owned(),
            params
        })
    );
    for without in [
        "<methodCall><methodName>m</methodName></methodCall>",
        "<methodCall><methodName>m</methodName><params/></methodCall>",
    ] {
        assert_eq!(read(without).unwrap().params, []);
    }
}

#[test]
fn every_type_is_read() {
    for (text, expected) in [
        ("<int>-7</int>", XmlRpcValue::Int(-7)),
        ("<i4> 2147483647 </i4>", XmlRpcValue::Int(2_147_483_647)),
        ("<i8>447700900123</i8>", XmlRpcValue::Int(447_700_900_123)),
        ("<ex:i8>5</ex:i8>", XmlRpcValue::Int(5)),
        ("<boolean>1</boolean>", XmlRpcValue::Boolean(true)),
        ("<double>-12.5</double>", XmlRpcValue::Double(-12.5)),
        ("<string> a b </string>", XmlRpcValue::from(" a b ")),
        (" as it is ", XmlRpcValue::from(" as it is ")),
        ("", XmlRpcValue::from("")),
        ("<string/>", XmlRpcValue::from("")),
        (
            "<string>a &lt;&amp;&#8364;&#x20AC;</string>",
            XmlRpcValue::from("a <&€€"),
        ),
        (
            "<string><![CDATA[<b>]]> c</string>",
            XmlRpcValue::from("<b> c"),
        ),
        (
            "<base64>AQL/\n AA==</base64>",
            XmlRpcValue::Base64(Bytes::from_static(&[1, 2, 255, 0])),
        ),
        ("<nil/>", XmlRpcValue::Nil),
        (
            "<dateTime.iso8601>20231114T22:13:20</dateTime.iso8601>",
            XmlRpcValue::DateTime(1_700_000_000_000),
        ),
        (
            "<dateTime.iso8601>2023-11-14T22:13:20</dateTime.iso8601>",
            XmlRpcValue::DateTime(1_700_000_000_000),
        ),
        (
            "<dateTime.iso8601>20231114T22:13:20Z</dateTime.iso8601>",
            XmlRpcValue::DateTime(1_700_000_000_000),
        ),
        (
            "<dateTime.iso8601>20231114T23:13:20+01:00</dateTime.iso8601>",
            XmlRpcValue::DateTime(1_700_000_000_000),
        ),
        ("<array><data/></array>", XmlRpcValue::Array(vec![])),
        (
            "<array> <data> <value><int>1</int></value> <value>x</value> </data> </array>",
            XmlRpcValue::Array(vec![XmlRpcValue::Int(1), XmlRpcValue::from("x")]),
        ),
        (
            "<struct><member><name>a&amp;b</name><value><boolean>0</boolean></value></member></struct>",
            XmlRpcValue::Struct(vec![("a&b".to_owned(), XmlRpcValue::Boolean(false))]),
        ),
    ] {
        assert_eq!(
            value(&format!("<value>{text}</value>")),
            Ok(expected),
            "{text}"
        );
    }
}

#[test]
fn what_is_no_value_is_refused() {
    for (text, part) in [
        ("<int>2147483648</int>", "32-bit"),
        ("<i8>9223372036854775808</i8>", "64-bit"),
        ("<int>0x10</int>", "32-bit"),
        ("<int></int>", "32-bit"),
        ("<boolean>yes</boolean>", "boolean"),
        ("<double>inf</double>", "double"),
        ("<double>1e400</double>", "double"),
        ("<double>NaN</double>", "double"),
        ("<dateTime.iso8601>tomorrow</dateTime.iso8601>", "dateTime"),
        (
            "<dateTime.iso8601>20231314T22:13:20</dateTime.iso8601>",
            "dateTime",
        ),
        ("<dateTime.iso8601>20231114</dateTime.iso8601>", "dateTime"),
        ("<base64>AQL/AA=</base64>", "base64"),
        ("<base64>&#8364;</base64>", "base64"),
        ("<base64>A===</base64>", "base64"),
        ("<nil>x</nil>", "nil"),
        ("<float>1</float>", "no type float"),
        ("<int><b>1</b></int>", "element in it"),
        ("x<int>1</int>", "both text and an element"),
        ("<int>1</int>x", "text between"),
        ("<int>1</int><int>2</int>", "should end here"),
        ("<array><value>1</value></array>", "data is expected"),
        (
            "<array><data><int>1</int></data></array>",
            "value is expected",
        ),
        ("<struct><name>a</name></struct>", "member is expected"),
        (
            "<struct><member><value>a</value></member></struct>",
            "name is expected",
        ),
        (
            "<struct><member><name>a</name></member></struct>",
            "value is missing",
        ),
        (
            "<struct><member><name>a</name><value/></member><member><name>a</name><value/></member></struct>",
            "two members \"a\"",
        ),
    ] {
        let said = said(&format!("<value>{text}</value>"));
        assert!(said.contains(part), "{text}: {said}");
    }
}

#[test]
fn what_is_no_call_is_refused() {
    for text in [
        "",
        "hello",
        "{\"to\": 1}",
        "<methodCall>",
        "<methodCall/>",
        "<methodResponse/>",
        "<methodCall><params/></methodCall>",
        "<methodCall><methodName/></methodCall>",
        "<methodCall><methodName>m</methodName></methodCall><x/>",
        "<methodCall><methodName>m</methodName></methodCall>x",
        "<methodCall><methodName>m</methodName><params/><params/></methodCall>",
        "<methodCall><methodName>m</methodName><params><param/></params></methodCall>",
        "<methodCall><methodName>m</methodname></methodCall>",
        "<methodCall><methodName>m</methodName></params></methodCall>",
        "<methodCall><methodName>m",
        "<methodCall><methodName>a & b</methodName></methodCall>",
        "<methodCall><methodName>m</methodName><params><param><value><int>1",
    ] {
        assert!(read(text).is_err(), "{text}");
    }
    let long = "m".repeat(256);
    assert!(
        read(&format!(
            "<methodCall><methodName>{long}</methodName></methodCall>"
        ))
        .is_err()
    );
}

#[test]
fn there_is_no_document_type_and_no_entity() {
    let laughs = "<?xml version=\"1.0\"?><!DOCTYPE lolz [<!ENTITY a \"ha\"><!ENTITY b \"&a;&a;&a;\">]>\
                  <methodCall><methodName>&b;</methodName></methodCall>";
    assert_eq!(read(laughs), Err(Error::DocType));
    let outside = "<!DOCTYPE r SYSTEM \"file:///etc/passwd\"><methodCall><methodName>m</methodName></methodCall>";
    assert_eq!(read(outside), Err(Error::DocType));
    assert_eq!(
        value("<value>&nbsp;</value>"),
        Err(Error::Entity("nbsp".to_owned()))
    );
    assert_eq!(
        value("<value>&b;</value>"),
        Err(Error::Entity("b".to_owned()))
    );
    for reference in [
        "&#xD800;",
        "&#x110000;",
        "&#;",
        "&#-1;",
        "&#99999999999999;",
    ] {
        assert!(
            value(&format!("<value>{reference}</value>")).is_err(),
            "{reference}"
        );
    }
    for (character, number) in [
        ("\u{1}", 1),
        ("&#1;", 1),
        ("\u{FFFF}", 0xFFFF),
        ("&#xFFFE;", 0xFFFE),
    ] {
        let found = value(&format!("<value>{character}</value>"));
        assert_eq!(found, Err(Error::Character(number)), "{character}");
    }
    assert!(value("<value>\0</value>").is_err());
}

#[test]
fn depth_and_number_are_limited() {
    let nested = |depth: usize| {
        let inner = "<value><array><data>".repeat(depth) + "<value/>";
        inner + &"</data></array></value>".repeat(depth)
    };
    assert!(value(&nested(MAX_DEPTH - 1)).is_ok());
    assert_eq!(value(&nested(MAX_DEPTH)), Err(Error::TooDeep));
    assert_eq!(value(&nested(20_000)), Err(Error::TooDeep));
    // Elements that are none of XML-RPC's do not nest at all.
    assert!(value(&"<value>".repeat(50_000)).is_err());
    assert!(value(&"<a>".repeat(100_000)).is_err());
    let many = |count: usize| {
        let values = "<value/>".repeat(count);
        value(&format!(
            "<value><array><data>{values}</data></array></value>"
        ))
    };
    assert!(many(MAX_VALUES - 1).is_ok());
    assert_eq!(many(MAX_VALUES), Err(Error::TooMany));
}

#[test]
fn large_documents_take_time_in_proportion() {
    // Each of these is about a MiB; a reader that goes back and forth would not end.
    let text = "x".repeat(1_000_000);
    assert_eq!(
        value(&format!("<value>{text}</value>")),
        Ok(XmlRpcValue::String(text.clone()))
    );
    assert!(value(&format!("<value>{}</value>", "&lt;".repeat(250_000))).is_ok());
    assert!(
        value(&format!(
            "<value><string {}/></value>",
            "a=\"1\" ".repeat(150_000)
        ))
        .is_ok()
    );
    assert!(
        value(&format!(
            "<value><base64>{}</base64></value>",
            " ".repeat(1_000_000)
        ))
        .is_ok()
    );
    assert!(value(&format!("<value><{text}/></value>")).is_err());
    assert!(
        value(&format!(
            "<value><i8>{}</i8></value>",
            "9".repeat(1_000_000)
        ))
        .is_err()
    );
    let members: String = (0..20_000)
        .map(|n| format!("<member><name>n{n}</name><value/></member>"))
        .collect();
    assert!(value(&format!("<value><struct>{members}</struct></value>")).is_ok());
}

#[test]
fn the_encoding_is_that_of_the_header_or_of_the_declaration() {
    let call = |encoding: &str| {
        format!(
            "<?xml version=\"1.0\" encoding=\"{encoding}\"?><methodCall><methodName>é</methodName></methodCall>"
        )
    };
    let method = |octets: &[u8], charset| read_call(octets, charset).map(|call| call.method);
    let latin = |text: String| text.chars().map(|c| c as u8).collect::<Vec<u8>>();
    let found = |text: &str| Ok(text.to_owned());
    assert_eq!(method(call("utf-8").as_bytes(), None), found("é"));
    assert_eq!(method(&latin(call("ISO-8859-1")), None), found("é"));
    assert_eq!(
        method(&latin(call("ISO-8859-1")), Some("utf-8")),
        Err(Error::NotInEncoding("UTF-8"))
    );
    assert_eq!(
        method(call("ISO-8859-1").as_bytes(), Some("UTF-8")),
        found("é")
    );
    assert_eq!(
        method(call("us-ascii").as_bytes(), None),
        Err(Error::NotInEncoding("US-ASCII"))
    );
    assert_eq!(
        method(&latin(call("utf-8")), None),
        Err(Error::NotInEncoding("UTF-8"))
    );
    let with_mark = [b"\xEF\xBB\xBF", call("utf-8").as_bytes()].concat();
    assert_eq!(method(&with_mark, None), found("é"));
    let refused =
        |octets: &[u8], charset| matches!(read_call(octets, charset), Err(Error::Encoding(_)));
    assert!(refused(call("UTF-7").as_bytes(), None));
    assert!(refused(call("utf-8").as_bytes(), Some("ebcdic-cp-us")));
    let wide = |order: fn(u16) -> [u8; 2]| {
        call("utf-16")
            .encode_utf16()
            .flat_map(order)
            .collect::<Vec<u8>>()
    };
    for octets in [wide(u16::to_be_bytes), wide(u16::to_le_bytes)] {
        assert!(refused(&octets, None));
    }
    assert!(refused(b"\xFF\xFE<\0", None));
    assert!(read_call(&[b"<?xml ".as_slice(), &[b' '; 100_000]].concat(), None).is_err());
}

#[test]
fn answers_are_documents() {
    let fault = fault(&XmlRpcValue::Struct(vec![
        ("faultCode".to_owned(), XmlRpcValue::Int(400)),
        ("faultString".to_owned(), XmlRpcValue::from("a < b\r\u{1}")),
    ]));
    assert!(fault.contains(
        "<fault><value><struct><member><name>faultCode</name><value><int>400</int></value>"
    ));
    assert!(fault.contains("<string>a &lt; b&#13;\u{FFFD}</string>"));
    let response = response(&XmlRpcValue::Int(3_000_000_000));
    assert!(
        response.contains("<params><param><value><i8>3000000000</i8></value></param></params>")
    );
}

fn text() -> impl Strategy<Value = String> {
    prop::collection::vec(
        any::<char>().prop_filter("XML", |c| read::is_allowed(*c)),
        0..40,
    )
    .prop_map(String::from_iter)
}

fn any_value() -> impl Strategy<Value = XmlRpcValue> {
    let leaf = prop_oneof![
        any::<i64>().prop_map(XmlRpcValue::Int),
        any::<bool>().prop_map(XmlRpcValue::Boolean),
        text().prop_map(XmlRpcValue::String),
        any::<f64>()
            .prop_filter("finite", |n| n.is_finite())
            .prop_map(XmlRpcValue::Double),
        // Years 1 to 9999.
        (-62_135_596_800_i64..253_402_207_200)
            .prop_map(|seconds| XmlRpcValue::DateTime(seconds * 1_000)),
        prop::collection::vec(any::<u8>(), 0..100)
            .prop_map(|octets| XmlRpcValue::Base64(octets.into())),
        Just(XmlRpcValue::Nil),
    ];
    leaf.prop_recursive(4, 64, 6, |inner| {
        let members = prop::collection::btree_map(text(), inner.clone(), 0..6);
        prop_oneof![
            prop::collection::vec(inner, 0..6).prop_map(XmlRpcValue::Array),
            members.prop_map(|members| XmlRpcValue::Struct(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn what_is_written_reads_the_same(written in any_value()) {
        let mut text = String::new();
        write(&mut text, &written);
        prop_assert_eq!(value(&text), Ok(written));
    }

    #[test]
    fn no_octets_stop_the_reader(octets in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = read_call(&octets, None);
        let _ = read_call(&octets, Some("iso-8859-1"));
    }

    #[test]
    fn no_damage_stops_the_reader(
        written in any_value(), at in any::<prop::sample::Index>(), octet in any::<u8>(), cut in any::<bool>(),
    ) {
        let mut text = String::new();
        write(&mut text, &written);
        let mut octets = document(&text).into_bytes();
        let at = at.index(octets.len());
        octets[at] = octet;
        if cut {
            octets.truncate(at);
        }
        let _ = read_call(&octets, None);
    }
}
