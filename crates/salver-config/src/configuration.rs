//! A whole configuration: the server and its sites, from everything that was said.

use std::collections::HashMap;
use std::path::PathBuf;

use crate::document::Table;
use crate::fault::{Fault, Place};
use crate::file::File;
use crate::kind::Shape;
use crate::layers::Layers;
use crate::machine::Machine;
use crate::resolver::{Met, Resolver};
use crate::row::Scope;
use crate::server::Server;
use crate::setting::Origin;
use crate::site::Site;
use crate::unknown::misplaced;
use crate::values::{is_url, mount};

/// All settings of a server, each with its origin.
#[derive(Clone)]
pub struct Configuration {
    /// Those of the whole server.
    pub server: Server,
    /// Those of each site; one at least.
    pub sites: Vec<Site>,
    /// The machine that defaults have followed.
    pub machine: Machine,
    /// What was read, in order: of the server, then of each site.
    pub(crate) met: Vec<Vec<Met>>,
}

/// What it means, without what was written.
impl std::fmt::Debug for Configuration {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Configuration")
            .field("server", &self.server)
            .field("sites", &self.sites)
            .finish_non_exhaustive()
    }
}

impl Configuration {
    /// Puts together what was said.
    ///
    /// # Errors
    /// Everything that is wrong, each fault once, those of the file by line.
    pub fn resolve(layers: &Layers<'_>) -> Result<Configuration, Vec<Fault>> {
        let root = layers.file.map(File::root);
        let mut faults = layers.file.map(misplaced).unwrap_or_default();
        let tables = match layers.file.map(File::sites).transpose() {
            Ok(tables) => tables.unwrap_or_default(),
            Err(fault) => {
                faults.push(fault);
                Vec::new()
            }
        };
        let mut from = Resolver::new(layers, Scope::Server, root.into_iter().collect());
        let server = Server::read(&mut from);
        let (met, wrong) = from.end();
        faults.extend(wrong);
        let (mut all_met, mut sites) = (vec![met], Vec::new());
        let each: Vec<Option<&Table>> = match tables.is_empty() {
            true => vec![None],
            false => tables.iter().copied().map(Some).collect(),
        };
        for table in each {
            let tables = table.into_iter().chain(root);
            let mut from = Resolver::new(layers, Scope::Site, tables.collect());
            let mut site = Site::read(&mut from);
            site.place = layers
                .file
                .zip(table)
                .map(|(file, table)| file.place(table.line));
            let (mut met, wrong) = from.end();
            if site.store.is_some() && !site.root.is_said() {
                // Where a store is served, the directory that would be served otherwise is not.
                let roots = met.iter_mut().filter(|met| met.entry.row.key == "root");
                roots.for_each(|met| met.values.clear());
            }
            sites.push(site);
            faults.extend(wrong);
            all_met.push(met);
        }
        if sites.len() > 1 {
            faults.extend(of_one_site(&sites, &all_met));
        }
        faults.extend(without_root(&sites));
        faults.extend(with_root_and_store(&sites));
        faults.extend(claimed_twice(&sites));
        if faults.is_empty() {
            return Ok(Configuration {
                server,
                sites,
                machine: layers.machine,
                met: all_met,
            });
        }
        // What stands at the top of a file is read for each site.
        let mut each: Vec<Fault> = Vec::new();
        for fault in faults {
            if !each.contains(&fault) {
                each.push(fault);
            }
        }
        each.sort_by_key(|fault| fault.place.as_ref().map(|place| place.line));
        Err(each)
    }
}

impl Configuration {
    /// The keys whose values differ from those of another configuration, each once; `site` if there are not as many
    /// sites. Where a value was said makes no difference.
    pub fn changed_from(&self, other: &Configuration) -> Vec<&'static str> {
        let (mut keys, compared) = match self.sites.len() == other.sites.len() {
            true => (Vec::new(), usize::MAX),
            // What the server has, which stands first.
            false => (vec!["site"], 1),
        };
        let all = self.met.iter().zip(&other.met).take(compared);
        for (one, other) in all.flat_map(|(one, other)| one.iter().zip(other)) {
            let is_same = one.values == other.values && one.tables == other.tables;
            if !is_same && !keys.contains(&one.entry.row.key) {
                keys.push(one.entry.row.key);
            }
        }
        keys
    }

    /// All paths that it names, each with its key; those of mounts included, URLs of buckets not. They begin at the top.
    pub fn paths(&self) -> Vec<(&'static str, PathBuf)> {
        let mut paths: Vec<(&'static str, PathBuf)> = Vec::new();
        for met in self.met.iter().flatten() {
            for value in &met.values {
                let path = match met.entry.shape {
                    Shape::Path => PathBuf::from(value),
                    Shape::Mount { .. } => match mount(value) {
                        Ok(mount) => mount.path,
                        Err(_) => continue,
                    },
                    _ => continue,
                };
                if is_url(path.as_os_str()) {
                    continue;
                }
                let path = std::path::absolute(&path).unwrap_or(path);
                paths.push((met.entry.row.key, path));
            }
        }
        paths
    }
}

/// What is said for one site by flag or variable, where there are several.
fn of_one_site(sites: &[Site], met: &[Vec<Met>]) -> Vec<Fault> {
    let first = met.get(1).into_iter().flatten();
    let said = first.filter(|met| met.entry.row.is_of_one_site);
    let fault = |met: &Met| match &met.origin {
        Origin::CommandLine { .. } | Origin::Environment { .. } => Some(Fault::new(format!(
            "{} is of one site, and the file has {}: say it beneath its [[site]]",
            met.origin,
            sites.len()
        ))),
        Origin::File(_) | Origin::Machine { .. } | Origin::Default => None,
    };
    said.filter_map(fault).collect()
}

/// Sites of a file that do not say what they show: the current directory can hardly be meant.
fn without_root(sites: &[Site]) -> Vec<Fault> {
    let rootless = sites
        .iter()
        .filter(|site| !site.root.is_said() && site.store.is_none());
    let fault = |place: &Place| Fault {
        place: Some(place.clone()),
        text: "a site without root: give root = \"DIR\", or store = \"STORE\"".to_owned(),
    };
    rootless
        .filter_map(|site| site.place.as_ref().map(fault))
        .collect()
}

/// Sites that are to show two things at once.
fn with_root_and_store(sites: &[Site]) -> Vec<Fault> {
    let both = sites
        .iter()
        .filter(|site| site.root.is_said() && site.store.is_some());
    let fault = |site: &Site| Fault {
        place: site.place.clone(),
        text: format!(
            "{} and {} are two things to show: give one of them",
            site.root.name(),
            site.store.name()
        ),
    };
    both.map(fault).collect()
}

/// Hosts that two sites have, and a second site for all others.
fn claimed_twice(sites: &[Site]) -> Vec<Fault> {
    let mut claimed = HashMap::new();
    let mut faults = Vec::new();
    for site in sites {
        let hosts = site.hosts.iter().map(ToString::to_string);
        let (hosts, is_default) = (hosts.collect::<Vec<_>>(), site.hosts.is_empty());
        for host in hosts.into_iter().chain(is_default.then(String::new)) {
            let line = site.place.as_ref().map_or(0, |place| place.line);
            let Some(before) = claimed.insert(host.clone(), line) else {
                continue;
            };
            let text = match is_default {
                true => {
                    format!("a second site without hosts: that at line {before} is for all others")
                }
                false if before == line => format!("{host} stands twice in hosts"),
                false => format!("{host} is a host of the site at line {before}, too: choose one"),
            };
            faults.push(Fault {
                place: site.place.clone(),
                text,
            });
        }
    }
    faults
}
