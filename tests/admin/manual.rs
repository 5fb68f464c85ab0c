//! The manual at `/docs/`: every page, a list of contents and search, for whoever can reach the console, without a
//! token; and nothing else.

use crate::harness::Smsc;

fn get(smsc: &Smsc, path: &str) -> (u16, String, String) {
    let mut answer = ureq::get(format!("http://{}{path}", smsc.http()))
        .config()
        .http_status_as_error(false)
        .max_redirects(0)
        .build()
        .call()
        .unwrap();
    let header = |name| {
        let value = answer.headers().get(name);
        value.map_or_else(String::new, |value| value.to_str().unwrap().to_owned())
    };
    let shown = match answer.status().as_u16() {
        308 => header("location"),
        200 => header("content-security-policy"),
        _ => header("content-type"),
    };
    let text = answer.body_mut().read_to_string().unwrap();
    (answer.status().as_u16(), shown, text)
}

#[test]
fn all_pages_are_served_without_a_token() {
    let smsc = Smsc::new().start();
    assert_eq!(
        get(&smsc, "/docs"),
        (308, "/docs/".to_owned(), String::new())
    );
    // A page of an earlier release is a part of another one.
    assert_eq!(
        get(&smsc, "/docs/upgrade.md"),
        (308, "/docs/install.md#upgrade".to_owned(), String::new())
    );
    let (status, policy, contents) = get(&smsc, "/docs/");
    assert_eq!(status, 200);
    assert!(
        policy.contains("script-src 'self'; style-src 'self'"),
        "{policy}"
    );
    let mut pages = 0;
    for entry in std::fs::read_dir("docs").unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if !name.ends_with(".md") {
            continue;
        }
        assert!(contents.contains(&format!("href=\"{name}\"")), "{name}");
        let (status, _, page) = get(&smsc, &format!("/docs/{name}"));
        assert_eq!(status, 200, "{name}");
        assert!(
            page.contains(&format!("href=\"{name}\" aria-current=\"page\"")),
            "{name}"
        );
        assert!(page.contains("<h1 id="), "{name}");
        pages += 1;
    }
    assert!(pages > 10, "{pages}");
}

#[test]
fn search_finds_sections_and_shows_what_was_asked_as_text() {
    let smsc = Smsc::new().start();
    let (status, _, found) = get(&smsc, "/docs/search?q=strict_order");
    assert_eq!(status, 200);
    assert!(found.contains("href=\"configuration.md#"), "{found}");
    assert!(found.contains("value=\"strict_order\""), "{found}");
    let (_, _, nothing) = get(&smsc, "/docs/search?q=%22%3E%3Cscript%3Exyzzy");
    assert!(
        nothing.contains("Nothing has any of: \"&gt;&lt;script&gt;xyzzy"),
        "{nothing}"
    );
    assert!(
        nothing.contains("value=\"&quot;&gt;&lt;script&gt;xyzzy\""),
        "{nothing}"
    );
    assert!(!nothing.contains("<script>xyzzy"), "{nothing}");
    // Nor does it become a place of the page.
    let (_, _, place) = get(&smsc, "/docs/search?q=%7B%7Bmain%7D%7D");
    assert!(place.contains("value=\"&#123;&#123;main}}\""), "{place}");
    assert_eq!(get(&smsc, "/docs/search").0, 200);
}

#[test]
fn what_is_not_there_is_a_problem() {
    let smsc = Smsc::new().start();
    for path in [
        "/docs/nothing.md",
        "/docs/..%2fCargo.toml",
        "/docs/console.css",
    ] {
        let (status, kind, text) = get(&smsc, path);
        assert_eq!(
            (status, &*kind),
            (404, "application/problem+json"),
            "{path}: {text}"
        );
    }
    let answer = ureq::post(format!("http://{}/docs/", smsc.http()))
        .config()
        .http_status_as_error(false)
        .build()
        .send_empty();
    assert_eq!(answer.unwrap().status(), 405);
}
