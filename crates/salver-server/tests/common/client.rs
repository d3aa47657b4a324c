//! A blocking client that reads exactly what the framing says.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};

use socket2::{Domain, Socket, Type};

use super::PATIENCE;

/// A connection.
pub(crate) struct Client<S = TcpStream>(pub(crate) BufReader<S>);

/// An answer, with its content unless it has none.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) content: Vec<u8>,
}

impl Answer {
    /// The value of a field.
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        self.head.lines().skip(1).find_map(|line| {
            let (field, value) = line.split_once(':')?;
            field.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }

    pub(crate) fn length(&self) -> usize {
        self.field("content-length").unwrap().parse().unwrap()
    }
}

/// A GET of `path`.
pub(crate) fn get(path: &str) -> String {
    request("GET", path, "")
}

/// A request with further lines, each with its end.
pub(crate) fn request(method: &str, path: &str, more: &str) -> String {
    format!("{method} {path} HTTP/1.1\r\nHost: a\r\n{more}\r\n")
}

impl Client {
    pub(crate) fn new(address: SocketAddr) -> Self {
        Client::try_new(address).unwrap()
    }

    pub(crate) fn try_new(address: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect_timeout(&address, PATIENCE)?;
        Client::over(stream)
    }

    /// A client for which little fits into the kernel: what it does not read soon stops the server.
    pub(crate) fn narrow(address: SocketAddr) -> Self {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        socket.set_recv_buffer_size(4096).unwrap();
        socket.connect(&address.into()).unwrap();
        let stream = TcpStream::from(socket);
        Client::over(stream).unwrap()
    }

    fn over(stream: TcpStream) -> io::Result<Self> {
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        stream.set_nodelay(true)?;
        Ok(Client(BufReader::new(stream)))
    }

    /// Sends from another thread, for what is more than the kernel takes while nobody reads.
    pub(crate) fn send_beside(&self, bytes: Vec<u8>) -> std::thread::JoinHandle<io::Result<()>> {
        let mut stream = self.0.get_ref().try_clone().unwrap();
        std::thread::spawn(move || stream.write_all(&bytes))
    }
}

impl<S: Read + Write> Client<S> {
    pub(crate) fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.0.get_mut().write_all(bytes.as_ref()).unwrap();
    }

    /// Reads a head; `None` if the connection ended before its first byte.
    pub(crate) fn try_head(&mut self) -> io::Result<Option<Answer>> {
        let mut head = String::new();
        loop {
            let before = head.len();
            if self.0.read_line(&mut head)? == 0 {
                assert!(head.is_empty(), "half a head: {head:?}");
                return Ok(None);
            }
            if head.get(before..) == Some("\r\n") {
                break;
            }
        }
        let status = head
            .strip_prefix("HTTP/1.1 ")
            .and_then(|rest| rest.get(..3));
        Ok(Some(Answer {
            status: status
                .unwrap_or_else(|| panic!("{head:?}"))
                .parse()
                .unwrap(),
            head,
            content: Vec::new(),
        }))
    }

    /// Reads an answer without content: to HEAD, or with a status that has none.
    pub(crate) fn head(&mut self) -> Answer {
        self.try_head().unwrap().unwrap()
    }

    /// Reads an answer whose content has a length.
    pub(crate) fn answer(&mut self) -> Answer {
        let mut answer = self.head();
        answer.content = vec![0; answer.length()];
        self.0.read_exact(&mut answer.content).unwrap();
        answer
    }

    /// Asks for `path` and reads the answer.
    pub(crate) fn get(&mut self, path: &str) -> Answer {
        self.send(get(path));
        self.answer()
    }

    /// What comes until the connection ends, and whether it ended orderly.
    pub(crate) fn rest(&mut self) -> (Vec<u8>, bool) {
        let mut rest = Vec::new();
        let orderly = match self.0.read_to_end(&mut rest) {
            Ok(_) => true,
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => false,
            // TLS that ended without saying so.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => false,
            Err(error) => panic!("{error} after {} bytes", rest.len()),
        };
        (rest, orderly)
    }

    /// The connection ends orderly with no further byte.
    pub(crate) fn ends(&mut self) {
        let (rest, orderly) = self.rest();
        assert!(
            orderly && rest.is_empty(),
            "{orderly} {:?}",
            rest.escape_ascii().to_string()
        );
    }

    /// Whether a request on this connection is answered 200. What may fail may fail.
    pub(crate) fn is_served(&mut self, path: &str) -> bool {
        let sent = self.0.get_mut().write_all(get(path).as_bytes());
        let Some(Ok(Some(head))) = sent.ok().map(|()| self.try_head()) else {
            return false;
        };
        let mut content = vec![0; head.length()];
        self.0.read_exact(&mut content).is_ok() && head.status == 200
    }
}

/// Whether a new connection is served.
pub(crate) fn is_served(address: SocketAddr, path: &str) -> bool {
    Client::try_new(address).is_ok_and(|mut client| client.is_served(path))
}
