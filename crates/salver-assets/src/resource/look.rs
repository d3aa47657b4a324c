//! The look of a load: the rules for its path, and what answers for it.

use std::sync::Arc;
use std::time::Duration;

use crate::alternative::alternative_of_key;
use crate::config::Mount;
use crate::error::Stop;
use crate::path::path_of_key;
use crate::resource::entry::EntryRules;
use crate::resource::handles::{Handles, read};
use crate::resource::load::Load;
use crate::resource::locate::{Found, FoundFile, locate, stat};
use crate::resource::resolve::{Looked, Resolved, Tree};
use crate::resource::ruling::Ruling;
use crate::resource::tree_rules::{Compared, RulesInForce};
use crate::source::snapshot::ReadContext;
use crate::source::{Identity, Kind, View};

impl Load {
    /// Looks at what is there; `None` if the rules have changed, so that the request has to begin again.
    pub(super) fn look(
        &self,
        mount: &Mount,
        view: Arc<dyn View>,
        context: ReadContext<'_>,
        began: Duration,
    ) -> Result<Option<Looked>, Stop> {
        let shared = &*self.shared;
        let Some(rules) = shared.rules(self.mount) else {
            if mount.clean_urls.is_some() || mount.listing().is_some() {
                return self.resolve(mount, &view, context, (EntryRules::default(), began));
            }
            // Nothing but files: the most common case.
            let found = locate(&*view, &self.relative, &shared.config, context.patience)?;
            let found = self.or_alternative(&*view, found, context)?;
            return Ok(Some(Looked {
                view,
                mount: self.mount,
                found,
                rules: EntryRules::default(),
                in_force: None,
                began,
            }));
        };
        let Compared {
            rules,
            at,
            have_changed,
        } = {
            let files = Handles::new(&*view);
            let read = |path: &[u8], identity: &Identity| {
                let opened = files.open(path, identity, context)?;
                Ok(read(shared, &opened, context)?.bytes)
            };
            let root = shared.mounts.path_of(self.mount, b"");
            let root = root.strip_suffix(b"/").unwrap_or(&root);
            let root = &[shared.config.name.as_bytes(), root].concat();
            let when = (context.patience, began, shared.config.revalidate);
            rules.compare(&*view, &read, when, (&shared.pool.log, root))?
        };
        if have_changed {
            shared.forget_mount(self.mount);
        }
        let began = began.min(at);
        let generation = rules.generation;
        let ruling = match self.ruling_by(&rules) {
            Applies::Outdated => return Ok(None),
            Applies::ByRequest => {
                return Ok(Some(Looked {
                    view,
                    mount: self.mount,
                    found: Found::ByRequest,
                    rules: EntryRules {
                        generation,
                        ruling: None,
                    },
                    in_force: Some(rules),
                    began,
                }));
            }
            Applies::ToAll(ruling) => ruling,
        };
        let rules = EntryRules { generation, ruling };
        self.resolve(mount, &view, context, (rules, began))
    }

    /// Resolves the path by these rules, which were compared at that time.
    fn resolve(
        &self,
        mount: &Mount,
        view: &Arc<dyn View>,
        context: ReadContext<'_>,
        (rules, began): (EntryRules, Duration),
    ) -> Result<Option<Looked>, Stop> {
        let tree = Tree {
            shared: &self.shared,
            view,
            number: self.mount,
            mount,
            patience: context.patience,
        };
        let Resolved { view, mount, found } =
            tree.resolve(&self.relative, rules.ruling.as_deref())?;
        let found = self.or_alternative(&*view, found, context)?;
        Ok(Some(Looked {
            view,
            mount,
            found,
            rules,
            in_force: None,
            began,
        }))
    }

    /// The alternative to what was found, if that is what is loaded: nothing where it is not there.
    fn or_alternative(
        &self,
        view: &dyn View,
        found: Found,
        context: ReadContext<'_>,
    ) -> Result<Found, Stop> {
        let (Some(alternative), _) = alternative_of_key(&self.key) else {
            return Ok(found);
        };
        let Some(path) = (match &found {
            Found::File(original) => alternative.path_for(&original.path),
            _ => None,
        }) else {
            return Ok(Found::Missing);
        };
        Ok(match stat(view, &path, context.patience)? {
            Some((Kind::File, identity)) => Found::File(FoundFile {
                is_alternative: true,
                ..FoundFile::alone(path, identity)
            }),
            Some(_) | None => Found::Missing,
        })
    }

    /// The ruling that applies to the resource which is loaded.
    fn ruling_by(&self, rules: &RulesInForce) -> Applies {
        let generation = rules.generation;
        if let Some(ruling) = &self.ruling {
            return match ruling.generation == generation {
                true => Applies::ToAll(Some(Arc::clone(ruling))),
                false => Applies::Outdated,
            };
        }
        let (path, _) = path_of_key(&self.key);
        let (_, variant) = alternative_of_key(&self.key);
        if variant.is_some() {
            return Applies::ByRequest;
        }
        if rules.are_none() {
            return Applies::ToAll(None);
        }
        // Rules are evaluated once for a path.
        let known = self.previous.as_ref().map(|previous| &previous.entry.rules);
        let known = known.filter(|known| known.generation == generation);
        if let Some(ruling) = known.and_then(|known| known.ruling.clone()) {
            return Applies::ToAll(Some(ruling));
        }
        self.shared.pool.counters.rulings.add(1);
        match rules.rule(path) {
            Some(ruling) => Applies::ToAll(Some(Arc::new(ruling))),
            None => Applies::ByRequest,
        }
    }
}

/// The ruling for a resource.
enum Applies {
    /// This one, for all requests; none where there are no rules.
    ToAll(Option<Arc<Ruling>>),
    /// The request decides.
    ByRequest,
    /// The resource was wanted by rules that hold no more.
    Outdated,
}
