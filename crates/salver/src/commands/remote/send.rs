//! A deploy to a server: what it lacks is sent, over a few connections, until all is there; then it switches.
//!
//! What was cut goes on: the server keeps what has come, and says what of each blob it has.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::thread::sleep;
use std::time::Duration;
use std::vec::IntoIter;

use salver_store::{BlobDigest, Event, NewPreview, Piece, SiteFiles};
use serde::Deserialize;

use super::connection::Connection;
use super::{Server, Trouble, ask};
use crate::failure::Failure;
use crate::reports::DeployReport;

/// The connections over which content is sent.
const CONNECTIONS: usize = 4;

/// The bytes of pieces in one request; those of what says what they are come on top.
const REQUEST: usize = 1024 * 1024;

/// The least bytes of a piece that is begun at the end of a request.
const LEAST_PIECE: usize = 64 * 1024;

/// The times that a deploy is begun before it is given up, and the first pause between two.
const TRIES: u32 = 6;
const PAUSE: Duration = Duration::from_millis(250);

/// The rounds of asking what is missing and sending it.
const ROUNDS: usize = 16;

/// The interval at which the server is asked how far its work is: the first, and the longest.
const ASKED: [Duration; 2] = [Duration::from_millis(20), Duration::from_secs(1)];

/// The release that is current where none is.
const NONE: &str = "-";

/// What is deployed, and how.
pub(in super::super) struct Deploying<'a> {
    pub(in super::super) files: &'a SiteFiles,
    /// Who deploys, for the journal.
    pub(in super::super) by: &'a str,
    /// The preview that it becomes, instead of the current one.
    pub(in super::super) preview: Option<&'a NewPreview>,
    /// True if it takes the place of whatever is current.
    pub(in super::super) force: bool,
    /// True if codings are made before the switch.
    pub(in super::super) waits_for_codings: bool,
}

/// The listener of what goes on; false ends it.
type Listener<'a> = dyn FnMut(Event<'_>) -> bool + 'a;

#[derive(Deserialize)]
struct Begun {
    deploy: String,
    current: Option<String>,
}

#[derive(Deserialize)]
struct MissingPage {
    missing: Vec<Missing>,
    more: bool,
}

#[derive(Deserialize)]
struct Missing {
    blob: String,
    length: u64,
    received: u64,
}

#[derive(Deserialize)]
struct Status {
    state: String,
    done: u64,
    expected: u64,
    result: Option<DeployReport>,
    status: Option<u16>,
    error: Option<String>,
}

/// Deploys; goes on by itself where a connection is cut.
///
/// # Errors
/// What is wrong; the release that was current still is.
pub(super) fn deploy(
    server: &Server,
    deploying: &Deploying<'_>,
    listener: &mut Listener<'_>,
) -> Result<DeployReport, Failure> {
    let mut attempt = Attempt {
        server,
        deploying,
        manifest: deploying.files.manifest().to_text().into_bytes(),
        expected: None,
        sent: AtomicU64::new(0),
    };
    let (mut tries, mut pause, mut sent) = (1, PAUSE, 0);
    loop {
        match attempt.run(listener) {
            // Where nobody has answered yet, nothing is waited for.
            Err(Trouble::Cut(why)) if tries < TRIES && attempt.expected.is_some() => {
                let now = attempt.sent.load(Ordering::Relaxed);
                if now > sent {
                    (tries, pause, sent) = (0, PAUSE, now);
                }
                if !listener(Event::Note(&format!("{why}: going on"))) {
                    return Err(server.failure(Trouble::Stopped));
                }
                sleep(pause);
                tries += 1;
                pause *= 2;
            }
            ended => return ended.map_err(|trouble| server.failure(trouble)),
        }
    }
}

/// A deploy, which is begun anew where it was cut.
struct Attempt<'a> {
    server: &'a Server,
    deploying: &'a Deploying<'a>,
    manifest: Vec<u8>,
    /// The release that was current when this first looked.
    expected: Option<String>,
    /// The bytes that were taken so far, in all tries.
    sent: AtomicU64,
}

