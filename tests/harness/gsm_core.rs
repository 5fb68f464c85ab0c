//! A simulated GSM core, played by the test: it says how each phone behaves and sees what each has got.

use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::JoinHandle;

use bytes::Bytes;
use smsc::gsm_core::{Arrived, GsmCore, GsmCoreOptions, Phone, Phones};
use smsc::simulator::{Delay, SimulatorOptions};
use smsc::sms::tpdu::{SmsSubmit, Tpdu, TpduAddress, UserData};
use tokio::sync::oneshot;

use super::{free_port, until};

/// A core, running or not.
pub struct FakeCore {
    port: u16,
    latency: Delay,
    running: Option<Running>,
}

struct Running {
    phones: Arc<Phones>,
    /// Ends the thread when it is dropped.
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// An SMS-SUBMIT with a text of letters, digits and blanks, which are their own septets.
pub fn saying(text: &str, submit: SmsSubmit) -> Bytes {
    let user_data = UserData {
        body: Bytes::copy_from_slice(text.as_bytes()),
        ..UserData::default()
    };
    let submit = SmsSubmit {
        user_data,
        ..submit
    };
    Tpdu::Submit(submit).encode().unwrap().into()
}

/// An SMS-SUBMIT of a handset to a number.
pub fn from_handset(to: &str, text: &str) -> Bytes {
    let submit = SmsSubmit {
        message_reference: 7,
        destination_address: TpduAddress::international(to),
        ..SmsSubmit::default()
    };
    saying(text, submit)
}

// === impl FakeCore ===

impl FakeCore {
    /// A core that answers at once, running.
    pub fn start() -> Self {
        Self::with(Delay::default())
    }

    /// A core that answers after such a time: `20ms`, `1ms..20ms`.
    pub fn slow(latency: &str) -> Self {
        Self::with(latency.parse().unwrap())
    }

    fn with(latency: Delay) -> Self {
        let mut core = Self {
            port: free_port(),
            latency,
            running: None,
        };
        core.start_again();
        core
    }

    /// Starts it on the same port, with phones that have got nothing.
    pub fn start_again(&mut self) {
        assert!(self.running.is_none(), "the core runs already");
        let options = GsmCoreOptions {
            like: SimulatorOptions {
                listen: self.address().to_string(),
                latency: self.latency,
                ..SimulatorOptions::default()
            },
            keep: true,
            ..GsmCoreOptions::default()
        };
        let (told, asked) = std::sync::mpsc::channel();
        let (stop, stopped) = oneshot::channel();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .expect("a runtime");
            runtime.block_on(async move {
                let core = loop {
                    // The port of a core that was killed may be taken for a moment.
                    match GsmCore::bind(options.clone()).await {
                        Ok(core) => break core,
                        Err(_) => tokio::time::sleep(super::LOOK_AGAIN).await,
                    }
                };
                let _ = told.send(core.phones());
                tokio::select! {
                    () = core.run() => {}
                    _ = stopped => {}
                }
            });
        });
        self.running = Some(Running {
            phones: asked.recv().expect("it listens"),
            stop: Some(stop),
            thread: Some(thread),
        });
    }

    /// Closes its port and all connections.
    pub fn stop(&mut self) {
        self.running = None;
    }

    /// Its address, even while it is down.
    pub fn address(&self) -> SocketAddr {
        ([127, 0, 0, 1], self.port).into()
    }

    /// The phones of a core that runs.
    pub fn phones(&self) -> &Phones {
        let running = self.running.as_ref().expect("it runs");
        &running.phones
    }

    /// From now on a phone behaves so.
    pub fn set(&self, imsi: &str, phone: Phone) {
        self.phones().set(imsi, phone);
    }

    /// Waits until so many SMSCs are connected.
    pub fn wait_for_connections(&self, count: usize) {
        until(&format!("{count} connections to the core"), || {
            (self.phones().connected().len() == count).then_some(())
        });
    }

    /// Waits until a phone has taken so many messages.
    pub fn wait_for(&self, imsi: &str, messages: usize) -> Vec<Arrived> {
        until(&format!("{messages} messages at {imsi}"), || {
            let taken = self.phones().delivered(imsi);
            (taken.len() >= messages).then_some(taken)
        })
    }

    /// Waits until so many messages have come for a phone, taken or not.
    pub fn wait_for_attempts(&self, imsi: &str, attempts: usize) {
        until(&format!("{attempts} attempts at {imsi}"), || {
            let all = self.phones().arrived_so_far();
            let of_phone = all.iter().filter(|one| one.imsi == imsi);
            (of_phone.count() >= attempts).then_some(())
        });
    }

    /// A phone, known by its MSISDN and IMSI, sends this; the RP-cause of the answer, 0 for RP-ACK.
    pub fn sends(&self, (number, imsi): &(String, String), tpdu: Bytes) -> u8 {
        let before = self.phones().answers().len();
        assert!(self.phones().submit(imsi, number, "49160000", tpdu));
        until("the answer to a phone", || {
            let answers = self.phones().answers();
            answers.get(before).map(|(_, cause)| *cause)
        })
    }

    /// What a phone has got, as texts.
    pub fn texts(&self, imsi: &str) -> Vec<String> {
        let taken = self.phones().delivered(imsi).into_iter();
        taken.map(|one| one.text).collect()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
