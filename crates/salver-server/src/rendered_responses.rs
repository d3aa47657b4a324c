//! Rendered responses: small answers over HTTP/1.1 that are asked for again and again, head and content in one piece.
//! Each is one send of one buffer, for which nothing is rendered, nothing is copied but the date, and nothing is
//! shared with another core.
//!
//! A response is rendered at its second request, and dropped when there was no request for it between two sweeps.

use std::rc::Rc;

use salver_assets::{Protocol, Remembered, ResponsePlan};
use salver_http1::{Persistence, RenderedHead};

use crate::listener_fields::ListenerFields;

/// The longest content of a rendered response. Longer content is rarely in memory, and then leaves by `writev`,
/// beside its head: the one send spares less and less of it (3 % at 50 KiB, 1 % at 100 KiB).
const LONGEST: usize = 64 * 1024;

/// The bytes that the rendered responses of one loop may take.
const MOST: usize = 8 * 1024 * 1024;

/// The number of slots, a power of two.
const SLOTS: usize = 512;

/// The number of slots in which a response may stand.
const PLACES: usize = 4;

/// The rendered responses of one loop.
pub(crate) struct RenderedResponses {
    slots: Box<[ResponseSlot]>,
    /// Invariant: the sum of the lengths of all responses.
    bytes: usize,
}

#[derive(Default)]
struct ResponseSlot {
    /// The representation, and the fields of its listener.
    of: Option<(Remembered, Rc<ListenerFields>)>,
    /// The response, empty until the second request.
    answer: Vec<u8>,
    date_at: usize,
    /// True if it was used since the last sweep.
    used: bool,
}

impl RenderedResponses {
    pub(crate) fn new() -> Self {
        RenderedResponses {
            slots: std::iter::repeat_with(ResponseSlot::default)
                .take(SLOTS)
                .collect(),
            bytes: 0,
        }
    }

    /// The number of the response that carries out `plan` on a connection that lasts, for [`get`](Self::get); `None`
    /// if there is none, at least not yet.
    pub(crate) fn find(
        &mut self,
        plan: &ResponsePlan,
        date: &[u8; 29],
        listener_fields: &Rc<ListenerFields>,
    ) -> Option<usize> {
        let whole = plan.served_whole()?;
        if whole.content().len() > LONGEST {
            return None;
        }
        let home = home(whole.number());
        let places = || (home..home + PLACES).map(|place| place % SLOTS);
        let is_it = |slot: &ResponseSlot| {
            let of = slot.of.as_ref();
            of.is_some_and(|(of, its)| of.is(&whole) && Rc::ptr_eq(its, listener_fields))
        };
        let found = places().find(|&place| self.slots.get(place).is_some_and(is_it));
        let Some(number) = found else {
            let free =
                places().find(|&place| self.slots.get(place).is_some_and(ResponseSlot::is_free));
            let slot = self.slots.get_mut(free.unwrap_or(home))?;
            self.bytes -= slot.answer.len();
            *slot = ResponseSlot {
                of: Some((whole.remember(), Rc::clone(listener_fields))),
                used: true,
                ..ResponseSlot::default()
            };
            return None;
        };
        let slot = self.slots.get_mut(number)?;
        slot.used = true;
        if slot.answer.is_empty() {
            let head: &RenderedHead = rendered_head(plan)?;
            let around = listener_fields.lines().len() + salver_http1::TAIL_AT_MOST;
            let length = head.len() + around + whole.content().len();
            if self.bytes + length > MOST {
                return None;
            }
            slot.answer.reserve_exact(length);
            head.write(
                &mut slot.answer,
                date,
                listener_fields.lines(),
                Persistence::KeepAlive,
            );
            slot.answer.extend_from_slice(whole.content());
            slot.date_at = head.date_at();
            self.bytes += slot.answer.len();
        } else {
            let place = slot
                .answer
                .get_mut(slot.date_at..slot.date_at + date.len())?;
            place.copy_from_slice(date);
        }
        Some(number)
    }

    /// The bytes of a response that was found.
    pub(crate) fn get(&self, number: usize) -> &[u8] {
        self.slots.get(number).map_or(&[], |slot| &slot.answer)
    }

    /// The bytes before the content of a response that was found for `plan`.
    pub(crate) fn head_length(&self, number: usize, plan: &ResponsePlan) -> usize {
        let content = plan.served_whole().map_or(0, |whole| whole.content().len());
        self.get(number).len().saturating_sub(content)
    }

    /// Drops the responses that were not used since the last sweep. Called every now and then.
    pub(crate) fn sweep(&mut self) {
        for slot in &mut self.slots {
            if std::mem::take(&mut slot.used) {
                continue;
            }
            self.bytes -= slot.answer.len();
            *slot = ResponseSlot::default();
        }
    }
}

impl ResponseSlot {
    fn is_free(&self) -> bool {
        self.of.is_none()
    }
}

/// The head of a plan, rendered once; `None` for a head made for one answer alone.
pub(crate) fn rendered_head(plan: &ResponsePlan) -> Option<&RenderedHead> {
    let render = || RenderedHead::new(plan.status, field_lines(plan));
    plan.rendered_heads()?.head(Protocol::Http1, render)
}

/// The field lines of a plan.
pub(crate) fn field_lines(plan: &ResponsePlan) -> impl Iterator<Item = (&str, &[u8])> {
    plan.fields().map(|(name, value)| (name, &**value))
}

