//! Pages of the list of a bucket, each of which can stand for many comparisons: which one is worth asking for, and when.
//!
//! A page tells of up to 1,000 objects whether each is as it was. A store charges more for it than for a comparison, so that it
//! is asked for only where it stands for enough of them: where so many paths in it were asked for within a period, the time after
//! which each has to be compared. How far a page reaches is known once it was asked for.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::bucket::PAGE;

/// The comparisons that a page has to stand for: at S3, Google Cloud Storage and R2 a list costs as much as 12.5 reads.
const WORTH: usize = 13;

/// The most pages that are on their way at once: each takes milliseconds of a core, which answers wait for if they come in a row.
const AT_ONCE: usize = 2;

/// The most paths that lie between the end of a page and a key which the next one is to tell of.
const NEAR: usize = PAGE / 2;

/// The most pages whose ends are known; for more, they are found out again.
const MOST: usize = 1024;

/// The longest pause after a page that stood for less: from a period on it doubles with each.
const LONGEST_PAUSE: Duration = Duration::from_hours(1);

/// A part of the keys of a bucket, in their order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    /// The key behind which it begins; empty for the first.
    pub(crate) after: Box<str>,
    /// The last key; none if it goes to the end.
    pub(crate) to: Option<Box<str>>,
}

impl Span {
    /// True if a key is in it.
    pub(crate) fn contains(&self, key: &str) -> bool {
        *self.after < *key && self.to.as_ref().is_none_or(|to| *key <= **to)
    }

    fn bounds(&self) -> (Bound<&str>, Bound<&str>) {
        let to = self.to.as_deref();
        (
            Bound::Excluded(&*self.after),
            to.map_or(Bound::Unbounded, Bound::Included),
        )
    }
}

/// What compares a path that is due.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// A question for itself.
    Alone,
    /// This page, which whoever got the turn asks for.
    Page(Span),
    /// A page, once others have come.
    Later,
}

/// A path that is held, and when it was asked for since.
#[derive(Debug)]
struct Wanted {
    path: Arc<[u8]>,
    last: Option<Instant>,
}

/// A page whose end is known.
#[derive(Debug)]
struct Known {
    to: Option<Box<str>>,
    /// The moment at which it was asked for; `None` if what it told is due.
    asked: Option<Instant>,
}

/// What a page has told.
#[derive(Debug)]
pub(crate) struct Told {
    /// The part of the keys that it is of.
    pub(crate) span: Span,
    /// The moment at which it was asked for.
    pub(crate) asked: Instant,
    /// The paths in it that were wanted, and those of them that it has confirmed.
    pub(crate) wanted: usize,
    pub(crate) confirmed: usize,
}

/// The pages of a bucket, and the paths that are asked for. Time is passed in.
#[derive(Debug)]
pub(crate) struct Pages {
    period: Duration,
    /// The paths that are held, and when they were asked for, by their keys.
    wanted: BTreeMap<Box<str>, Wanted>,
    /// Pages by the keys behind which they begin.
    known: BTreeMap<Box<str>, Known>,
    /// Those that are on their way.
    under_way: Vec<Span>,
    pause: Duration,
    /// The moment from which on pages are asked for again whose ends are not known; until then none is if the last did not come.
    explored_from: Option<Instant>,
    has_come: bool,
    /// True if the store does not list in the order of keys, as some do not.
    is_off: bool,
}

impl Pages {
    /// The pages of a bucket whose objects are compared after this time; of one that does not list them, none is ever asked for.
    pub(crate) fn new(period: Duration, lists: bool) -> Self {
        Pages {
            period,
            wanted: BTreeMap::new(),
            known: BTreeMap::new(),
            under_way: Vec::new(),
            pause: Duration::ZERO,
            explored_from: None,
            has_come: true,
            is_off: !lists || period.is_zero(),
        }
    }

    /// Notes that a path which is held was asked for, whose object would have this key.
    pub(crate) fn want(&mut self, key: &str, path: &[u8], now: Instant) {
        match self.wanted.get_mut(key) {
            Some(wanted) => wanted.last = Some(now),
            None => self.insert(key, path, Some(now)),
        }
    }

    /// Notes that a path is held. It counts only by where it lies, for what was asked for once may never be again.
    pub(crate) fn note_held(&mut self, key: &str, path: &[u8]) {
        if !self.wanted.contains_key(key) {
            self.insert(key, path, None);
        }
    }

