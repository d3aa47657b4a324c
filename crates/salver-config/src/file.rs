//! `salver.toml`: its text as a tree.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::document::{self, Table, tables};
use crate::environment::Environment;
use crate::fault::{Fault, Place};

/// The key of the tables of sites.
pub(crate) const SITE: &str = "site";

/// A configuration file that is TOML, its variables put in.
#[derive(Clone, Debug)]
pub struct File {
    path: Arc<Path>,
    directory: PathBuf,
    root: Table,
}

impl File {
    /// Reads the text of a file. `path` is what messages call it; `directory` is where relative paths in it begin.
    ///
    /// # Errors
    /// That it is no TOML, or each variable that is not set.
    pub fn parse(
        path: &Path,
        directory: &Path,
        text: &str,
        environment: &Environment,
    ) -> Result<File, Vec<Fault>> {
        let path: Arc<Path> = path.into();
        // Some editors begin a file with a mark.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let root = document::read(&path, text, environment)?;
        Ok(File {
            path,
            directory: directory.to_owned(),
            root,
        })
    }

    pub(crate) fn root(&self) -> &Table {
        &self.root
    }

    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    pub(crate) fn place(&self, line: usize) -> Place {
        Place {
            path: self.path.clone(),
            line,
        }
    }

    /// The tables `[[site]]`; none if the whole file is about one.
    pub(crate) fn sites(&self) -> Result<Vec<&Table>, Fault> {
        let Some(node) = self.root.get(SITE) else {
            return Ok(Vec::new());
        };
        tables(node).map_err(|line| self.fault(line, "site is no list of tables: write [[site]]"))
    }

    pub(crate) fn fault(&self, line: usize, text: impl Into<String>) -> Fault {
        Fault::at(&self.path, line, text)
    }
}
