//! What judges ask: a listener behind a proxy, and a reader of headers.
//!
//! ```text
//! cargo run -p salver-forwarded --example clients_judged -- listen FIELD NETWORK...
//! cargo run -p salver-forwarded --example clients_judged -- read
//! ```
//!
//! `listen` prints its address, expects the PROXY protocol on each connection, and answers each request with
//! JSON: whom the header named, and who the client is by FIELD (`forwarded` or `x-forwarded-for`) if the NETWORKs
//! are trusted. `read` prints for each line of hexadecimal digits what the header in these bytes means:
//! `LENGTH SOURCE DESTINATION`, `LENGTH unnamed`, `incomplete` or `error`.
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing
)]

use std::io::{BufRead, Read, Write};
use std::net::{TcpListener, TcpStream};

use salver_forwarded::{
    ForwardedField, Progress, ProxyHeader, TrustedNetworks, client_address, read,
};

fn meaning(header: ProxyHeader) -> String {
    match header {
        ProxyHeader::Unnamed => "unnamed".to_owned(),
        ProxyHeader::Proxied {
            source,
            destination,
        } => format!("{source} {destination}"),
    }
}

/// Answers one connection, of which each read gives one byte: a header comes in any number of parts.
fn answer(mut stream: TcpStream, field: ForwardedField, trusted: &TrustedNetworks) {
    let mut received = Vec::new();
    let mut byte = [0];
    let (header, length) = loop {
        match read(&received) {
            Ok(Progress::Complete { header, length }) => break (header, length),
            Ok(Progress::Incomplete) => {}
            Err(error) => return println!("{error}"),
        }
        if stream.read(&mut byte).unwrap_or(0) == 0 {
            return;
        }
        received.push(byte[0]);
    };
    assert_eq!(length, received.len());
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        if stream.read(&mut byte).unwrap_or(0) == 0 {
            return;
        }
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap();
    let values: Vec<&str> = head
        .lines()
        .filter_map(|line| line.split_once(':'))
        .filter(|(name, _)| name.eq_ignore_ascii_case(field.name()))
        .map(|(_, value)| value.trim())
        .collect();
    let peer = match header {
        ProxyHeader::Proxied { source, .. } => source.ip(),
        ProxyHeader::Unnamed => stream.peer_addr().unwrap().ip(),
    };
    let client = client_address(peer, trusted, field, values.join(", ").as_bytes());
    let meaning = meaning(header);
    let body = format!("{{\"header\":\"{meaning}\",\"client\":\"{client}\"}}");
    let length = body.len();
    let _ = write!(
        stream,
        "HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    );
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    match arguments.next().as_deref() {
        Some("listen") => {
            let field = match arguments.next().as_deref() {
                Some("forwarded") => ForwardedField::Forwarded,
                Some("x-forwarded-for") => ForwardedField::XForwardedFor,
                other => panic!("no field: {other:?}"),
            };
            let trusted: TrustedNetworks = arguments.map(|text| text.parse().unwrap()).collect();
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            println!("{}", listener.local_addr().unwrap());
            for stream in listener.incoming() {
                answer(stream.unwrap(), field, &trusted);
            }
        }
        Some("read") => {
            for line in std::io::stdin().lock().lines() {
                let line = line.unwrap();
                let digits = line.as_bytes().chunks(2);
                let bytes: Vec<u8> = digits
                    .map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap())
                    .collect();
                match read(&bytes) {
                    Ok(Progress::Complete { header, length }) => {
                        println!("{length} {}", meaning(header));
                    }
                    Ok(Progress::Incomplete) => println!("incomplete"),
                    Err(_) => println!("error"),
                }
            }
        }
        other => panic!("listen or read, not {other:?}"),
    }
}
