//! Pages, the chart and packages agree with the program.

#[path = "../harness/mod.rs"]
mod harness;

mod bill_of_materials;
mod docs_cli;
mod docs_configuration;
mod docs_conformance;
mod docs_metrics;
mod helm_chart;
mod packaging;
