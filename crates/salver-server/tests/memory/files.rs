//! Memory does not follow the length of a file.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileExt;

use crate::common::client::{Answer, Client, get, request};
use crate::common::{Running, Site};
use salver_test::{alone, status_kib};

fn range(client: &mut Client, path: &str, range: &str) -> Answer {
    client.send(request("GET", path, &format!("Range: bytes={range}\r\n")));
    client.answer()
}

#[test]
fn ranges_of_a_very_long_file_need_no_memory() {
    let _alone = alone();
    let length: u64 = 20_000_000_000;
    let site = Site::new();
    let file = File::create(site.path("long")).unwrap();
    file.set_len(length).unwrap();
    for (at, text) in [
        (0, "first"),
        (10_000_000_000, "middle"),
        (length - 4, "last"),
    ] {
        file.write_all_at(text.as_bytes(), at).unwrap();
    }
    drop(file);
    site.settle("long");
    let server = Running::serving(&site);
    let mut client = Client::new(server.address);
    let mut check = |asked: &str, from: u64, content: &[u8]| {
        let answer = range(&mut client, "/long", asked);
        assert_eq!(answer.status, 206, "{asked}");
        let last = from + u64::try_from(content.len()).unwrap() - 1;
        let expected = format!("bytes {from}-{last}/{length}");
        assert_eq!(answer.field("content-range"), Some(&*expected));
        assert!(answer.content == content, "{asked}: {:?}", answer.content);
    };
    check("0-4", 0, b"first");
    check("10000000000-10000000006", 10_000_000_000, b"middle\0");
    check("9999999999-10000000000", 9_999_999_999, b"\0m");
    check("-4", length - 4, b"last");
    check("19999999999-", length - 1, b"t");
    check("19999999998-99999999999999999999999", length - 2, b"st");
    let before = status_kib("self", "VmHWM");
    // 256 MiB of it, for a client that keeps nothing.
    let most = 256 * 1024 * 1024;
    let asked = format!(
        "Range: bytes=9000000000-{}\r\n",
        9_000_000_000u64 + most - 1
    );
    client.send(request("GET", "/long", &asked));
    let head = client.head();
    assert_eq!(
        (head.status, head.field("content-length")),
        (206, Some("268435456"))
    );
    let mut buffer = vec![1; 1024 * 1024];
    for _ in 0..256 {
        client.0.read_exact(&mut buffer).unwrap();
        assert!(buffer.iter().all(|&byte| byte == 0));
    }
    let grown = status_kib("self", "VmHWM") - before;
    assert!(grown < 32 * 1024, "{grown} KiB more");
    assert_eq!(range(&mut client, "/long", "20000000000-").status, 416);
    // A whole one is begun and left.
    client.send(get("/long"));
    assert_eq!(client.head().field("content-length"), Some("20000000000"));
}
