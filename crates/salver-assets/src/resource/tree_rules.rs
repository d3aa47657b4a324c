//! The rules of a tree: those of its configuration, and those of the files in its root, which follow the disk.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use salver_rules::limits::LARGEST_FILE;
use salver_rules::{
    BasicAuth, Compat, Fault, Outcome, Parsed, PathRules, Request, Rule, RuleSet, parse_headers,
    parse_redirects,
};

use crate::cache::micros;
use crate::config::Mount;
use crate::conventions::{HEADERS, REDIRECTS};
use crate::error::{Stop, is_absence};
use crate::log::LogThrottle;
use crate::resource::ruling::Ruling;
use crate::source::digest::{self, Digest};
use crate::source::identity::may_change_unseen;
use crate::source::{Identity, Kind, Patience, View};
use crate::sync::Lock;

/// The age up to which a comparison of the files serves a load that may wait.
const COMPARED_FOR: Duration = Duration::from_millis(10);

/// The pause of a load that needs what another one is reading.
const PAUSE: Duration = Duration::from_millis(2);

/// The faults of a file that are logged, each by its line.
const FAULTS: usize = 20;

/// Reads a file of the tree, which has just been looked at.
pub(crate) type ReadFile<'a> = dyn Fn(&[u8], &Identity) -> Result<Bytes, Stop> + 'a;

/// The rules of one mount.
#[derive(Debug)]
pub(crate) struct TreeRules {
    /// The host whose files are read, if any are.
    compat: Option<Compat>,
    state: Lock<TreeState>,
    /// The moment at which the last comparison of the files with the disk began, in microseconds since the engine's
    /// epoch; the maximum if there was none.
    compared: AtomicU64,
    /// How often somebody has said that the files may have changed, and how often when the last comparison began.
    told: AtomicU64,
    compared_after: AtomicU64,
    /// Held by the load that reads the files.
    reading: Lock<()>,
}

/// The rules in force, and the files as they were last read: `_headers`, `_redirects`.
#[derive(Clone, Debug)]
struct TreeState {
    rules: Arc<RulesInForce>,
    files: [Option<SeenFile>; 2],
}

/// The rules that hold for a tree until its files change.
#[derive(Debug)]
pub(crate) struct RulesInForce {
    /// The number of changes until then; never 0.
    pub(crate) generation: u64,
    /// Those of the configuration, which come first.
    configured: Option<Arc<RuleSet>>,
    of_files: RuleSet,
}

/// A file of rules that was read.
#[derive(Clone, Debug)]
struct SeenFile {
    identity: Identity,
    digest: Digest,
    rules: Arc<[Rule]>,
}

/// The rules for a load, and since when they are known to hold.
pub(crate) struct Compared {
    pub(crate) rules: Arc<RulesInForce>,
    /// The moment of the comparison, since the engine's epoch.
    pub(crate) at: Duration,
    /// True if other rules held before: what was made by those is outdated.
    pub(crate) have_changed: bool,
}

impl TreeRules {
    /// The rules of a mount, if it may have any.
    pub(crate) fn of(mount: &Mount) -> Option<Self> {
        let compat = mount.conventions().map(|conventions| conventions.compat);
        let configured = mount.rules().filter(|rules| !rules.is_empty());
        if compat.is_none() && configured.is_none() {
            return None;
        }
        let rules = RulesInForce {
            generation: 1,
            configured: configured.cloned(),
            of_files: RuleSet::default(),
        };
        Some(TreeRules {
            compat,
            state: Lock::new(TreeState {
                rules: Arc::new(rules),
                files: [None, None],
            }),
            compared: AtomicU64::new(u64::MAX),
            told: AtomicU64::new(0),
            compared_after: AtomicU64::new(0),
            reading: Lock::default(),
        })
    }

    /// Has the files compared by the next load, whenever they were last.
    pub(crate) fn make_due(&self) {
        self.told.fetch_add(1, Ordering::AcqRel);
    }

    /// The rules in force when they were compared last.
    pub(crate) fn latest(&self) -> Arc<RulesInForce> {
        Arc::clone(&self.state.hold().rules)
    }

