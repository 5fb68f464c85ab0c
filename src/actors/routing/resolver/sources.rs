//! The sources of each question, in their order, from the configuration.
//!
//! The resolver asks the first one, and the next one if that knows nothing or fails.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use super::control::{Control, ControlOptions};
use super::enumber::{Enum, EnumOptions};
use super::question::{ImsiQuestion, LookUpQuestion, NetworkQuestion};
use super::service::{Service, ServiceOptions};
use super::source::{LookUpAnswer, LookUpSource, LookupError};
use crate::actors::context::handlers::Handlers;
use crate::config::{self, ImsiSource};

/// Questions with sources of their own.
pub trait SourcedQuestion: LookUpQuestion {
    /// The configured sources in their order. They connect later; programs of this machine are among the handlers.
    ///
    /// # Errors
    /// What cannot be used, such as a file of certificates.
    fn sources(
        section: &Self::Section,
        handlers: &Arc<Handlers>,
    ) -> Result<Vec<Rc<dyn LookUpSource>>, String>;
}

impl SourcedQuestion for NetworkQuestion {
    fn sources(
        section: &config::ResolverConfig,
        _: &Arc<Handlers>,
    ) -> Result<Vec<Rc<dyn LookUpSource>>, String> {
        let mut sources: Vec<Rc<dyn LookUpSource>> = Vec::new();
        if let Some(url) = section.url.clone() {
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
            sources.push(Rc::new(HttpSource(Arc::new(Service::new(options)?))));
        }
        if !section.enum_servers.is_empty() {
            sources.push(Rc::new(Enum::new(EnumOptions {
                servers: section.enum_servers.clone(),
                zone: section.enum_zone.clone(),
                parameter: section.enum_parameter.clone(),
                timeout: section.timeout,
                concurrency: section.concurrency,
                is_answer: Self::is_answer,
            })?));
        }
        Ok(sources)
    }
}

impl SourcedQuestion for ImsiQuestion {
    fn sources(
        section: &config::ImsiConfig,
        handlers: &Arc<Handlers>,
    ) -> Result<Vec<Rc<dyn LookUpSource>>, String> {
        let mut sources: Vec<Rc<dyn LookUpSource>> = Vec::new();
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
                    sources.push(Rc::new(HttpSource(Arc::new(Service::new(options)?))));
                }
                (ImsiSource::Local, ..) => sources.push(Rc::new(Program {
                    handlers: Arc::clone(handlers),
                    timeout: section.timeout,
                })),
                (ImsiSource::Hlr, None, _) | (ImsiSource::Http, _, None) => {}
            }
        }
        Ok(sources)
    }
}

/// A program at the local socket.
struct Program {
    handlers: Arc<Handlers>,
    timeout: Duration,
}

impl LookUpSource for Program {
    fn name(&self) -> String {
        "the program at local.socket".to_owned()
    }

    fn ask(&self, number: &[u8]) -> LookUpAnswer {
        let (handlers, timeout) = (Arc::clone(&self.handlers), self.timeout);
        let msisdn = String::from_utf8_lossy(number).into_owned();
        Box::pin(async move {
            let asked = tokio::time::timeout(timeout, handlers.ask(msisdn)).await;
            let said =
                asked.map_err(|_| LookupError::Unreachable("no answer in time".to_owned()))?;
            let answer = said.map_err(LookupError::Unreachable)?;
            if answer.is_empty() || ImsiQuestion::is_answer(&answer) {
                Ok(answer)
            } else {
                Err(LookupError::Unusable("it is no IMSI".to_owned()))
            }
        })
    }
}

/// A service over HTTP.
struct HttpSource(Arc<Service>);

impl LookUpSource for HttpSource {
    fn name(&self) -> String {
        "the look-up service".to_owned()
    }

    fn ask(&self, number: &[u8]) -> LookUpAnswer {
        let (service, number) = (Arc::clone(&self.0), number.to_vec());
        Box::pin(async move {
            let asked = tokio::task::spawn_blocking(move || service.ask(&number));
            asked
                .await
                .unwrap_or_else(|error| Err(LookupError::Unusable(error.to_string())))
        })
    }
}
