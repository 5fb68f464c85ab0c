//! Tests of single values.

use super::*;

#[test]
fn durations_go_both_ways() {
    let cases = [
        ("500ms", 500, "500ms"),
        ("30s", 30_000, "30s"),
        ("150s", 150_000, "150s"),
        ("120s", 120_000, "2m"),
        ("15m", 900_000, "15m"),
        ("72h", 259_200_000, "72h"),
        ("3d", 259_200_000, "72h"),
        ("10d", 864_000_000, "10d"),
        ("1h30m", 5_400_000, "90m"),
        ("0s", 0, "0s"),
        ("0", 0, "0s"),
        (" 5s ", 5_000, "5s"),
    ];
    for (text, millis, shown) in cases {
        let duration = parse_duration(text).unwrap();
        assert_eq!(duration, Duration::from_millis(millis), "{text}");
        assert_eq!(show_duration(duration), shown, "{text}");
    }
    for wrong in [
        "",
        "s",
        "30",
        "30 s",
        "-1s",
        "1.5s",
        "10x",
        "99999999999999999999s",
        "1s2",
    ] {
        assert_eq!(parse_duration(wrong), None, "{wrong}");
    }
}

#[test]
fn statuses_by_name_or_number() {
    let read = |value: Value| <Status as Leaf>::parse(&value).map(u32::from);
    assert_eq!(read(Value::from("ESME_RTHROTTLED")), Some(0x58));
    assert_eq!(read(Value::from("0x401")), Some(0x401));
    assert_eq!(read(Value::from(1025)), Some(0x401));
    assert_eq!(read(Value::from(-1)), None);
    assert_eq!(read(Value::from("nonsense")), None);
    assert_eq!(Leaf::show(&Status(0x0B)), "\"ESME_RINVDSTADR\"");
    assert_eq!(Leaf::show(&Status(0x401)), "0x401");
}

#[test]
fn numbers_stay_in_range() {
    assert_eq!(<u8 as Leaf>::parse(&Value::from(255)), Some(255));
    assert_eq!(<u8 as Leaf>::parse(&Value::from(256)), None);
    assert_eq!(<u32 as Leaf>::parse(&Value::from(-1)), None);
    assert_eq!(<u32 as Leaf>::parse(&Value::from("1")), None);
    assert_eq!(<f64 as Leaf>::parse(&Value::from(30)), Some(30.0));
    assert_eq!(<f64 as Leaf>::parse(&Value::from(30u64)), Some(30.0));
    assert_eq!(<f64 as Leaf>::parse(&Value::from(0.5)), Some(0.5));
}
