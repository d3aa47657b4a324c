//! URLs of buckets, and the stores that they lead to.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::azure::MicrosoftAzureBuilder;
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::http::HttpBuilder;
use object_store::path::Path;
use object_store::{BackoffConfig, ClientConfigKey, ObjectStore, ObjectStoreScheme, RetryConfig};
use url::Url;

use crate::bucket::Lists;
use crate::connector::Connector;
use crate::key::Prefix;
use crate::settings::Settings;

/// The pause before the second attempt, which grows with each.
const FIRST_PAUSE: Duration = Duration::from_millis(50);

/// The longest pause between two attempts.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// The schemes of URLs that lead to a bucket.
const SCHEMES: [&str; 10] = [
    "s3", "s3a", "gs", "az", "azure", "adl", "abfs", "abfss", "http", "https",
];

/// The reason why a bucket cannot be asked: of its URL, or of the environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocationError(String);

impl LocationError {
    pub(crate) fn new(text: &str) -> Self {
        LocationError(text.replace(['\n', '\r'], " "))
    }
}

impl fmt::Display for LocationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for LocationError {}

impl From<object_store::Error> for LocationError {
    fn from(error: object_store::Error) -> Self {
        LocationError::new(&error.to_string())
    }
}

/// The place of a tree in a store.
pub(crate) struct Location {
    pub(crate) objects: Arc<dyn ObjectStore>,
    pub(crate) lists: Lists,
    pub(crate) prefix: Prefix,
    /// The place for people.
    pub(crate) place: String,
    /// What tells the store from others with buckets of the same names.
    pub(crate) endpoint: String,
    /// True if to ask it never blocks, as it does where credentials are in files.
    pub(crate) never_blocks: bool,
}

impl Location {
    /// What lies in a store beneath a prefix; an empty one is all of it.
    pub(crate) fn within(
        store: Arc<dyn ObjectStore>,
        lists: Lists,
        prefix: &str,
    ) -> Result<Self, LocationError> {
        let prefix = Path::parse(prefix).map_err(|error| LocationError::new(&error.to_string()))?;
        Ok(Location {
            place: format!("{store}/{prefix}"),
            objects: store,
            lists,
            prefix: Prefix::new(prefix),
            endpoint: String::new(),
            never_blocks: false,
        })
    }

    /// The place that a URL leads to, with what the environment says of credentials and endpoints.
    pub(crate) fn open(text: &str, settings: &Settings) -> Result<Self, LocationError> {
        let url = checked(text)?;
        let (scheme, prefix) = ObjectStoreScheme::parse(&url).map_err(|_| no_bucket(text))?;
        let retry = RetryConfig {
            backoff: BackoffConfig {
                init_backoff: FIRST_PAUSE,
                max_backoff: LONGEST_PAUSE,
                ..BackoffConfig::default()
            },
            max_retries: settings.retries,
            retry_timeout: settings.timeout,
        };
        let attempts = u32::try_from(settings.retries)
            .unwrap_or(u32::MAX)
            .saturating_add(1);
        let connector = Connector {
            // So that each attempt has its part of the whole.
            head_timeout: settings.timeout / attempts,
        };
        let (objects, lists, never_blocks) = store(&scheme, &url, retry, connector)?;
        Ok(Location {
            objects,
            lists,
            prefix: Prefix::new(prefix),
            place: url.to_string(),
            endpoint: endpoint(|name| std::env::var(name).ok()),
            never_blocks,
        })
    }
}

/// The variables that lead the same URL to another store.
const ENDPOINTS: [&str; 8] = [
    "AWS_ENDPOINT",
    "AWS_ENDPOINT_URL",
    "AWS_ENDPOINT_URL_S3",
    "AWS_REGION",
    "AZURE_ENDPOINT",
    "AZURE_STORAGE_ACCOUNT_NAME",
    "AZURE_STORAGE_ENDPOINT",
    "GOOGLE_BASE_URL",
];

/// What the environment says of the store that URLs lead to.
fn endpoint(variable: impl Fn(&str) -> Option<String>) -> String {
    let said = ENDPOINTS.iter().filter_map(|name| {
        let value = variable(name)?;
        Some(format!("{name}={value}\n"))
    });
    said.collect()
}

/// The URL, if it says nothing that would be ignored.
fn checked(text: &str) -> Result<Url, LocationError> {
    let wrong = |what: &str| Err(LocationError::new(&format!("{text:?}: {what}")));
    let parsed = Url::parse(text);
    let has_password = match &parsed {
        Ok(url) => url.password().is_some(),
        // It may be where it cannot be told from the rest.
        Err(_) => text.contains('@'),
    };
    if has_password {
        return Err(LocationError::new(
            "credentials do not belong into a URL, which others can see: put them into the environment",
        ));
    }
    let url = match parsed {
        Ok(url) => url,
        Err(error) => return wrong(&error.to_string()),
    };
    // Azure has the container there.
    if !url.username().is_empty() && matches!(url.scheme(), "s3" | "s3a" | "gs" | "http" | "https")
    {
        return wrong("a user in a URL means nothing here: credentials come from the environment");
    }
    if url.query().is_some() || url.fragment().is_some() {
        return wrong("`?` and `#` end a path: write %3F and %23 where they are meant");
    }
    Ok(url)
}