    /// The rules in force, compared with the files of `view` if that is due. `began` is the beginning of the load.
    ///
    /// # Errors
    /// As of looking and reading. Files that cannot be read any more leave the rules as they were.
    pub(crate) fn compare(
        &self,
        view: &dyn View,
        read: &ReadFile<'_>,
        (patience, began, revalidate): (Patience, Duration, Duration),
        (log, root): (&LogThrottle, &[u8]),
    ) -> Result<Compared, Stop> {
        let rules = self.latest();
        let Some(compat) = self.compat else {
            return Ok(unchanged(rules, began));
        };
        let compared = self.compared.load(Ordering::Acquire);
        let serves_for = match patience {
            Patience::MayWait => (revalidate / 4).min(COMPARED_FOR),
            Patience::MustNotWait => revalidate / 2,
        };
        let is_known = compared != u64::MAX;
        let told = self.told.load(Ordering::Acquire);
        let is_due = told != self.compared_after.load(Ordering::Acquire);
        if is_known && !is_due && micros(began).saturating_sub(compared) < micros(serves_for) {
            return Ok(unchanged(rules, Duration::from_micros(compared)));
        }
        let compared = self.compare_now(view, read, compat, (patience, began), (log, root));
        if compared.is_ok() {
            self.compared_after.fetch_max(told, Ordering::AcqRel);
        }
        let Err(Stop::Io(error)) = compared else {
            return compared;
        };
        say_error(&error, is_known, root, (log, began));
        match is_known {
            true => Ok(unchanged(rules, began)),
            // They may say who may have what.
            false => Err(Stop::Io(error)),
        }
    }

    /// Compares the files with the rules in force, and reads those that have changed.
    fn compare_now(
        &self,
        view: &dyn View,
        read: &ReadFile<'_>,
        compat: Compat,
        (patience, began): (Patience, Duration),
        (log, root): (&LogThrottle, &[u8]),
    ) -> Result<Compared, Stop> {
        let TreeState { rules, files } = self.state.hold().clone();
        let found = look(view, patience)?;
        let is_same = |(found, seen): (&Option<Identity>, &Option<SeenFile>)| match (found, seen) {
            (None, None) => true,
            (Some(found), Some(seen)) => seen.identity == *found && !may_change_unseen(found),
            _ => false,
        };
        if found.iter().zip(&files).all(is_same) {
            return Ok(self.confirmed(rules, began, view));
        }
        if patience == Patience::MustNotWait {
            // Parsing may take long.
            return Err(Stop::WouldWait);
        }
        let Some(_reading) = self.reading.try_hold() else {
            return Err(Stop::RetryAfter(PAUSE));
        };
        let latest = self.state.hold().clone();
        let identity = |file: &Option<SeenFile>| file.as_ref().map(|file| file.identity);
        let is_read_by_others = !Arc::ptr_eq(&latest.rules, &rules)
            || latest.files.each_ref().map(identity) != files.each_ref().map(identity);
        if is_read_by_others {
            // A new look tells which of the two versions is the later one. Where the disk's time is coarse they may look alike.
            return Err(Stop::Changed);
        }
        let mut now = files.clone();
        let parse: [(&str, Parse); 2] = [(HEADERS, parse_headers), (REDIRECTS, parse_redirects)];
        for ((file, found), (name, parse)) in now.iter_mut().zip(&found).zip(parse) {
            *file = match found {
                None => None,
                Some(identity) => {
                    let parse = |bytes: &[u8]| parse(bytes, compat);
                    let say = (name, root, log, began);
                    Some(take(file.take(), identity, read, parse, say)?)
                }
            };
        }
        let digest = |file: &Option<SeenFile>| file.as_ref().map(|file| file.digest);
        let differ = now.each_ref().map(digest) != files.each_ref().map(digest);
        let all = now.iter().flatten().flat_map(|file| file.rules.iter());
        let all: Vec<Rule> = all.cloned().collect();
        let of_files = match differ.then(|| RuleSet::compile(&all)).transpose() {
            Ok(of_files) => of_files,
            Err(fault) => {
                // Each compiles, but not all together.
                say(&[fault], REDIRECTS, root, (log, began));
                None
            }
        };
        let rules = match of_files {
            None => rules,
            Some(of_files) => Arc::new(RulesInForce {
                generation: rules.generation + 1,
                configured: rules.configured.clone(),
                of_files,
            }),
        };
        let before = {
            let mut state = self.state.hold();
            state.files = now;
            std::mem::replace(&mut state.rules, Arc::clone(&rules)).generation
        };
        // Nothing was made by rules that were never compared.
        let was_known = self.compared.load(Ordering::Acquire) != u64::MAX;
        let have_changed = was_known && before != rules.generation;
        Ok(Compared {
            have_changed,
            ..self.confirmed(rules, began, view)
        })
    }

