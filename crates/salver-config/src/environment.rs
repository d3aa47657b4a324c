//! The environment variables: those that are settings, and those that files name.
//!
//! A variable is the flag's name in capitals behind `SALVER_`. There is no second list, so a setting that is added
//! has its variable at once. An empty variable is one that is not set.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

/// The environment variables that say something.
#[derive(Clone, Debug, Default)]
pub struct Environment(BTreeMap<String, OsString>);

impl Environment {
    /// Those among `all`, names and values, that are not empty.
    pub fn of(all: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        let said = all.into_iter().filter(|(_, value)| !value.is_empty());
        let named = said.filter_map(|(name, value)| Some((name.into_string().ok()?, value)));
        Environment(named.collect())
    }

    /// The value of a variable of this server.
    pub(crate) fn setting(&self, name: &str) -> Option<&OsStr> {
        let value = self.0.get(name)?;
        (!is_of_kubernetes(name, value)).then_some(value)
    }

    /// The names of those that begin like settings, but for what Kubernetes sets.
    pub(crate) fn names(&self, prefix: &str) -> Vec<&str> {
        let ours = self
            .0
            .iter()
            .filter(|(name, value)| name.starts_with(prefix) && !is_of_kubernetes(name, value));
        ours.map(|(name, _)| &**name).collect()
    }

    /// The value of any variable, as text.
    pub(crate) fn value(&self, name: &str) -> Result<Option<String>, String> {
        let value = self.0.get(name).map(|value| value.to_str());
        match value {
            None => Ok(None),
            Some(Some(text)) => Ok(Some(text.to_owned())),
            Some(None) => Err(format!("the variable {name} is not UTF-8")),
        }
    }
}

/// Kubernetes tells each pod where the services of its namespace are, by variables of their names; a
/// service that is called `salver` yields some that look like ours, such as
/// `SALVER_PORT=tcp://10.0.0.1:80`.
fn is_of_kubernetes(name: &str, value: &OsStr) -> bool {
    let is_address = value.to_string_lossy().starts_with("tcp://");
    name.starts_with("SALVER_SERVICE_")
        || name.starts_with("SALVER_PORT_")
        || name == "SALVER_PORT" && is_address
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_kubernetes_sets_is_no_setting_and_can_be_named() {
        let address = "tcp://10.0.0.1:80";
        let environment = Environment::of([("SALVER_PORT".into(), address.into())]);
        assert_eq!(environment.setting("SALVER_PORT"), None);
        assert_eq!(
            environment.value("SALVER_PORT"),
            Ok(Some(address.to_owned()))
        );
    }
}