    fn insert(&mut self, key: &str, path: &[u8], last: Option<Instant>) {
        // Where none is ever asked for, nobody asks for these.
        if !self.is_off {
            let path = path.into();
            self.wanted.insert(key.into(), Wanted { path, last });
        }
    }

    /// Notes that the path with a key is held no more.
    pub(crate) fn forget(&mut self, key: &str) {
        self.wanted.remove(key);
    }

    /// Notes that all has to be compared again, however lately it was.
    pub(crate) fn make_due(&mut self) {
        self.known.values_mut().for_each(|page| page.asked = None);
    }

    /// The paths in a part that were asked for within the last period, and a little more: whoever asks all the time asks each
    /// period and a moment.
    pub(crate) fn wanted_in(&self, span: &Span, now: Instant) -> Vec<(Box<str>, Arc<[u8]>)> {
        let lately = self
            .in_span(span)
            .filter(|(_, one)| self.is_in_use(one, now));
        lately
            .map(|(key, one)| (key.clone(), Arc::clone(&one.path)))
            .collect()
    }

    /// True if a page from where a part begins stands for enough. Of what follows only as much is looked at as a page has, for
    /// a loop waits for this.
    fn is_worth_it(&self, span: &Span, now: Instant) -> bool {
        let within = self.in_span(span).take(PAGE);
        let lately = within.filter(|(_, one)| self.is_in_use(one, now));
        lately.take(WORTH).count() == WORTH
    }

    /// The paths in a part.
    fn in_span(&self, span: &Span) -> impl Iterator<Item = (&Box<str>, &Wanted)> {
        // The range of a map panics where its end lies before its beginning.
        let is_sound = span.to.as_ref().is_none_or(|to| *to > span.after);
        let range = is_sound.then(|| self.wanted.range::<str, _>(span.bounds()));
        range.into_iter().flatten()
    }

    /// True if a path was asked for lately.
    fn is_in_use(&self, wanted: &Wanted, now: Instant) -> bool {
        let since = wanted.last.map(|last| now.saturating_duration_since(last));
        since.is_some_and(|since| since <= self.period + self.period / 4)
    }

    /// What compares a key that is due now and was compared then.
    pub(crate) fn turn(&mut self, key: &str, compared: Instant, now: Instant) -> Turn {
        let explores = self.explored_from.is_none_or(|from| now >= from);
        if self.is_off || self.is_under_way(key) || !(explores || self.has_come) {
            return Turn::Alone;
        }
        let known = self.known_with(key);
        match &known {
            // What it did not confirm has changed, most likely.
            Some((_, Some(asked))) if compared < *asked => return Turn::Alone,
            None if !explores => return Turn::Alone,
            Some(_) | None => {}
        }
        // Before it is counted what it would stand for, which takes longer.
        if self.under_way.len() >= AT_ONCE {
            return Turn::Later;
        }
        let span = known.map_or_else(|| self.unknown_from(key), |(span, _)| span);
        if !self.is_worth_it(&span, now) {
            return Turn::Alone;
        }
        self.under_way.push(span.clone());
        Turn::Page(span)
    }

    /// True if a page with a key in it is on its way: what became of the key is known in a moment.
    pub(crate) fn is_under_way(&self, key: &str) -> bool {
        self.under_way.iter().any(|span| span.contains(key))
    }

    /// Notes what a page has told; nothing if it did not come.
    pub(crate) fn end(&mut self, asked: &Span, told: Option<Told>, now: Instant) {
        self.under_way.retain(|span| span != asked);
        self.known.remove(&asked.after);
        self.has_come = told.is_some();
        let Some(told) = told else {
            return self.put_off(now);
        };
        // Where less is confirmed, lists have other tags than answers.
        let is_of_use = told.confirmed >= told.wanted / 2;
        if is_of_use {
            if self.known.len() >= MOST {
                self.known.clear();
            }
            let (Span { after, to }, asked) = (told.span, Some(told.asked));
            // Those that begin within it.
            let behind = (Bound::Excluded(&*after), Bound::Unbounded);
            let known = self.known.range::<str, _>(behind);
            let keys = known.map(|(after, _)| after.clone());
            let within = keys.take_while(|after| to.as_ref().is_none_or(|to| after < to));
            for after in within.collect::<Vec<_>>() {
                self.known.remove(&after);
            }
            self.known.insert(after, Known { to, asked });
        }
        match is_of_use && told.confirmed >= WORTH {
            true => (self.pause, self.explored_from) = (Duration::ZERO, None),
            false => self.put_off(now),
        }
    }

