//! Components as octets. The octets were made by pycrate 0.8.1 from the ASN.1 of Q.773.

use proptest::prelude::*;

use super::*;
use crate::hex::octets;

fn bytes(hex: &str) -> Bytes {
    octets(hex).into()
}

fn invoke(id: i8, operation: u8, parameter: &str) -> Component {
    Component::Invoke(Invoke {
        id,
        operation,
        parameter: bytes(parameter),
        timeout: Duration::ZERO,
    })
}

fn unreadable(id: Option<i8>, of: Option<ComponentKind>, problem: RejectProblem) -> Vec<Component> {
    vec![Component::Unreadable { id, of, problem }]
}

#[test]
fn of_very_many_components_the_first_are_read() {
    let portion = octets(&"A1 06 02 01 01 02 01 2E".repeat(1_000));
    let read = read_components(&portion);
    let (last, first) = read.split_last().expect("some");
    assert_eq!(first, vec![invoke(1, 46, ""); COMPONENTS_MAX]);
    let badly = RejectProblem::BADLY_STRUCTURED_COMPONENT;
    assert_eq!(std::slice::from_ref(last), unreadable(None, None, badly));
    // As many as there may be are all.
    let portion = octets(&"A1 06 02 01 01 02 01 2E".repeat(COMPONENTS_MAX));
    assert_eq!(read_components(&portion).len(), COMPONENTS_MAX);
}

#[test]
fn components_are_those_of_the_standard() {
    // Q.773 §3.1, tables 18 to 25.
    for (hex, component) in [
        ("A1 08 02 01 01 02 01 2D 30 00", invoke(1, 45, "30 00")),
        ("A1 06 02 01 80 02 01 31", invoke(-128, 49, "")),
        ("A1 07 02 01 7F 02 02 00 C8", invoke(127, 200, "")),
        (
            "A2 0C 02 01 01 30 07 02 01 2C 04 02 AB CD",
            Component::result(1, 44, bytes("04 02 AB CD")),
        ),
        (
            "A2 03 02 01 02",
            Component::Result {
                id: 2,
                is_last: true,
                operation: None,
                parameter: Bytes::new(),
            },
        ),
        (
            "A7 0A 02 01 01 30 05 02 01 2D 30 00",
            Component::Result {
                id: 1,
                is_last: false,
                operation: Some(45),
                parameter: bytes("30 00"),
            },
        ),
        (
            "A3 08 02 01 01 02 01 1B 30 00",
            Component::error(1, 27, bytes("30 00")),
        ),
        (
            "A3 06 02 01 01 02 01 15",
            Component::error(1, 21, Bytes::new()),
        ),
        (
            "A4 05 05 00 80 01 00",
            Component::Reject {
                id: None,
                problem: RejectProblem::UNRECOGNIZED_COMPONENT,
            },
        ),
        (
            "A4 06 02 01 01 81 01 01",
            Component::Reject {
                id: Some(1),
                problem: RejectProblem::UNRECOGNIZED_OPERATION,
            },
        ),
        (
            "A4 06 02 01 01 82 01 00",
            Component::Reject {
                id: Some(1),
                problem: RejectProblem::RESULT_OF_UNRECOGNIZED_ID,
            },
        ),
        (
            "A4 06 02 01 FF 83 01 04",
            Component::Reject {
                id: Some(-1),
                problem: RejectProblem::MISTYPED_ERROR_PARAMETER,
            },
        ),
    ] {
        let mut out = Vec::new();
        component.write(&mut out);
        assert_eq!(out, octets(hex), "{component:?}");
        assert_eq!(read_components(&out), [component]);
    }
}

