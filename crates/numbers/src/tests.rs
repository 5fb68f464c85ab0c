//! Numbers of several countries, possible and impossible ones.

use super::*;

fn of(country: &str) -> Numbers {
    Numbers::new(Some(country.parse().unwrap()), Check::Any)
}

fn wrong(numbers: Numbers, text: &str) -> String {
    numbers.read(text).unwrap_err().to_string()
}

#[test]
fn without_a_country_only_the_decoration_goes() {
    let numbers = Numbers::default();
    for text in [
        "447700900123",
        "+44 7700 900-123",
        "0044 (7700) 900.123",
        " +447700900123 ",
    ] {
        assert_eq!(numbers.read(text).as_deref(), Ok("447700900123"), "{text}");
    }
    // Numbers that no plan knows belong to test networks.
    for text in ["999", "99999999999999999999", "07700900123"] {
        assert_eq!(numbers.read(text).as_deref(), Ok(text));
    }
    for text in [
        "12",
        "",
        "+",
        "44770090O123",
        "123456789012345678901",
        "ACME",
    ] {
        assert!(
            wrong(numbers, text).contains("international form"),
            "{text}"
        );
    }
}

#[test]
fn national_numbers_get_the_code_of_their_country() {
    for (country, text, number) in [
        ("GB", "07700 900123", "447700900123"),
        ("GB", "(020) 7946 0018", "442079460018"),
        ("GB", "7700900123", "447700900123"),
        ("DE", "0171/1234567", ""),
        ("DE", "0171 1234567", "491711234567"),
        ("FR", "06 12 34 56 78", "33612345678"),
        // The zero of Italy stays.
        ("IT", "06 1234 5678", "390612345678"),
        ("IT", "333 123 4567", "393331234567"),
        ("US", "(202) 555-0123", "12025550123"),
        // Possible in Iran as well.
        ("IN", "98123 45678", "919812345678"),
        ("US", "1 202 555 0123", "12025550123"),
        ("US", "011 44 7700 900123", "447700900123"),
        ("RU", "8 912 345-67-89", "79123456789"),
        ("SG", "8123 4567", "6581234567"),
        ("MX", "55 1234 5678", "525512345678"),
    ] {
        let read = of(country).read(text);
        match number {
            "" => assert!(read.is_err(), "{text}"),
            _ => assert_eq!(read.as_deref(), Ok(number), "{country} {text}"),
        }
    }
}

#[test]
fn international_numbers_stay_what_they_are() {
    for country in ["GB", "US", "IT", "DE", "IN"] {
        for text in [
            "+44 7700 900123",
            "0044 7700 900123",
            "+0044 7700 900123",
            "447700900123",
        ] {
            let read = of(country).read(text);
            assert_eq!(read.as_deref(), Ok("447700900123"), "{country} {text}");
        }
        // Of a test network, with a plus.
        let read = of(country).read("+99912345");
        assert_eq!(read.as_deref(), Ok("99912345"), "{country}");
    }
    // Without a plus, that of a mobile phone in the country is national.
    assert_eq!(of("US").read("2025550123").as_deref(), Ok("12025550123"));
    assert_eq!(of("EG").read("+2025550123").as_deref(), Ok("2025550123"));
}

#[test]
fn impossible_numbers_say_why() {
    for (country, text, part) in [
        ("GB", "077009001234567", "too long in GB"),
        ("GB", "12345", "too short in GB"),
        ("GB", "112", "too short in GB"),
        ("US", "555-0123", "too short in US"),
    ] {
        let said = wrong(of(country), text);
        assert!(
            said.contains("impossible number") && said.contains(part),
            "{said}"
        );
    }
    assert!(wrong(of("GB"), "07700900ABC").contains("dialled in GB"));
}

#[test]
fn a_check_refuses_more() {
    let [possible, valid] = [Check::Possible, Check::Valid].map(|check| Numbers::new(None, check));
    for (text, part) in [
        ("+99912345678", "of no country"),
        ("4477", "too short for its country"),
        ("+44770090012345", "too long for its country"),
    ] {
        assert!(
            wrong(possible, text).contains(part),
            "{}",
            wrong(possible, text)
        );
        assert!(wrong(valid, text).contains(part), "{text}");
    }
    // The range for films and tests is possible, and in use nowhere.
    assert_eq!(
        possible.read("+447700900123").as_deref(),
        Ok("447700900123")
    );
    assert!(wrong(valid, "+447700900123").contains("not in use"));
    let national = Numbers::new("GB".parse().ok(), Check::Valid);
    assert_eq!(national.read("07912 345678").as_deref(), Ok("447912345678"));
    assert!(wrong(national, "07700 900123").contains("not in use"));
}

#[test]
fn countries_are_two_letters() {
    for code in ["GB", "US", "DE", "CN", "BR", "NG", "XK"] {
        assert!(code.parse::<Country>().is_ok(), "{code}");
    }
    for code in ["", "gb", "UK", "GBR", "ZZ", "001", "44"] {
        assert_eq!(code.parse::<Country>(), Err(NotACountry), "{code}");
    }
}