    /// Notes that the files were compared by a load that began at `began`, with what the view told then: how old that is counts
    /// for the load by itself.
    fn confirmed(&self, rules: Arc<RulesInForce>, began: Duration, view: &dyn View) -> Compared {
        let told = began.saturating_sub(view.age());
        self.compared.store(micros(told), Ordering::Release);
        unchanged(rules, began)
    }
}

/// The file of this version, read and parsed unless its content is what was `seen`. One that is too large leaves
/// what holds.
fn take(
    seen: Option<SeenFile>,
    identity: &Identity,
    read: &ReadFile<'_>,
    parse: impl FnOnce(&[u8]) -> Parsed,
    (name, root, log, now): (&str, &[u8], &LogThrottle, Duration),
) -> Result<SeenFile, Stop> {
    let seen = seen.unwrap_or(SeenFile {
        identity: *identity,
        digest: digest::of_bytes(&[]),
        rules: Arc::new([]),
    });
    let seen = SeenFile {
        identity: *identity,
        ..seen
    };
    if usize::try_from(identity.length).map_or(true, |length| length > LARGEST_FILE) {
        let what = format!("the file has {} bytes", identity.length);
        let fault = Fault::new(what, format!("{LARGEST_FILE} are the most"));
        say(&[fault], name, root, (log, now));
        return Ok(seen);
    }
    let bytes = read(name.as_bytes(), identity)?;
    let digest = digest::of_bytes(&bytes);
    if digest == seen.digest {
        return Ok(seen);
    }
    let Parsed { rules, faults } = parse(&bytes);
    say(&faults, name, root, (log, now));
    tracing::info!("{}: {} rules", place(root, name), rules.len());
    Ok(SeenFile {
        digest,
        rules: rules.into(),
        ..seen
    })
}

type Parse = fn(&[u8], Compat) -> Parsed;

fn unchanged(rules: Arc<RulesInForce>, at: Duration) -> Compared {
    Compared {
        rules,
        at,
        have_changed: false,
    }
}

/// The versions of the files that are there.
fn look(view: &dyn View, patience: Patience) -> Result<[Option<Identity>; 2], Stop> {
    let find = |name: &str| match view.stat(name.as_bytes(), patience) {
        Ok(metadata) => Ok((metadata.kind == Kind::File).then_some(metadata.identity)),
        Err(error) if is_absence(&error) => Ok(None),
        Err(error) => Err(Stop::from(error)),
    };
    Ok([find(HEADERS)?, find(REDIRECTS)?])
}

fn place(root: &[u8], name: &str) -> String {
    crate::log::quoted(&[root, b"/", name.as_bytes()].concat())
}

/// Logs the faults of a file, for the author of the site.
fn say(faults: &[Fault], name: &str, root: &[u8], (log, now): (&LogThrottle, Duration)) {
    let place = place(root, name);
    for fault in faults.iter().take(FAULTS) {
        let fault = fault.to_string();
        if log.first(&log.rules, now, (&place, &fault)) {
            tracing::warn!("{place}: {fault}");
        }
    }
    let more = faults.len().saturating_sub(FAULTS);
    if more > 0 && log.first(&log.rules, now, (&place, more)) {
        tracing::warn!("{place}: {more} more faults: salver check names them");
    }
}

/// Logs that the files cannot be read.
fn say_error(error: &io::Error, is_known: bool, root: &[u8], (log, now): (&LogThrottle, Duration)) {
    let error = error.to_string();
    if log.first(&log.rules, now, (root, &error, is_known)) {
        let files = place(root, "{_headers,_redirects}");
        let what = match is_known {
            true => "the rules stay as they were",
            false => "nothing is served without the rules",
        };
        tracing::warn!("{files}: {what}: {}", error.escape_debug());
    }
}

impl RulesInForce {
    /// True if there are no rules.
    pub(crate) fn are_none(&self) -> bool {
        self.configured.is_none() && self.of_files.is_empty()
    }

    /// The rules for a path, those of the configuration first.
    fn for_path<'r>(&'r self, path: &'r [u8]) -> impl Iterator<Item = PathRules<'r>> {
        let configured = self.configured.as_deref().into_iter();
        let all = configured.chain([&self.of_files]);
        all.filter(|rules| !rules.is_empty())
            .map(move |rules| rules.for_path(path))
    }

