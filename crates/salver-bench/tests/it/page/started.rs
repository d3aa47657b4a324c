//! A page that a test has started, and the runner that does what the test wants.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::ops::ControlFlow;
use std::path::Path;
use std::thread::JoinHandle;
use std::time::Duration;

use salver_bench::model::Measured;
use salver_bench::report::{LOAD, Report, Row, Series};
use salver_bench::ui::{Handle, Job, JobProgress, Runner, Settings, Ui};
use serde_json::{Value, json};
use tempfile::TempDir;

/// Longer than anything takes; a test that waits so long has failed.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// Does what the last part of the URL says; anything else is measured at once.
pub(crate) struct Fake;

impl Runner for Fake {
    fn run(
        &self,
        job: &Job,
        progress: &mut (dyn FnMut(&JobProgress) -> ControlFlow<()> + Send),
    ) -> Result<Report, String> {
        let url = job.url.clone().unwrap_or_default();
        match url.rsplit('/').next() {
            Some("fails") => return Err("nobody answers".to_owned()),
            Some("panics") => panic!("as asked"),
            Some("stalls") => {
                let step = JobProgress {
                    what: "stalling".to_owned(),
                    ..JobProgress::default()
                };
                while progress(&step).is_continue() {
                    std::thread::yield_now();
                }
                return Err("stopped".to_owned());
            }
            Some("lasts") => while progress(&JobProgress::default()).is_continue() {},
            _ => {}
        }
        let series = Series {
            label: LOAD.to_owned(),
            measured: Measured {
                requests: 7,
                ..Measured::default()
            },
        };
        let row = Row {
            // What would end a script if it stood there as it is.
            name: "</script><!--".to_owned(),
            series: vec![series],
            ..Row::default()
        };
        Ok(Report::new("a load".to_owned(), Value::Null, vec![row]))
    }
}

/// A page that runs on a thread of its own.
pub(crate) struct Page {
    pub(crate) address: SocketAddr,
    pub(crate) token: String,
    pub(crate) invitation: String,
    pub(crate) handle: Handle,
    pub(crate) thread: JoinHandle<()>,
    pub(crate) runs: TempDir,
}

impl Page {
    pub(crate) fn start() -> Page {
        let runs = tempfile::tempdir().unwrap();
        let ui = Ui::bind(&settings(runs.path(), 0), Fake).unwrap();
        let url = ui.url();
        let (_, token) = url.split_once("/?token=").unwrap();
        let invitation = ui.invitation();
        let (_, invitation) = invitation.split_once("/open?code=").unwrap();
        Page {
            address: ui.address(),
            token: token.to_owned(),
            invitation: invitation.to_owned(),
            handle: ui.handle(),
            thread: std::thread::spawn(move || ui.run().unwrap()),
            runs,
        }
    }

    /// Sends a request with these fields: status, head, content.
    pub(crate) fn send(
        &self,
        method: &str,
        target: &str,
        fields: &str,
        content: &str,
    ) -> (u16, String, String) {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let length = content.len();
        write!(
            stream,
            "{method} {target} HTTP/1.1\r\n{fields}Connection: close\r\n\
             Content-Length: {length}\r\n\r\n{content}"
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, content) = answer.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, head.to_ascii_lowercase(), content.to_owned())
    }

    /// As the page asks: content is JSON.
    pub(crate) fn get(&self, path: &str) -> (u16, Value) {
        let target = format!("{path}?token={}", self.token);
        let fields = format!("Host: {}\r\n", self.address);
        let (status, _, content) = self.send("GET", &target, &fields, "");
        (status, serde_json::from_str(&content).unwrap_or_default())
    }

    pub(crate) fn post(&self, path: &str, content: &Value) -> (u16, Value) {
        let target = format!("{path}?token={}", self.token);
        let address = self.address;
        let fields = format!(
            "Host: {address}\r\nOrigin: http://{address}\r\nContent-Type: application/json\r\n"
        );
        let (status, _, content) = self.send("POST", &target, &fields, &content.to_string());
        (status, serde_json::from_str(&content).unwrap_or_default())
    }

    pub(crate) fn run(&self, path: &str) -> (u16, Value) {
        let url = format!("http://127.0.0.1:1/{path}");
        let job = json!({
            "kind": "load", "url": url, "directory": "", "duration_seconds": "1", "connections": "2"
        });
        self.post("/api/run", &job)
    }

    /// Reads events until one has this phase, and gives it.
    pub(crate) fn wait_for(&self, phase: &str) -> Value {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let (token, address) = (&self.token, self.address);
        write!(
            stream,
            "GET /api/events?token={token} HTTP/1.1\r\nHost: {address}\r\n\r\n"
        )
        .unwrap();
        for line in BufReader::new(stream).lines() {
            if let Some(event) = line.unwrap().strip_prefix("data: ") {
                let event: Value = serde_json::from_str(event).unwrap();
                if event["phase"] == phase {
                    return event;
                }
            }
        }
        panic!("the events ended before {phase}");
    }

    /// Ends it and gives the directory of its runs.
    pub(crate) fn end(self) -> TempDir {
        self.handle.stop();
        self.thread.join().unwrap();
        self.runs
    }
}

pub(crate) fn settings(runs: &Path, port: u16) -> Settings {
    Settings {
        port,
        runs: runs.to_owned(),
        program: "test".to_owned(),
    }
}
