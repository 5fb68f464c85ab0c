//! Who is asked about numbers, in their order: the services of a question, behind one face.
//!
//! The resolver asks the first one, and the next one if that knows nothing or fails. Invariant: an
//! answer is one that the question may have, or an empty text when the source knows nothing; anything
//! else is an error. Unknown and unreachable are different outcomes.

use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;

use super::control::{Control, ControlOptions};
use super::question::{Imsi, LookupError, Network, Question};
use super::service::{Service, ServiceOptions};
use crate::config::{self, ImsiSource};

/// An answer to come: empty when the source knows nothing about the number.
pub type Answer = Pin<Box<dyn Future<Output = Result<String, LookupError>>>>;

/// Somebody who is asked about numbers.
pub trait Source {
    /// What it is, for people.
    fn name(&self) -> String;

    /// Asks about a number without a plus. Bounded in time.
    fn ask(&self, number: &[u8]) -> Answer;
}

/// Questions with sources of their own.
pub trait Asked: Question {
    /// The configured sources in their order. They connect later.
    ///
    /// # Errors
    /// What cannot be used, such as a file of certificates.
    fn sources(section: &Self::Section) -> Result<Vec<Rc<dyn Source>>, String>;
}

impl Asked for Network {
    fn sources(section: &config::Resolver) -> Result<Vec<Rc<dyn Source>>, String> {
        let Some(url) = section.url.clone() else {
            return Ok(Vec::new());
        };
        let options = ServiceOptions {
            url,
            token: section.token.clone(),
            ca_file: section.ca_file.clone(),
            ca_key: "resolver.ca_file",
            pointer: section.pointer.clone(),
            timeout: section.timeout,
            connections: section.concurrency,
            is_answer: Self::is_answer,
        };
        Ok(vec![Rc::new(Http(Arc::new(Service::new(options)?)))])
    }
}

impl Asked for Imsi {
    fn sources(section: &config::Imsi) -> Result<Vec<Rc<dyn Source>>, String> {
        let mut sources: Vec<Rc<dyn Source>> = Vec::new();
        for source in &section.ask {
            match (source, &section.hlr, &section.url) {
                (ImsiSource::Hlr, Some(address), _) => {
                    sources.push(Rc::new(Control::new(ControlOptions {
                        address: address.clone(),
                        timeout: section.timeout,
                        is_answer: Self::is_answer,
                    })));
                }
                (ImsiSource::Http, _, Some(url)) => {
                    let options = ServiceOptions {
                        url: url.clone(),
                        token: section.token.clone(),
                        ca_file: section.ca_file.clone(),
                        ca_key: "imsi.ca_file",
                        pointer: section.pointer.clone(),
                        timeout: section.timeout,
                        connections: section.concurrency,
                        is_answer: Self::is_answer,
                    };
                    sources.push(Rc::new(Http(Arc::new(Service::new(options)?))));
                }
                (ImsiSource::Hlr, None, _) | (ImsiSource::Http, _, None) => {}
            }
        }
        Ok(sources)
    }
}

/// A service over HTTP.
struct Http(Arc<Service>);

impl Source for Http {
    fn name(&self) -> String {
        "the look-up service".to_owned()
    }

    fn ask(&self, number: &[u8]) -> Answer {
        let (service, number) = (Arc::clone(&self.0), number.to_vec());
        Box::pin(async move {
            let asked = tokio::task::spawn_blocking(move || service.ask(&number));
            asked
                .await
                .unwrap_or_else(|error| Err(LookupError::Unusable(error.to_string())))
        })
    }
}