impl Attempt<'_> {
    fn run(&mut self, listener: &mut Listener<'_>) -> Result<DeployReport, Trouble> {
        let mut connection = self.server.connect()?;
        let digest = BlobDigest::of(&self.manifest).to_string();
        let length = self.manifest.len().to_string();
        let parameters = [
            ("manifest", &*digest),
            ("length", &*length),
            ("by", self.deploying.by),
        ];
        let path = self.server.path("/deploys", &parameters);
        let begun: Begun = ask(&mut connection, "POST", &path, &[])?;
        let current = begun.current.unwrap_or_else(|| NONE.to_owned());
        let expected = self.expected.get_or_insert(current).clone();
        if self.deploying.preview.is_some() && expected == NONE {
            // The server would say so as well, once all has been sent.
            let why = "no release is current: deploy one without --preview first";
            return Err(Trouble::Refused(422, why.to_owned()));
        }
        let id = begun.deploy;
        self.send_missing(&mut connection, &id, Part::Manifest, listener)?;
        post(&mut connection, &format!("/deploys/{id}/examine"))?;
        wait(&mut connection, &id, listener)?;
        self.send_missing(&mut connection, &id, Part::Blobs, listener)?;
        let codings = if self.deploying.waits_for_codings {
            "wait"
        } else {
            "none"
        };
        let mut commit = format!("/deploys/{id}/commit?codings={codings}");
        match self.deploying.preview {
            Some(NewPreview {
                name,
                expires_after,
            }) => {
                let seconds = expires_after.as_secs().max(1);
                commit.push_str(&format!("&preview={name}&expires={seconds}"));
            }
            None if self.deploying.force => {}
            None => commit.push_str(&format!("&expected={expected}")),
        }
        post(&mut connection, &commit)?;
        let status = wait(&mut connection, &id, listener)?;
        status
            .result
            .ok_or_else(|| Trouble::Refused(200, "it has not said what became of it".to_owned()))
    }

    /// Sends what the server says is missing, until nothing is.
    fn send_missing(
        &self,
        connection: &mut Connection,
        id: &str,
        part: Part,
        listener: &mut Listener<'_>,
    ) -> Result<(), Trouble> {
        for _ in 0..ROUNDS {
            let mut missing = missing(connection, id)?;
            if part == Part::Manifest {
                // What is whole of it is what is compared next.
                missing.retain(|one| one.received < one.length);
            }
            if missing.is_empty() {
                return Ok(());
            }
            let left = missing
                .iter()
                .map(|one| one.length.saturating_sub(one.received));
            let left = left.fold(0, u64::saturating_add);
            listener(Event::Expected(left));
            self.send(missing, id, listener)?;
        }
        Err(Trouble::Cut(
            "what was sent is missing again and again".to_owned(),
        ))
    }

    /// Sends blobs over a few connections.
    fn send(
        &self,
        missing: Vec<Missing>,
        id: &str,
        listener: &mut Listener<'_>,
    ) -> Result<(), Trouble> {
        let connections = CONNECTIONS.min(missing.len());
        let queue = Mutex::new(missing.into_iter());
        let is_ended = AtomicBool::new(false);
        let (sender, messages) = channel();
        std::thread::scope(|scope| {
            for _ in 0..connections {
                let sending = Sending {
                    attempt: self,
                    path: format!("/deploys/{id}/content"),
                    queue: &queue,
                    is_ended: &is_ended,
                    done: sender.clone(),
                };
                scope.spawn(move || {
                    let result = sending.run();
                    // Whoever listens may have had enough.
                    let _ = sending.done.send(Message::Ended(result));
                });
            }
            drop(sender);
            let mut trouble = None;
            for message in messages {
                match message {
                    Message::Sent(bytes) => {
                        self.sent.fetch_add(bytes, Ordering::Relaxed);
                        if !listener(Event::Done(bytes)) {
                            is_ended.store(true, Ordering::Relaxed);
                            trouble = Some(Trouble::Stopped);
                        }
                    }
                    Message::Ended(Ok(())) => {}
                    Message::Ended(Err(why)) => {
                        is_ended.store(true, Ordering::Relaxed);
                        trouble.get_or_insert(why);
                    }
                }
            }
            trouble.map_or(Ok(()), Err)
        })
    }

    /// Appends bytes of a blob.
    fn read(
        &self,
        blob: &BlobDigest,
        offset: u64,
        most: u64,
        to: &mut Vec<u8>,
    ) -> Result<(), Trouble> {
        if BlobDigest::of(&self.manifest) == *blob {
            let from = usize::try_from(offset).unwrap_or(usize::MAX);
            let rest = self.manifest.get(from..).unwrap_or_default();
            let most = usize::try_from(most).unwrap_or(usize::MAX).min(rest.len());
            to.extend_from_slice(rest.get(..most).unwrap_or_default());
            return Ok(());
        }
        let read = self.deploying.files.read_blob(blob, offset, most, to);
        read.map_err(|error| Trouble::Refused(422, error.to_string()))
    }
}

/// The part of a deploy that is being sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Manifest,
    Blobs,
}

/// What a connection tells of.
enum Message {
    /// So many bytes were sent.
    Sent(u64),
    Ended(Result<(), Trouble>),
}

/// The sending of blobs over one connection.
struct Sending<'a> {
    attempt: &'a Attempt<'a>,
    path: String,
    queue: &'a Mutex<IntoIter<Missing>>,
    is_ended: &'a AtomicBool,
    done: Sender<Message>,
}

