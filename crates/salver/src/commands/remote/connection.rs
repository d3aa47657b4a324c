//! A connection to an admin listener: HTTP/1.1, one request after the other.

use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use super::stream::Stream;
use super::target::{Listener, Target};
use super::tls::Trust;

/// The time for a connection, for an answer to begin, and for each part of it.
const PATIENCE: Duration = Duration::from_secs(60);

/// The longest head of an answer, in bytes.
const LONGEST_HEAD: usize = 64 * 1024;

/// The longest answer, in bytes.
const LONGEST: usize = 16 * 1024 * 1024;

/// The bytes that are read at a time.
const CHUNK: usize = 16 * 1024;

/// A connection that is kept between requests.
pub(super) struct Connection {
    stream: Box<dyn Stream>,
    host: String,
    authorization: Vec<u8>,
    /// What was received and not read yet.
    received: Vec<u8>,
}

/// An answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) content: Vec<u8>,
}

impl Connection {
    /// Connects; each request shows this authorization.
    ///
    /// # Errors
    /// Nobody listens there, or it is somebody else.
    pub(super) fn open(target: &Target, trust: &Trust, authorization: &[u8]) -> io::Result<Self> {
        let (stream, host): (Box<dyn Stream>, _) = match &target.listener {
            Listener::Unix(path) => {
                let stream = UnixStream::connect(path)?;
                stream.set_read_timeout(Some(PATIENCE))?;
                stream.set_write_timeout(Some(PATIENCE))?;
                (Box::new(stream), "localhost".to_owned())
            }
            Listener::Tcp {
                over_tls,
                host,
                port,
            } => {
                let stream = connect(host, *port)?;
                let default = if *over_tls { 443 } else { 80 };
                let authority = match *port == default {
                    true => host.clone(),
                    false => format!("{host}:{port}"),
                };
                match over_tls {
                    true => (trust.secure(stream, host)?, authority),
                    false => (Box::new(stream), authority),
                }
            }
        };
        Ok(Connection {
            stream,
            host,
            authorization: authorization.to_vec(),
            received: Vec::new(),
        })
    }

    /// Sends a request and receives its answer.
    ///
    /// # Errors
    /// The connection ends before, or the answer is none.
    pub(super) fn exchange(
        &mut self,
        method: &str,
        target: &str,
        content: &[u8],
    ) -> io::Result<Answer> {
        let mut head = format!(
            "{method} {target} HTTP/1.1\r\nHost: {}\r\nUser-Agent: salver/{}\r\n",
            self.host,
            env!("CARGO_PKG_VERSION")
        )
        .into_bytes();
        head.extend([&b"Authorization: "[..], &self.authorization, b"\r\n"].concat());
        if method != "GET" {
            let length = content.len();
            head.extend(format!("Content-Length: {length}\r\n").into_bytes());
        }
        head.extend(b"\r\n");
        // Who is refused is answered at once, and stops reading: the answer says why.
        let sent = self.stream.write_all(&head).and_then(|()| {
            self.stream.write_all(content)?;
            self.stream.flush()
        });
        let answer = self.answer();
        match (sent, answer) {
            (Err(error), Err(_)) => Err(error),
            (_, answer) => answer,
        }
    }

    fn answer(&mut self) -> io::Result<Answer> {
        loop {
            let head = self.head()?;
            // An interim one comes before that which counts (RFC 9110 section 15.2).
            if (100..200).contains(&head.status) {
                continue;
            }
            let content = match head.length {
                Length::Known(length) => self.take(length)?,
                Length::Chunked => self.chunks()?,
                Length::ToTheEnd => self.until_closed()?,
            };
            return Ok(Answer {
                status: head.status,
                content,
            });
        }
    }

    fn head(&mut self) -> io::Result<Head> {
        let end = loop {
            let mut pairs = self.received.windows(4);
            if let Some(end) = pairs.position(|four| four == b"\r\n\r\n") {
                break end + 4;
            }
            if self.received.len() > LONGEST_HEAD {
                return Err(invalid());
            }
            self.receive()?;
        };
        let head: Vec<u8> = self.received.drain(..end).collect();
        Head::read(&head).ok_or_else(invalid)
    }

    fn chunks(&mut self) -> io::Result<Vec<u8>> {
        let mut content = Vec::new();
        loop {
            let line = self.line()?;
            // Extensions stand behind the length (RFC 9112 section 7.1.1).
            let digits = line.split(';').next().unwrap_or_default().trim();
            let length = usize::from_str_radix(digits, 16).map_err(|_| invalid())?;
            if length == 0 {
                while !self.line()?.is_empty() {}
                return Ok(content);
            }
            content.extend(self.take(length)?);
            if content.len() > LONGEST || !self.line()?.is_empty() {
                return Err(invalid());
            }
        }
    }

