//! The judge itself, on servers that others have written and on one that makes mistakes.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use quinn::crypto::rustls::QuicServerConfig;

use super::*;
use crate::date;
use crate::endpoint::{Endpoint, SERVER_NAME};
use crate::http2::{Frame, Http2, PREFACE, flag, kind, literal};
use crate::http3::Http3;

/// A file longer than the initial window, for servers that wait.
const LONG: &str = "medium.bin";
/// A malformed request, by its name in the table.
const UPPER: &str = "the field name 'X-Upper'";
/// One that fits it, for the server that never does.
const SHORT: &str = "coded/app.js";

fn fields(length: usize) -> Vec<(&'static str, String)> {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap()
        .as_secs();
    vec![
        ("date", date::format(i64::try_from(now).unwrap())),
        ("content-length", length.to_string()),
        ("accept-ranges", "bytes".to_owned()),
        ("content-type", "text/plain".to_owned()),
        ("cache-control", "no-cache".to_owned()),
        ("etag", "\"x\"".to_owned()),
        ("last-modified", "Mon, 06 May 2024 07:08:09 GMT".to_owned()),
    ]
}

fn head(length: usize) -> http::Response<()> {
    let mut builder = http::Response::builder().status(200);
    for (name, value) in fields(length) {
        builder = builder.header(name, value);
    }
    builder.body(()).unwrap()
}

/// The content for a path, in all test servers.
#[derive(Clone)]
struct Contents {
    long: Bytes,
    short: Bytes,
    ten: Bytes,
}

impl Contents {
    fn of(fixture: &Fixture) -> Self {
        Self {
            long: Bytes::copy_from_slice(&fixture.bytes(LONG)),
            short: Bytes::copy_from_slice(&fixture.bytes(SHORT)),
            ten: Bytes::copy_from_slice(&fixture.bytes("ten.txt")),
        }
    }

    fn get(&self, path: &str) -> Bytes {
        match path {
            "/ten.txt" => self.ten.clone(),
            "/medium.bin" => self.long.clone(),
            _ => self.short.clone(),
        }
    }
}

/// Plays one row and one malformed request in every mode; gives the modes that failed and why.
fn problems(
    carrier: &dyn Carrier,
    fixture: &Fixture,
    protocol: Protocol,
    file: &str,
    malformed: &str,
) -> Vec<(Mode, String)> {
    let request = get(format!("/{file}"));
    let whole = Expectation::whole(fixture, file);
    let exchange = Exchange::semantic("a test", "a row", request, whole);
    let mut rows = malformed::rows(fixture, protocol);
    rows.retain(|row| row.name == malformed);
    assert_eq!(rows.len(), 1);
    let mut report = Report::new(protocol, Setup::Default);
    let tables = (&[exchange][..], &rows[..]);
    play(
        carrier,
        protocol,
        fixture,
        Setup::Default,
        true,
        tables,
        &mut report,
    );
    assert_eq!(report.exchanges, 2);
    report
        .failures
        .into_iter()
        .map(|failure| (failure.mode, failure.problems.join("; ")))
        .collect()
}

fn fixture() -> (tempfile::TempDir, Fixture) {
    let directory = tempfile::tempdir().unwrap();
    let fixture = Fixture::build(directory.path()).unwrap();
    (directory, fixture)
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
}

async fn serve_h2(stream: tokio::net::TcpStream, contents: Contents) {
    let Ok(mut connection) = h2::server::handshake(stream).await else {
        return;
    };
    while let Some(Ok((request, mut respond))) = connection.accept().await {
        let content = contents.get(request.uri().path());
        let headless = request.method() == "HEAD";
        let mut body = respond
            .send_response(head(content.len()), headless)
            .unwrap();
        if !headless {
            // The library keeps it until the windows let it through.
            body.send_data(content, true).unwrap();
        }
    }
}

#[test]
fn the_h2_crate_passes() {
    let (_directory, fixture) = fixture();
    let contents = Contents::of(&fixture);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    listener.set_nonblocking(true).unwrap();
    std::thread::spawn(move || {
        runtime().block_on(async {
            let listener = tokio::net::TcpListener::from_std(listener).unwrap();
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve_h2(stream, contents.clone()));
            }
        });
    });
    let endpoint = Endpoint::bare(address, Protocol::Http2Cleartext).unwrap();
    let carrier = Http2 {
        endpoint: &endpoint,
    };
    // To upper case this library answers by ending the whole connection.
    let protocol = Protocol::Http2Cleartext;
    let found = problems(&carrier, &fixture, protocol, LONG, "connection: close");
    assert_eq!(found, []);
}

