//! The least that an HTTP request which is answered when it is durable can cost: an actix-web handler that waits
//! for a group commit, which is one write and one fdatasync of a file for all requests that came meanwhile.
//!
//! `cargo bench --bench bare_http -- ADDRESS FILE WORKERS` listens until it is killed. scripts/bench-http compares
//! single messages over HTTP with it.

use std::fs::File;
use std::io::Write as _;
use std::sync::mpsc;

use actix_web::{App, HttpResponse, HttpServer, web};
use tokio::sync::oneshot;

/// Requests of one commit, and requests that wait for one, at most.
const MOST: usize = 1024;

/// A body, and who waits until it is durable.
type Entry = (web::Bytes, oneshot::Sender<()>);

#[actix_web::main]
async fn main() -> std::io::Result<()> {
    // cargo adds --bench.
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [address, file, workers, ..] = words.as_slice() else {
        panic!("give an address, a file and a number of workers");
    };
    let workers = workers.parse().expect("a number of workers");
    let file = File::create(file)?;
    let (entries, waiting) = mpsc::sync_channel(MOST);
    std::thread::spawn(move || commit(file, &waiting));
    HttpServer::new(move || {
        let entries = web::Data::new(entries.clone());
        App::new()
            .app_data(entries)
            .route("/v1/messages", web::post().to(take))
    })
    .workers(workers)
    .bind(address)?
    .run()
    .await
}

async fn take(body: web::Bytes, entries: web::Data<mpsc::SyncSender<Entry>>) -> HttpResponse {
    let (done, durable) = oneshot::channel();
    let taken = entries.try_send((body, done)).is_ok() && durable.await.is_ok();
    if taken {
        HttpResponse::Accepted().finish()
    } else {
        HttpResponse::InternalServerError().finish()
    }
}

fn commit(mut file: File, waiting: &mpsc::Receiver<Entry>) {
    while let Ok(first) = waiting.recv() {
        let more = waiting.try_iter().take(MOST - 1);
        let entries: Vec<Entry> = std::iter::once(first).chain(more).collect();
        let octets: Vec<u8> = entries.iter().flat_map(|(body, _)| body.to_vec()).collect();
        let written = file.write_all(&octets).and_then(|()| file.sync_data());
        written.expect("the disk has room");
        for (_, done) in entries {
            // A client that went away meanwhile is told nothing.
            let _ = done.send(());
        }
    }
}