    /// Asks for no page any more: the store does not list in the order of keys.
    pub(crate) fn give_up(&mut self) {
        *self = Pages::new(self.period, false);
    }

    fn put_off(&mut self, now: Instant) {
        self.pause = (self.pause * 2).max(self.period).min(LONGEST_PAUSE);
        self.explored_from = Some(now + self.pause);
    }

    /// The page with a key in it, and when it was asked for.
    fn known_with(&self, key: &str) -> Option<(Span, Option<Instant>)> {
        let before = (Bound::Unbounded, Bound::Excluded(key));
        let (after, known) = self.known.range::<str, _>(before).next_back()?;
        let span = Span {
            after: after.clone(),
            to: known.to.clone(),
        };
        span.contains(key).then_some((span, known.asked))
    }

    /// The part with a key in it of which no page is known: from where the page before it ends, if that is near, so that pages lie
    /// side by side; else from a little before the key.
    fn unknown_from(&self, key: &str) -> Span {
        let before = (Bound::Unbounded, Bound::Excluded(key));
        let before = self.known.range::<str, _>(before).next_back();
        let end = before.and_then(|(_, known)| known.to.as_deref());
        let end = end.unwrap_or_default();
        let between = (Bound::Excluded(end), Bound::Excluded(key));
        let between = (end < key).then(|| self.wanted.range::<str, _>(between));
        let is_near = between.is_none_or(|between| between.take(NEAR + 1).count() <= NEAR);
        // As in most buckets. One that came to nothing was worth less than it seemed.
        let may_be_one = self.known.is_empty() && self.wanted.len() <= PAGE;
        let after = match (is_near || may_be_one) && self.pause.is_zero() {
            true => end,
            false => {
                let mut letters = key.chars();
                letters.next_back();
                letters.as_str().max(end)
            }
        };
        let behind = (Bound::Excluded(key), Bound::Unbounded);
        let next = self.known.range::<str, _>(behind).next();
        Span {
            after: after.into(),
            to: next.map(|(after, _)| after.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PERIOD: Duration = Duration::from_secs(10);

    fn key(number: usize) -> String {
        format!("{number:05}")
    }

    fn want(pages: &mut Pages, numbers: impl IntoIterator<Item = usize>, now: Instant) {
        for number in numbers {
            pages.want(&key(number), key(number).as_bytes(), now);
        }
    }

    fn span(after: &str, to: Option<&str>) -> Span {
        Span {
            after: after.into(),
            to: to.map(Into::into),
        }
    }

    /// Asks for the page that a key of 10,000 is due by, which tells of so many of them and confirms all that are wanted.
    fn ask(pages: &mut Pages, number: usize, reach: usize, now: Instant) -> Option<Span> {
        let Turn::Page(asked) = pages.turn(&key(number), now - PERIOD, now) else {
            return None;
        };
        assert!(pages.is_under_way(&key(number)));
        assert_eq!(pages.turn(&key(number), now - PERIOD, now), Turn::Alone);
        // One that begins a little before a key has its letters but the last.
        let first = format!("{:0<5}", asked.after).parse::<usize>().unwrap();
        let last = first + reach;
        let told = span(&asked.after, (last < 10_000).then(|| key(last)).as_deref());
        let wanted = pages.wanted_in(&told, now).len();
        let found = Told {
            span: told.clone(),
            asked: now,
            wanted,
            confirmed: wanted,
        };
        pages.end(&asked, Some(found), now);
        Some(told)
    }

    #[test]
    fn a_page_is_asked_for_where_it_stands_for_enough() {
        let (mut pages, mut now) = (Pages::new(PERIOD, true), Instant::now());
        want(&mut pages, 0..WORTH - 1, now);
        pages.note_held(&key(WORTH), key(WORTH).as_bytes());
        assert_eq!(pages.turn(&key(3), now - PERIOD, now), Turn::Alone);
        want(&mut pages, 0..WORTH, now);
        // Most buckets have one.
        let all = Some(span("", None));
        assert_eq!(ask(&mut pages, 3, 20_000, now), all);
        // What it did not confirm.
        assert_eq!(pages.turn(&key(3), now - PERIOD, now), Turn::Alone);
        now += PERIOD;
        assert_eq!(ask(&mut pages, 3, 20_000, now), all);
        now += PERIOD;
        // Nobody has asked for them since.
        assert_eq!(pages.turn(&key(3), now - PERIOD, now), Turn::Alone);
        want(&mut pages, 0..WORTH, now);
        pages.forget(&key(0));
        assert_eq!(pages.turn(&key(3), now - PERIOD, now), Turn::Alone);
        want(&mut pages, [0], now);
        assert_eq!(ask(&mut pages, 3, 20_000, now), all);
        let mut none = Pages::new(PERIOD, false);
        want(&mut none, 0..WORTH, now);
        assert_eq!(
            (none.turn(&key(3), now - PERIOD, now), none.wanted.len()),
            (Turn::Alone, 0)
        );
    }

    #[test]
    fn how_far_pages_reach_is_learned() {
        let (mut pages, mut now) = (Pages::new(PERIOD, true), Instant::now());
        for _ in 0..5 {
            want(&mut pages, 0..10_000, now);
            let asked = (0..10_000).filter(|number| ask(&mut pages, *number, 1000, now).is_some());
            let count = asked.count();
            assert!((10..=12).contains(&count), "{count}");
            now += PERIOD;
        }
        // A few in each are compared one by one.
        now += PERIOD;
        want(&mut pages, (0..10_000).step_by(100), now);
        for number in (0..10_000).step_by(100) {
            assert_eq!(pages.turn(&key(number), now - PERIOD, now), Turn::Alone);
        }
    }

    #[test]
    fn a_page_waits_until_others_have_come() {
        let (mut pages, now) = (Pages::new(PERIOD, true), Instant::now());
        want(&mut pages, 0..10_000, now);
        let mut turn = |number| pages.turn(&key(number), now - PERIOD, now);
        let [Turn::Page(first), Turn::Page(second)] = [turn(9_000), turn(5_000)] else {
            panic!("{pages:?}");
        };
        assert_eq!(turn(3), Turn::Later);
        let told = Told {
            span: first.clone(),
            asked: now,
            wanted: 1000,
            confirmed: 1000,
        };
        pages.end(&first, Some(told), now);
        let Turn::Page(third) = pages.turn(&key(3), now - PERIOD, now) else {
            panic!("{pages:?}");
        };
        pages.end(&third, None, now);
        // Where one does not come, none is asked for in a while.
        pages.end(&second, None, now);
        assert_eq!(pages.turn(&key(9_500), now, now), Turn::Alone);
        want(&mut pages, 9_000..10_000, now + PERIOD * 2);
        let next = pages.turn(&key(9_500), now, now + PERIOD * 2);
        assert!(matches!(next, Turn::Page(_)), "{next:?}");
    }

    #[test]
    fn what_lies_beyond_a_page_does_not_count() {
        let (mut pages, mut now) = (Pages::new(PERIOD, true), Instant::now());
        want(&mut pages, 0..10_000, now);
        now += PERIOD * 2;
        want(&mut pages, 5_000..5_100, now);
        assert_eq!(pages.turn(&key(3), now - PERIOD, now), Turn::Alone);
        let page = ask(&mut pages, 5_000, 1000, now).unwrap();
        assert!(page.contains(&key(5_099)) && !page.contains(&key(3)));
    }

    #[test]
    fn a_bucket_with_few_that_are_wanted_is_explored_less_and_less() {
        let (mut pages, mut now) = (Pages::new(PERIOD, true), Instant::now());
        let mut lists = 0;
        for _ in 0..360 {
            // Far apart.
            let numbers = (0..10_000).step_by(500);
            want(&mut pages, numbers.clone(), now);
            lists += numbers
                .filter(|number| ask(&mut pages, *number, 10, now).is_some())
                .count();
            now += PERIOD;
        }
        assert!((1..20).contains(&lists), "{lists}");
    }

    #[test]
    fn what_confirms_nothing_is_not_asked_again_and_again() {
        let (mut pages, mut now) = (Pages::new(PERIOD, true), Instant::now());
        let mut lists = 0;
        for _ in 0..360 {
            want(&mut pages, 0..100, now);
            for number in 0..100 {
                if let Turn::Page(asked) = pages.turn(&key(number), now - PERIOD, now) {
                    lists += 1;
                    let told = (lists % 2 == 0).then(|| Told {
                        span: span("", None),
                        asked: now,
                        wanted: 100,
                        confirmed: 0,
                    });
                    pages.end(&asked, told, now);
                }
            }
            now += PERIOD;
        }
        assert!((1..20).contains(&lists), "{lists}");
        pages.give_up();
        want(&mut pages, 0..100, now);
        now += Duration::from_hours(2);
        assert_eq!(pages.turn(&key(3), now - PERIOD, now), Turn::Alone);
    }
}