async fn serve_h3(incoming: quinn::Incoming, contents: Contents) {
    let connection = h3_quinn::Connection::new(incoming.await.unwrap());
    let mut connection = h3::server::Connection::<_, Bytes>::new(connection)
        .await
        .unwrap();
    while let Ok(Some(resolver)) = connection.accept().await {
        let contents = contents.clone();
        tokio::spawn(async move {
            // A malformed request ends here.
            let Ok((request, mut stream)) = resolver.resolve_request().await else {
                return;
            };
            let content = contents.get(request.uri().path());
            stream.send_response(head(content.len())).await.unwrap();
            if request.method() != "HEAD" {
                stream.send_data(content).await.unwrap();
            }
            stream.finish().await.unwrap();
        });
    }
}

#[test]
fn the_h3_crate_passes() {
    let (directory, fixture) = fixture();
    let contents = Contents::of(&fixture);
    let own = rcgen::generate_simple_self_signed([SERVER_NAME.to_owned()]).unwrap();
    let file = directory.path().join("certificate.pem");
    std::fs::write(&file, own.cert.pem()).unwrap();
    let key = rustls_pki_types::PrivatePkcs8KeyDer::from(own.signing_key.serialize_der());
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut tls = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![own.cert.der().clone()], key.into())
        .unwrap();
    tls.alpn_protocols = vec![b"h3".to_vec()];
    let crypto = QuicServerConfig::try_from(tls).unwrap();
    let config = quinn::ServerConfig::with_crypto(Arc::new(crypto));
    let (sender, addresses) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        runtime().block_on(async {
            let any = SocketAddr::from(([127, 0, 0, 1], 0));
            let socket = quinn::Endpoint::server(config, any).unwrap();
            sender.send(socket.local_addr().unwrap()).unwrap();
            while let Some(incoming) = socket.accept().await {
                tokio::spawn(serve_h3(incoming, contents.clone()));
            }
        });
    });
    let address = addresses.recv().unwrap();
    let endpoint = Endpoint::trusting(address, Protocol::Http3, &file).unwrap();
    let carrier = Http3::new(&endpoint).unwrap();
    let found = problems(&carrier, &fixture, Protocol::Http3, LONG, UPPER);
    assert_eq!(found, []);
}

/// A mistake that a server makes in its frames.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Mistake {
    None,
    SettingsLate,
    LargeFrames,
    UpperCase,
    NamesTheConnection,
    ShortContent,
    LateData,
    OtherContent,
    Pushes,
    OddPadding,
    UnknownIndex,
    EmptyFrames,
    HeadWithContent,
    MixesStreams,
    AcceptsEverything,
    EndsAll,
}

/// The frames that answer a request.
fn answer(stream: u32, path: &str, headless: bool, mistake: Mistake, all: &Contents) -> Vec<Frame> {
    let content = all.get(path);
    let mut lines = vec![(b":status".to_vec(), b"200".to_vec())];
    for (name, value) in fields(content.len()) {
        lines.push((name.as_bytes().to_vec(), value.into_bytes()));
    }
    match mistake {
        Mistake::UpperCase => lines.push((b"X-Upper".to_vec(), b"1".to_vec())),
        Mistake::NamesTheConnection => lines.push((b"connection".to_vec(), b"close".to_vec())),
        _ => {}
    }
    let mut block = literal(&lines);
    if mistake == Mistake::UnknownIndex {
        block.push(0x80 | 100);
    }
    let headless = headless && mistake != Mistake::HeadWithContent;
    let mut frames = vec![Frame::headers(stream, block, headless)];
    if mistake == Mistake::Pushes {
        frames.push(Frame::new(
            kind::PUSH_PROMISE,
            flag::END_HEADERS,
            stream,
            [0, 0, 0, 2],
        ));
    }
    if headless {
        return frames;
    }
    let mut bytes = content.to_vec();
    match mistake {
        Mistake::ShortContent => bytes.truncate(5),
        Mistake::LargeFrames => bytes.resize(20_000, b'x'),
        Mistake::OtherContent => bytes.fill(b'x'),
        _ => {}
    }
    let size = if mistake == Mistake::LargeFrames {
        20_000
    } else {
        1000
    };
    for piece in bytes.chunks(size) {
        let frame = if mistake == Mistake::OddPadding {
            let mut padded = vec![2];
            padded.extend_from_slice(piece);
            padded.extend_from_slice(b"\0x");
            Frame::new(kind::DATA, flag::PADDED, stream, padded)
        } else {
            Frame::new(kind::DATA, 0, stream, piece)
        };
        frames.push(frame);
        if mistake == Mistake::EmptyFrames {
            frames.push(Frame::new(kind::DATA, 0, stream, []));
        }
    }
    if let Some(last) = frames.last_mut() {
        last.flags |= flag::END_STREAM;
    }
    if mistake == Mistake::LateData {
        frames.push(Frame::new(kind::DATA, 0, stream, *b"late"));
    }
    frames
}

