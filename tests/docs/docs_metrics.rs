//! docs/metrics.md lists what /metrics exposes. `SMSC_BLESS=1` writes it.

use std::fs;
use std::path::Path;

use smsc::http::metrics;

#[test]
fn the_page_is_generated_from_the_code() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/metrics.md");
    let generated = metrics::markdown();
    if std::env::var_os("SMSC_BLESS").is_some() {
        fs::write(&page, &generated).unwrap();
    }
    let written = fs::read_to_string(&page).unwrap_or_default();
    assert!(
        written == generated,
        "docs/metrics.md is out of date; run SMSC_BLESS=1 cargo test --test docs docs_metrics"
    );
}