impl Sending<'_> {
    fn run(&self) -> Result<(), Trouble> {
        let mut connection = self.attempt.server.connect()?;
        let (mut request, mut bytes) = (Vec::with_capacity(REQUEST), Vec::new());
        let next = || {
            let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
            queue.next()
        };
        while let Some(missing) = next() {
            let blob = BlobDigest::parse(&missing.blob)
                .ok_or_else(|| Trouble::Refused(200, "it names no SHA-256".to_owned()))?;
            let mut offset = missing.received;
            loop {
                let room = REQUEST.saturating_sub(request.len() + Piece::OVERHEAD);
                let left = missing.length.saturating_sub(offset);
                let most = left.min(u64::try_from(room).unwrap_or(0));
                if room < LEAST_PIECE && most < left {
                    self.post(&mut connection, &mut request)?;
                    continue;
                }
                bytes.clear();
                self.attempt.read(&blob, offset, most, &mut bytes)?;
                if u64::try_from(bytes.len()) != Ok(most) {
                    let text = "a file has become shorter: deploy again when the build has ended";
                    return Err(Trouble::Refused(422, text.to_owned()));
                }
                Piece {
                    blob,
                    length: missing.length,
                    offset,
                    bytes: &bytes,
                }
                .write(&mut request);
                offset += most;
                if offset >= missing.length {
                    break;
                }
            }
        }
        self.post(&mut connection, &mut request)
    }

    /// Sends the pieces so far.
    fn post(&self, connection: &mut Connection, request: &mut Vec<u8>) -> Result<(), Trouble> {
        if self.is_ended.load(Ordering::Relaxed) || request.is_empty() {
            request.clear();
            return Ok(());
        }
        let posted = ask::<serde::de::IgnoredAny>(connection, "POST", &self.path, request);
        let bytes = u64::try_from(request.len()).unwrap_or(0);
        request.clear();
        match posted {
            // Another sends the same, or what was there has gone: it is asked anew what is missing.
            Ok(_) | Err(Trouble::Refused(409, _)) => {
                let _ = self.done.send(Message::Sent(bytes));
                Ok(())
            }
            Err(trouble) => Err(or_begun_anew(trouble)),
        }
    }
}

/// All that a server says is missing.
fn missing(connection: &mut Connection, id: &str) -> Result<Vec<Missing>, Trouble> {
    let mut all: Vec<Missing> = Vec::new();
    loop {
        let after = all.last().map_or("", |last| &*last.blob);
        let path = format!("/deploys/{id}/missing?after={after}");
        let page: MissingPage = ask(connection, "GET", &path, &[]).map_err(or_begun_anew)?;
        let is_last = !page.more || page.missing.is_empty();
        all.extend(page.missing);
        if let Some(wrong) = all.last().filter(|one| one.received > one.length) {
            return Err(Trouble::Refused(
                200,
                format!("it has too much of {}", wrong.blob),
            ));
        }
        if is_last {
            return Ok(all);
        }
    }
}

fn post(connection: &mut Connection, path: &str) -> Result<(), Trouble> {
    let posted = ask::<serde::de::IgnoredAny>(connection, "POST", path, &[]);
    posted.map(drop).map_err(or_begun_anew)
}

/// Waits until the server has done its work.
fn wait(
    connection: &mut Connection,
    id: &str,
    listener: &mut Listener<'_>,
) -> Result<Status, Trouble> {
    let [mut pause, longest] = ASKED;
    let (mut done, mut expected) = (0, 0);
    loop {
        let path = format!("/deploys/{id}");
        let status: Status = ask(connection, "GET", &path, &[]).map_err(or_begun_anew)?;
        listener(Event::Expected(status.expected.saturating_sub(expected)));
        let goes_on = listener(Event::Done(status.done.saturating_sub(done)));
        (done, expected) = (status.done.max(done), status.expected.max(expected));
        match &*status.state {
            "done" | "receiving" => return Ok(status),
            "failed" => {
                let error = status.error.unwrap_or_default();
                return Err(match status.status {
                    Some(503) => Trouble::Cut(error),
                    status => Trouble::Refused(status.unwrap_or(500), error),
                });
            }
            // What it does cannot be called back, but nobody has to wait for it.
            _ if !goes_on => return Err(Trouble::Stopped),
            _ => {}
        }
        sleep(pause);
        pause = (pause * 2).min(longest);
    }
}

/// The trouble with a deploy that is under way: a server that does not know it has begun anew.
fn or_begun_anew(trouble: Trouble) -> Trouble {
    match trouble {
        Trouble::Refused(404, _) => Trouble::Cut("the server has begun anew".to_owned()),
        trouble => trouble,
    }
}