/// A server of a few lines that looks at little: windows are obeyed by a file that fits them.
fn serve_frames(
    mut socket: TcpStream,
    mistake: Mistake,
    contents: &Contents,
) -> std::io::Result<()> {
    let mut received = vec![0; PREFACE.len()];
    socket.read_exact(&mut received)?;
    received.clear();
    let mut decoder = loona_hpack::Decoder::new();
    if mistake != Mistake::SettingsLate {
        socket.write_all(&Frame::settings(&[]).to_bytes())?;
    }
    let mut chunk = [0; 4096];
    let mut section = Vec::new();
    loop {
        while let Some(frame) = Frame::take(&mut received) {
            let mut out = Vec::new();
            match frame.kind {
                kind::SETTINGS if !frame.has(flag::ACK) => {
                    out.push(Frame::new(kind::SETTINGS, flag::ACK, 0, []));
                }
                kind::PING => out.push(Frame::new(kind::PING, flag::ACK, 0, frame.payload)),
                kind::HEADERS | kind::CONTINUATION => {
                    let padding = if frame.has(flag::PADDED) {
                        frame.payload[0]
                    } else {
                        0
                    };
                    let skipped = if frame.has(flag::PADDED) { 1 + 5 } else { 0 };
                    let end = frame.payload.len() - usize::from(padding);
                    section.extend_from_slice(&frame.payload[skipped..end]);
                    if !frame.has(flag::END_HEADERS) {
                        continue;
                    }
                    let lines = decoder.decode(&std::mem::take(&mut section)).unwrap();
                    let value = |name: &[u8]| {
                        let line = lines.iter().find(|(own, _)| own == name);
                        String::from_utf8(line.unwrap().1.clone()).unwrap()
                    };
                    let upper = lines
                        .iter()
                        .any(|(name, _)| name.iter().any(u8::is_ascii_uppercase));
                    out = if !upper || mistake == Mistake::AcceptsEverything {
                        let headless = value(b":method") == "HEAD";
                        answer(frame.stream, &value(b":path"), headless, mistake, contents)
                    } else if mistake == Mistake::EndsAll {
                        let goaway = [0, 0, 0, 1, 0, 0, 0, 1];
                        socket.write_all(&Frame::new(kind::GOAWAY, 0, 0, goaway).to_bytes())?;
                        // To close with something unread would take the GOAWAY back.
                        socket.shutdown(Shutdown::Write)?;
                        while socket.read(&mut chunk)? > 0 {}
                        return Ok(());
                    } else {
                        vec![Frame::reset(frame.stream, 1)]
                    };
                    if mistake == Mistake::MixesStreams {
                        out.iter_mut().for_each(|frame| frame.stream += 2);
                    }
                }
                _ => {}
            }
            let bytes: Vec<u8> = out.iter().flat_map(Frame::to_bytes).collect();
            socket.write_all(&bytes)?;
        }
        let count = socket.read(&mut chunk)?;
        if count == 0 {
            return Ok(());
        }
        received.extend_from_slice(&chunk[..count]);
    }
}

/// `part` is in what is found plainly; empty if plain frames are right.
fn check_mistake(mistake: Mistake, mode: &str, part: &str) {
    let (_directory, fixture) = fixture();
    let contents = Contents::of(&fixture);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let contents = contents.clone();
            // A client that has seen enough goes away.
            std::thread::spawn(move || drop(serve_frames(stream, mistake, &contents)));
        }
    });
    let endpoint = Endpoint::bare(address, Protocol::Http2Cleartext).unwrap();
    let carrier = Http2 {
        endpoint: &endpoint,
    };
    let protocol = Protocol::Http2Cleartext;
    let found = problems(&carrier, &fixture, protocol, SHORT, UPPER);
    let right = found
        .iter()
        .any(|(own, problem)| own.to_string().starts_with(mode) && problem.contains(part));
    assert!(right, "{mistake:?}: {found:?}");
}

#[test]
fn mistakes_are_found() {
    for (mistake, mode, part) in [
        (Mistake::SettingsLate, "plain", "not SETTINGS"),
        (Mistake::LargeFrames, "plain", "a frame of 20000 bytes"),
        (Mistake::UpperCase, "plain", "upper case"),
        (Mistake::NamesTheConnection, "plain", "connection-specific"),
        (Mistake::ShortContent, "plain", "5 bytes"),
        (Mistake::LateData, "plain", "behind the end"),
        (Mistake::OtherContent, "plain", "the content is not"),
        (Mistake::Pushes, "plain", "PUSH_PROMISE"),
        (Mistake::OddPadding, "plain", "padding without sense"),
        (Mistake::UnknownIndex, "plain", "HPACK"),
        (Mistake::EmptyFrames, "plain", "ends nothing"),
        (Mistake::HeadWithContent, "as HEAD", "none can be"),
        (Mistake::MixesStreams, "plain", "nobody has opened"),
        (Mistake::AcceptsEverything, "plain", "status 200"),
        (Mistake::EndsAll, "plain", "was ended with code 0x1"),
        // The server of this test never waits for a window, nor forgets its table.
        (Mistake::None, "with a window of", "into a window of"),
        (Mistake::None, "in padded pieces", "no update says so"),
    ] {
        check_mistake(mistake, mode, part);
    }
}