/// The store of a URL, how it lists, and whether to ask it never blocks.
fn store(
    scheme: &ObjectStoreScheme,
    url: &Url,
    retry: RetryConfig,
    connector: Connector,
) -> Result<(Arc<dyn ObjectStore>, Lists, bool), LocationError> {
    Ok(match scheme {
        ObjectStoreScheme::AmazonS3 => {
            let builder = AmazonS3Builder::from_env().with_url(url.as_str());
            refuse_cleartext(&builder)?;
            let never_blocks = has_credentials(&builder);
            let builder = builder.with_retry(retry).with_http_connector(connector);
            let store = Arc::new(builder.build()?);
            (
                Arc::<object_store::aws::AmazonS3>::clone(&store),
                Lists::Pages(store),
                never_blocks,
            )
        }
        ObjectStoreScheme::GoogleCloudStorage => {
            let builder = GoogleCloudStorageBuilder::from_env().with_url(url.as_str());
            let builder = builder.with_retry(retry).with_http_connector(connector);
            let store = Arc::new(builder.build()?);
            let objects = Arc::<object_store::gcp::GoogleCloudStorage>::clone(&store);
            (objects, Lists::Pages(store), false)
        }
        ObjectStoreScheme::MicrosoftAzure => {
            let builder = MicrosoftAzureBuilder::from_env().with_url(url.as_str());
            let builder = builder.with_retry(retry).with_http_connector(connector);
            let store = Arc::new(builder.build()?);
            let objects = Arc::<object_store::azure::MicrosoftAzure>::clone(&store);
            (objects, Lists::Pages(store), false)
        }
        ObjectStoreScheme::Http => {
            let mut origin = url.clone();
            origin.set_path("");
            let builder = HttpBuilder::new()
                .with_url(origin)
                // Whoever writes http:// wants it.
                .with_config(ClientConfigKey::AllowHttp, "true");
            let builder = builder.with_retry(retry).with_http_connector(connector);
            (Arc::new(builder.build()?), Lists::Never, true)
        }
        _ => return Err(no_bucket(url.as_str())),
    })
}

/// The error of a URL that leads to no bucket.
fn no_bucket(text: &str) -> LocationError {
    LocationError::new(&format!(
        "{text:?} leads to no bucket: a URL is SCHEME://BUCKET/PREFIX, with one of {}",
        SCHEMES.join(", ")
    ))
}

/// True if the credentials are at hand, or needless: others are read of files, again and again.
fn has_credentials(builder: &AmazonS3Builder) -> bool {
    let has = |key: &AmazonS3ConfigKey| builder.get_config_value(key).is_some();
    let keys = [
        AmazonS3ConfigKey::AccessKeyId,
        AmazonS3ConfigKey::SecretAccessKey,
    ];
    let skips = builder.get_config_value(&AmazonS3ConfigKey::SkipSignature);
    skips.as_deref() == Some("true") || keys.iter().all(has)
}

/// Refuses an endpoint without TLS that nobody has said to be wanted.
fn refuse_cleartext(builder: &AmazonS3Builder) -> Result<(), LocationError> {
    let allowed = AmazonS3ConfigKey::Client(ClientConfigKey::AllowHttp);
    if builder.get_config_value(&allowed).as_deref() == Some("true") {
        return Ok(());
    }
    let named = [AmazonS3ConfigKey::S3Endpoint, AmazonS3ConfigKey::Endpoint];
    let mut endpoints = named.iter().filter_map(|key| builder.get_config_value(key));
    match endpoints.any(|endpoint| endpoint.to_ascii_lowercase().starts_with("http://")) {
        true => Err(LocationError::new(
            "AWS_ENDPOINT_URL is an endpoint without TLS: set AWS_ALLOW_HTTP=true if that is meant",
        )),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_be_ignored_is_refused() {
        let check = |text: &str, part: &str| {
            let error = checked(text).unwrap_err().to_string();
            assert!(error.contains(part) && !error.contains("secret"), "{error}");
        };
        check("s3://user:secret@bucket/", "environment");
        check("s3://user:secret@[bucket/", "environment");
        check("s3://user@bucket/", "environment");
        check("https://example.org/a?b", "%3F");
        check("https://example.org/a#b", "%23");
        assert!(checked("abfss://container@account.dfs.core.windows.net/a").is_ok());
    }

    #[test]
    fn an_endpoint_without_tls_is_meant_or_refused() {
        let check = |builder: AmazonS3Builder, expected: bool| {
            assert_eq!(refuse_cleartext(&builder).is_ok(), expected);
        };
        let with = |endpoint| AmazonS3Builder::new().with_endpoint(endpoint);
        check(AmazonS3Builder::new(), true);
        check(with("https://store.example.org"), true);
        check(with("http://store.example.org"), false);
        check(with("HTTP://store.example.org"), false);
        check(with("http://store.example.org").with_allow_http(true), true);
    }

    #[test]
    fn a_prefix_is_decoded_once() {
        let settings = Settings::default();
        let open = |text| Location::open(text, &settings);
        let location = open("http://127.0.0.1:9/a%20b/%2541").unwrap();
        assert_eq!(location.prefix.directory(b"").unwrap().as_ref(), "a b/%41");
        assert!(matches!(location.lists, Lists::Never));
        for text in [
            "s3:///a",
            "s3://",
            "s4://bucket/a",
            "file:///srv",
            "memory:///",
        ] {
            let error = open(text).err().map(|error| error.to_string());
            let told = error.unwrap_or_default();
            assert!(
                told.contains("SCHEME://BUCKET/PREFIX, with one of s3, "),
                "{text}: {told}"
            );
        }
    }
}