    /// The ruling for every request for a path; `None` if it takes the request to tell.
    pub(crate) fn rule(&self, path: &[u8]) -> Option<Ruling> {
        let matched: Vec<_> = self.for_path(path).collect();
        if matched.iter().any(PathRules::has_request_conditions) {
            return None;
        }
        let outcomes: Vec<_> = matched.iter().map(PathRules::unconditional).collect();
        let asks = |outcome: &Outcome<'_>| outcome.basic_auth().is_some();
        (!outcomes.iter().any(asks)).then(|| Ruling::new(self.generation, &outcomes, &[]))
    }

    /// The ruling for a request, and who may have the answer.
    pub(crate) fn rule_for(
        &self,
        path: &[u8],
        request: &Request<'_>,
    ) -> (Ruling, Option<Arc<BasicAuth>>) {
        let matched: Vec<_> = self.for_path(path).collect();
        let mut vary: Vec<_> = matched.iter().flat_map(PathRules::request_fields).collect();
        vary.sort_unstable();
        vary.dedup();
        let outcomes: Vec<_> = matched
            .iter()
            .map(|rules| rules.for_request(request))
            .collect();
        let users = outcomes.iter().find_map(Outcome::basic_auth).cloned();
        (Ruling::new(self.generation, &outcomes, &vary), users)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;
    use crate::MemorySource;
    use crate::conventions::Conventions;
    use crate::source::{Metadata, Opened, Source};

    fn rules_of(source: &MemorySource) -> (TreeRules, Arc<dyn View>) {
        let mount = Mount::tree("/", Arc::new(MemorySource::new()))
            .with_conventions(Conventions::default());
        let view = source.view(Patience::MayWait).unwrap();
        (TreeRules::of(&mount).unwrap(), view)
    }

    fn compare(rules: &TreeRules, view: &dyn View, read: &ReadFile<'_>) -> Result<u64, Stop> {
        let when = (Patience::MayWait, Duration::ZERO, Duration::ZERO);
        let compared = rules.compare(view, read, when, (&LogThrottle::default(), b""));
        compared.map(|compared| compared.rules.generation)
    }

    #[test]
    fn one_load_reads_and_each_other_comes_again() {
        let source = MemorySource::new();
        source.insert("_headers", "/*\n  X-A: 1\n", 0);
        let (rules, view) = rules_of(&source);
        let others = RefCell::new(Vec::new());
        let nothing = |_: &[u8], _: &Identity| panic!("it is being read");
        let read = |_: &[u8], _: &Identity| {
            for _ in 0..3 {
                others.borrow_mut().push(compare(&rules, &*view, &nothing));
            }
            Ok(Bytes::from_static(b"/*\n  X-A: 1\n"))
        };
        assert_eq!(compare(&rules, &*view, &read).unwrap(), 2);
        let others = others.into_inner();
        assert_eq!(others.len(), 3);
        for other in others {
            assert!(matches!(other, Err(Stop::RetryAfter(_))), "{other:?}");
        }
    }

    /// A view of which each look is followed by something else.
    struct Followed<F>(Arc<dyn View>, F);

    impl<F: Fn() + Send + Sync> View for Followed<F> {
        fn stat(&self, path: &[u8], patience: Patience) -> io::Result<Metadata> {
            let found = self.0.stat(path, patience);
            self.1();
            found
        }

        fn open(&self, path: &[u8], patience: Patience) -> io::Result<Opened> {
            self.0.open(path, patience)
        }

        fn list(&self, path: &[u8]) -> io::Result<Vec<Vec<u8>>> {
            self.0.list(path)
        }
    }

    #[test]
    fn what_was_looked_at_before_others_have_read_does_not_take_the_place_of_theirs() {
        let source = MemorySource::new();
        source.insert("_headers", "/*\n  X-A: 1\n", 0);
        let (rules, first) = rules_of(&source);
        source.insert("_headers", "/*\n  X-A: 2\n", 0);
        let second = source.view(Patience::MayWait).unwrap();
        let read = |_: &[u8], _: &Identity| Ok(Bytes::from_static(b"/*\n  X-A: 2\n"));
        let look_late = || assert_eq!(compare(&rules, &*second, &read).unwrap(), 2);
        let nothing =
            |_: &[u8], _: &Identity| panic!("others have read a version that may be later");
        let stopped = compare(&rules, &Followed(first, look_late), &nothing);
        assert!(matches!(stopped, Err(Stop::Changed)), "{stopped:?}");
        assert_eq!(compare(&rules, &*second, &nothing).unwrap(), 2);
    }
}
