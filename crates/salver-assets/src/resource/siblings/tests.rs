use std::sync::Arc;
use std::time::Instant;

use salver_semantics::{ContentCoding, HttpDate, RequestFields};

use crate::answer::plan::Content;
use crate::source::digest::tests::encode;
use crate::source::digest::{DECODED, Digest, KnownDigests, of_bytes};
use crate::{
    Config, EmbeddedFile, EmbeddedSource, Engine, MemorySource, Mount, Now, Patience, Request,
    Source, Step,
};

/// Content that every coding makes shorter.
static ORIGINAL: [u8; 5000] = [b'o'; 5000];

/// The answer to a client that accepts `coding` of `/a.js`: its Content-Encoding and its content.
fn answer(source: Arc<dyn Source>, coding: ContentCoding) -> (String, Vec<u8>) {
    answer_of(&engine(source), coding)
}

fn engine(source: Arc<dyn Source>) -> Engine {
    let engine = Engine::new(Config {
        mounts: vec![Mount::tree("/", source)],
        ..Config::default()
    });
    engine.unwrap()
}

fn answer_of(engine: &Engine, coding: ContentCoding) -> (String, Vec<u8>) {
    let now = Now {
        instant: Instant::now(),
        date: HttpDate::from_unix_seconds(1_000_000_000),
    };
    let request = Request {
        fields: RequestFields {
            accept_encoding: Some(coding.name().as_bytes().into()),
            ..RequestFields::default()
        },
        ..Request::get(b"/a.js")
    };
    loop {
        match engine.begin(&request, now) {
            Step::Load(load, _) => {
                let outcome = load.perform(Patience::MayWait, now.instant);
                engine.finish(load, outcome.unwrap());
            }
            Step::Respond(plan) => {
                let mut fields = plan.fields();
                let coded = fields.find(|(name, _)| *name == "Content-Encoding");
                let coded = coded.map(|(_, value)| String::from_utf8(value.to_vec()).unwrap());
                let Content::Memory(content) = &plan.content else {
                    panic!("{plan:?}")
                };
                return (coded.unwrap_or_default(), content.to_vec());
            }
            Step::Wait(_) | Step::NeedDetails | Step::NeedAccess(_) => {
                panic!("nobody else loads it")
            }
        }
    }
}

fn embedded(path: &'static str, content: &'static [u8], decoded: Option<Digest>) -> EmbeddedFile {
    EmbeddedFile {
        path,
        content,
        modified_unix_seconds: 0,
        known: KnownDigests {
            digest: of_bytes(content),
            decoded,
        },
    }
}

#[test]
fn a_sibling_is_sent_if_it_was_decoded_here_or_before() {
    for coding in ContentCoding::CODED {
        let path: &str = format!("a.js{}", coding.extension().unwrap()).leak();
        let sibling: &[u8] = encode(&ORIGINAL, coding).leak();
        let check = |source: Arc<dyn Source>, is_sent: bool| {
            let (coded, content) = answer(source, coding);
            let expected = match is_sent {
                true => (coding.name(), sibling),
                false => ("", &ORIGINAL[..]),
            };
            assert!((&*coded, &*content) == expected, "{coding:?}: {coded:?}");
        };
        let is_decoded_here = match coding {
            ContentCoding::Identity => false,
            ContentCoding::Brotli => cfg!(feature = "brotli"),
            ContentCoding::Zstd => cfg!(feature = "zstd"),
            ContentCoding::Gzip => cfg!(feature = "gzip"),
        };
        let in_memory = MemorySource::new();
        in_memory.insert("a.js", &ORIGINAL[..], 0);
        in_memory.insert(path, sibling, 0);
        check(Arc::new(in_memory), is_decoded_here);
        let known = |decoded| {
            let original = embedded("a.js", &ORIGINAL, None);
            let files = vec![original, embedded(path, sibling, decoded)];
            Arc::new(EmbeddedSource::new(files.leak()))
        };
        check(known(None), is_decoded_here);
        check(known(Some(of_bytes(&ORIGINAL))), true);
        check(known(Some(of_bytes(b"another"))), false);
    }
}

/// Of each coding that this build lacks the first sibling is told of, and none of a coding that it has or nobody used.
#[test]
fn a_sibling_that_cannot_be_decoded_is_told_of() {
    for coding in ContentCoding::CODED {
        let files = MemorySource::new();
        files.insert("a.js", &ORIGINAL[..], 0);
        let path = format!("a.js{}", coding.extension().unwrap());
        files.insert(&path, encode(&ORIGINAL, coding), 0);
        let engine = engine(Arc::new(files));
        answer_of(&engine, coding);
        let log = &engine.shared.pool.log;
        for other in ContentCoding::CODED {
            let is_told = other == coding && !DECODED.contains(&coding);
            assert_eq!(
                log.looks_for_undecoded(other),
                !is_told,
                "{coding:?}: {other:?}"
            );
            assert_eq!(
                log.first_undecoded(other),
                !is_told,
                "{coding:?}: {other:?}"
            );
        }
    }
}