#[test]
fn other_forms_of_the_same_are_read() {
    for (hex, component) in [
        // Indefinite lengths, in the parameter as well: Q.773 §4.1.2.3
        (
            "A1 80 02 01 01 02 01 2D 30 80 80 01 05 00 00 00 00",
            invoke(1, 45, "30 03 80 01 05"),
        ),
        ("A1 81 08 02 01 01 02 01 2D 30 00", invoke(1, 45, "30 00")),
        // An operation code that is longer than it need be.
        ("A1 07 02 01 01 02 02 00 2D", invoke(1, 45, "")),
        // A result that names its operation alone.
        (
            "A2 08 02 01 01 30 03 02 01 2C",
            Component::result(1, 44, Bytes::new()),
        ),
        // What is inside a parameter is not looked at.
        (
            "A1 0A 02 01 01 02 01 2D 30 02 30 7F",
            invoke(1, 45, "30 02 30 7F"),
        ),
    ] {
        assert_eq!(read_components(&octets(hex)), [component], "{hex}");
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn what_cannot_be_read_says_why() {
    use ComponentKind as Kind;
    use RejectProblem as Problem;
    // Q.772 §3.7: octets, id, kind, problem.
    for (hex, id, of, problem) in [
        (
            "A5 03 02 01 01",
            None,
            None,
            Problem::UNRECOGNIZED_COMPONENT,
        ),
        (
            "81 03 02 01 01",
            None,
            None,
            Problem::UNRECOGNIZED_COMPONENT,
        ),
        (
            "A1 00",
            None,
            Some(Kind::Invoke),
            Problem::MISTYPED_COMPONENT,
        ),
        (
            "A1 04 02 02 01 01",
            None,
            Some(Kind::Invoke),
            Problem::MISTYPED_COMPONENT,
        ),
        (
            "A1 03 02 01 05",
            Some(5),
            Some(Kind::Invoke),
            Problem::MISTYPED_COMPONENT,
        ),
        (
            "A1 05 02 01 05 02 00",
            Some(5),
            Some(Kind::Invoke),
            Problem::MISTYPED_COMPONENT,
        ),
        (
            "A1 0A 02 01 05 02 01 2D 05 00 05 00",
            Some(5),
            Some(Kind::Invoke),
            Problem::MISTYPED_COMPONENT,
        ),
        (
            "A1 08 02 01 05 02 01 2D 30 7F",
            Some(5),
            Some(Kind::Invoke),
            Problem::BADLY_STRUCTURED_COMPONENT,
        ),
        (
            "A1 7F 02 01 05 02 01 2D",
            Some(5),
            Some(Kind::Invoke),
            Problem::BADLY_STRUCTURED_COMPONENT,
        ),
        ("A1", None, None, Problem::BADLY_STRUCTURED_COMPONENT),
        // Codes that no operation or error of short messages has.
        (
            "A1 08 02 01 05 06 03 04 00 01",
            Some(5),
            Some(Kind::Invoke),
            Problem::UNRECOGNIZED_OPERATION,
        ),
        (
            "A1 07 02 01 05 02 02 01 00",
            Some(5),
            Some(Kind::Invoke),
            Problem::UNRECOGNIZED_OPERATION,
        ),
        (
            "A1 06 02 01 05 02 01 FF",
            Some(5),
            Some(Kind::Invoke),
            Problem::UNRECOGNIZED_OPERATION,
        ),
        (
            "A3 06 02 01 05 02 01 FF",
            Some(5),
            Some(Kind::Error),
            Problem::UNRECOGNIZED_ERROR,
        ),
        (
            "A1 09 02 01 05 80 01 01 02 01 2D",
            Some(5),
            Some(Kind::Invoke),
            Problem::LINKED_RESPONSE_UNEXPECTED,
        ),
        (
            "A2 05 02 01 05 05 00",
            Some(5),
            Some(Kind::Result),
            Problem::MISTYPED_COMPONENT,
        ),
        (
            "A7 05 02 01 05 30 00",
            Some(5),
            Some(Kind::Result),
            Problem::MISTYPED_COMPONENT,
        ),
        (
            "A4 03 02 01 05",
            Some(5),
            Some(Kind::Reject),
            Problem::MISTYPED_COMPONENT,
        ),
        (
            "A4 06 02 01 05 84 01 00",
            Some(5),
            Some(Kind::Reject),
            Problem::MISTYPED_COMPONENT,
        ),
        (
            "A4 06 05 01 00 80 01 00",
            None,
            Some(Kind::Reject),
            Problem::MISTYPED_COMPONENT,
        ),
    ] {
        assert_eq!(
            read_components(&octets(hex)),
            unreadable(id, of, problem),
            "{hex}"
        );
    }
}

#[test]
fn what_is_behind_a_malformed_component_is_discarded() {
    // Q.774 §3.2.2.2. An operation that nobody knows is well formed.
    let good = "A1 06 02 01 01 02 01 2D";
    let malformed = read_components(&octets(&format!("{good} A1 00 {good}")));
    assert_eq!(malformed.len(), 2);
    assert_eq!(malformed[0], invoke(1, 45, ""));
    let unknown = read_components(&octets(&format!("A1 06 02 01 05 02 01 FF {good}")));
    assert_eq!(unknown.len(), 2);
    assert_eq!(unknown[1], invoke(1, 45, ""));
}

#[test]
fn what_was_unreadable_is_not_written() {
    let mut out = Vec::new();
    unreadable(None, None, RejectProblem::General(0))[0].write(&mut out);
    assert_eq!(out, []);
}

fn any_parameter() -> impl Strategy<Value = Bytes> {
    let content = prop::collection::vec(any::<u8>(), 0..300);
    prop_oneof![
        Just(Bytes::new()),
        content.prop_map(|content| ber::element(ber::OCTET_STRING, &content).into()),
    ]
}

pub(crate) fn any_component() -> impl Strategy<Value = Component> {
    prop_oneof![
        (any::<i8>(), any::<u8>(), any_parameter()).prop_map(|(id, operation, parameter)| {
            Component::Invoke(Invoke {
                id,
                operation,
                parameter,
                timeout: Duration::ZERO,
            })
        }),
        (any::<i8>(), any::<bool>(), any::<u8>(), any_parameter()).prop_map(
            |(id, is_last, operation, parameter)| Component::Result {
                id,
                is_last,
                operation: Some(operation).filter(|_| !parameter.is_empty()),
                parameter,
            }
        ),
        (any::<i8>(), any::<u8>(), any_parameter())
            .prop_map(|(id, code, parameter)| Component::error(id, code, parameter)),
        (any::<Option<i8>>(), 0..4_u8, any::<u8>()).prop_map(|(id, class, code)| {
            let problem = match class {
                0 => RejectProblem::General(code),
                1 => RejectProblem::Invoke(code),
                2 => RejectProblem::Result(code),
                _ => RejectProblem::Error(code),
            };
            Component::Reject { id, problem }
        }),
    ]
}

proptest! {
    #[test]
    fn what_is_written_is_read(components in prop::collection::vec(any_component(), 0..6)) {
        let mut out = Vec::new();
        for component in &components {
            component.write(&mut out);
        }
        prop_assert_eq!(read_components(&out), components);
    }

    #[test]
    fn no_octets_panic(input in prop::collection::vec(any::<u8>(), 0..200)) {
        let read = read_components(&input);
        prop_assert!(read.len() <= input.len());
    }
}