    fn line(&mut self) -> io::Result<String> {
        let end = loop {
            let mut pairs = self.received.windows(2);
            if let Some(end) = pairs.position(|two| two == b"\r\n") {
                break end;
            }
            if self.received.len() > LONGEST_HEAD {
                return Err(invalid());
            }
            self.receive()?;
        };
        let line: Vec<u8> = self.received.drain(..end + 2).take(end).collect();
        String::from_utf8(line).map_err(|_| invalid())
    }

    fn take(&mut self, length: usize) -> io::Result<Vec<u8>> {
        if length > LONGEST {
            return Err(invalid());
        }
        while self.received.len() < length {
            self.receive()?;
        }
        Ok(self.received.drain(..length).collect())
    }

    fn until_closed(&mut self) -> io::Result<Vec<u8>> {
        while self.received.len() <= LONGEST {
            match self.receive() {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                    return Ok(std::mem::take(&mut self.received));
                }
                Err(error) => return Err(error),
            }
        }
        Err(invalid())
    }

    fn receive(&mut self) -> io::Result<()> {
        let mut chunk = vec![0; CHUNK];
        let count = match self.stream.read(&mut chunk)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            count => count,
        };
        self.received
            .extend_from_slice(chunk.get(..count).unwrap_or_default());
        Ok(())
    }
}

fn connect(host: &str, port: u16) -> io::Result<TcpStream> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the host has no address");
    for address in (host.trim_matches(['[', ']']), port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, PATIENCE) {
            Ok(stream) => {
                stream.set_read_timeout(Some(PATIENCE))?;
                stream.set_write_timeout(Some(PATIENCE))?;
                stream.set_nodelay(true)?;
                return Ok(stream);
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn invalid() -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        "the answer is none of HTTP/1.1, or too long",
    )
}

/// The length of an answer's content.
#[derive(Debug, PartialEq, Eq)]
enum Length {
    Known(usize),
    Chunked,
    ToTheEnd,
}

/// The head of an answer, as far as it matters.
#[derive(Debug, PartialEq, Eq)]
struct Head {
    status: u16,
    length: Length,
}

impl Head {
    /// Reads a head, to its empty line (RFC 9112 section 4).
    fn read(bytes: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(bytes).ok()?;
        let mut lines = text.split("\r\n");
        let status = lines.next()?.strip_prefix("HTTP/1.")?.get(2..5)?;
        let status: u16 = status.parse().ok()?;
        let mut length = match status {
            204 | 304 => Length::Known(0),
            _ => Length::ToTheEnd,
        };
        for line in lines.filter(|line| !line.is_empty()) {
            let (name, value) = line.split_once(':')?;
            if name.eq_ignore_ascii_case("content-length") && length != Length::Chunked {
                length = Length::Known(value.trim().parse().ok()?);
            } else if name.eq_ignore_ascii_case("transfer-encoding") {
                length = Length::Chunked;
            }
        }
        Some(Head { status, length })
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    /// What an answer that comes in these bytes is.
    fn answer(bytes: &str) -> io::Result<Answer> {
        struct Duplex(Cursor<Vec<u8>>);
        impl Read for Duplex {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                // Byte by byte, as it may come.
                let most = buffer.len().min(1);
                self.0.read(&mut buffer[..most])
            }
        }
        impl Write for Duplex {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                Ok(bytes.len())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let mut connection = Connection {
            stream: Box::new(Duplex(Cursor::new(bytes.as_bytes().to_vec()))),
            host: String::new(),
            authorization: Vec::new(),
            received: Vec::new(),
        };
        connection.exchange("GET", "/", &[])
    }

    #[test]
    fn answers_of_each_framing_are_read() {
        let check = |bytes: &str, status: u16, content: &str| {
            let expected = Answer {
                status,
                content: content.as_bytes().to_vec(),
            };
            assert_eq!(answer(bytes).unwrap(), expected, "{bytes}");
        };
        check("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", 200, "ok");
        check("HTTP/1.1 204 No Content\r\n\r\n", 204, "");
        check("HTTP/1.0 404 Not Found\r\n\r\ngone", 404, "gone");
        check(
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200\r\ncontent-length:1\r\n\r\nx",
            200,
            "x",
        );
        check(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;a=b\r\nab\r\n1\r\nc\r\n0\r\nA: b\r\n\r\n",
            200,
            "abc",
        );
    }

    #[test]
    fn what_is_no_answer() {
        for bytes in [
            "",
            "HTTP/2 200\r\n\r\n",
            "HTTP/1.1 abc\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok",
            "HTTP/1.1 200 OK\r\nContent-Length: -3\r\n\r\nok",
            "HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\nok",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n",
            "HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
        ] {
            assert!(answer(bytes).is_err(), "{bytes}");
        }
    }
}