/// The first slot for a representation, by a hash of its address.
fn home(number: usize) -> usize {
    (number >> 4).wrapping_mul(0x9E37_79B9) >> 7 & (SLOTS - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use salver_assets::{
        Config, Engine, HttpDate, MemorySource, Mount, Now, Patience, Request, Source, Step,
    };
    use std::sync::Arc;
    use std::time::Instant;

    const DATES: [&[u8; 29]; 2] = [
        b"Sun, 06 Nov 1994 08:49:37 GMT",
        b"Sun, 06 Nov 1994 08:49:38 GMT",
    ];

    struct Site {
        source: Arc<MemorySource>,
        engine: Engine,
        now: Now,
    }

    impl Site {
        fn new() -> Self {
            let source = Arc::new(MemorySource::new());
            let config = Config {
                mounts: vec![Mount::tree("/", Arc::clone(&source) as Arc<dyn Source>)],
                cache_max_file: 1024 * 1024,
                ..Config::default()
            };
            let now = Now {
                instant: Instant::now(),
                date: HttpDate::from_unix_seconds(2_000_000_000),
            };
            let engine = Engine::new(config).unwrap();
            Site {
                source,
                engine,
                now,
            }
        }

        fn plan(&self, request: &Request<'_>) -> ResponsePlan {
            loop {
                match self.engine.begin(request, self.now) {
                    Step::Respond(plan) => return plan,
                    Step::Load(load, _) => {
                        let outcome = load.perform(Patience::MayWait, self.now.instant);
                        self.engine.finish(load, outcome.unwrap());
                    }
                    Step::Wait(_) | Step::NeedDetails | Step::NeedAccess(_) => {
                        panic!("nobody else loads")
                    }
                }
            }
        }

        fn get(&self, path: &str) -> ResponsePlan {
            self.plan(&Request::get(path.as_bytes()))
        }
    }

    fn text(responses: &mut RenderedResponses, plan: &ResponsePlan, date: usize) -> Option<String> {
        thread_local!(static FRONT: Rc<ListenerFields> = Rc::default());
        let number =
            FRONT.with(|listener_fields| responses.find(plan, DATES[date], listener_fields))?;
        Some(String::from_utf8(responses.get(number).to_vec()).unwrap())
    }

    #[test]
    fn the_second_request_makes_it_and_later_ones_change_only_the_date() {
        let site = Site::new();
        site.source.insert("a", "alpha", 0);
        let plan = site.get("/a");
        let mut responses = RenderedResponses::new();
        assert_eq!(text(&mut responses, &plan, 0), None);
        let first = text(&mut responses, &plan, 0).unwrap();
        assert!(first.starts_with("HTTP/1.1 200 OK\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\n"));
        assert!(first.ends_with("\r\n\r\nalpha"), "{first}");
        let later = text(&mut responses, &site.get("/a"), 1).unwrap();
        assert_eq!(later, first.replace("08:49:37", "08:49:38"));
    }

    #[test]
    fn only_whole_content_in_memory_is_made_ready() {
        let site = Site::new();
        site.source.insert("a", "alpha", 0);
        site.source.insert("long", vec![b'x'; LONGEST + 1], 0);
        let mut responses = RenderedResponses::new();
        let mut check = |request: &Request<'_>| {
            let plan = site.plan(request);
            for _ in 0..3 {
                assert_eq!(text(&mut responses, &plan, 0), None, "{request:?}");
            }
        };
        check(&Request {
            method: salver_assets::Method::Head,
            ..Request::get(b"/a")
        });
        check(&Request::get(b"/nothing"));
        check(&Request::get(b"/long"));
        let mut part = Request::get(b"/a");
        part.fields.range = Some(b"bytes=1-2"[..].into());
        check(&part);
    }

    #[test]
    fn a_changed_file_is_another_answer_and_what_is_idle_goes() {
        let site = Site::new();
        site.source.insert("a", "alpha", 0);
        let mut responses = RenderedResponses::new();
        let old = site.get("/a");
        text(&mut responses, &old, 0);
        assert!(text(&mut responses, &old, 0).unwrap().ends_with("alpha"));
        site.source.insert("a", "omega", 1);
        site.engine.clear();
        let new = site.get("/a");
        text(&mut responses, &new, 0);
        assert!(text(&mut responses, &new, 0).unwrap().ends_with("omega"));
        responses.sweep();
        assert!(responses.bytes > 0);
        responses.sweep();
        assert_eq!(responses.bytes, 0);
        assert!(responses.slots.iter().all(ResponseSlot::is_free));
    }

    #[test]
    fn there_is_a_bound_and_each_gets_its_own_bytes() {
        let site = Site::new();
        let mut responses = RenderedResponses::new();
        let count = 2 * SLOTS;
        for number in 0..count {
            let length = LONGEST - 1000 + number % 1000;
            let mut content = number.to_string().into_bytes();
            content.resize(length, b'.');
            site.source.insert(&format!("{number}"), content, 0);
        }
        let mut found = 0;
        for _ in 0..3 {
            for number in 0..count {
                let plan = site.get(&format!("/{number}"));
                text(&mut responses, &plan, 0);
                if let Some(answer) = text(&mut responses, &plan, 0) {
                    let (_, content) = answer.split_once("\r\n\r\n").unwrap();
                    assert!(content.starts_with(&format!("{number}.")));
                    found += 1;
                }
                assert!(responses.bytes <= MOST);
                let sum: usize = responses.slots.iter().map(|slot| slot.answer.len()).sum();
                assert_eq!(sum, responses.bytes);
            }
        }
        assert!(found > 0);
    }
}
