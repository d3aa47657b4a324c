//! Whole files, read once for all calls at the same moment.

use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use salver_assets::reading::Disk;
use salver_assets::{Content, LoadError, Request, RequestPath, Source, Statistics, target_of};

use crate::assets::Assets;
use crate::builder::Builder;
use crate::error::{Error, ReadError};

impl Assets {
    /// The whole content of a file, up to [`Builder::read_up_to`]: `path` is as for [`file`](Self::file).
    /// However many ask at the same moment, it is read once, and all share the bytes. Up to
    /// [`Builder::cache_max_file`] it comes from the cache; what is longer is read for those who ask
    /// together, and not kept.
    ///
    /// A caller that goes away takes nothing from the others, whoever asked first. An error is given
    /// to all who shared the read, and the next call tries anew. Of many different files at most 64
    /// are read at once, the others wait.
    ///
    /// | name | what it is |
    /// | --- | --- |
    /// | `a/b`, `/a/b`, `a//b`, `./a/b`, `x/../a/b` | the file `a/b` beneath the directory, and one read |
    /// | `/etc/passwd` | the file `etc/passwd` beneath the directory |
    /// | `blog/`, and nothing for the directory itself | its index, if it has one |
    /// | `../etc/passwd`, `a/../../b`; a NUL in it | [`ReadError::Name`], before anything is looked at |
    /// | `%2e%2e/x`, `..\x` | files of just these names: nothing is decoded, and a backslash is a letter |
    /// | a file that is not there, also with [`Builder::spa`] | [`ReadError::NotFound`] |
    /// | `.env`, a link that leads out | [`ReadError::NotFound`], unless the [`Builder`] says otherwise |
    ///
    /// # Errors
    /// See [`ReadError`].
    pub async fn read(&self, path: &str) -> Result<Bytes, ReadError> {
        let target = target_of(path);
        RequestPath::parse(target.as_bytes()).map_err(ReadError::Name)?;
        let request = Request::get(target.as_bytes());
        let most = self.engines().read_up_to;
        let mut plan = self.engines().exact.plan(&request).await;
        if let Content::File(file) = &plan.content
            && file.range.end <= most
        {
            // Too long to be kept: others who ask now are to share more than its handle.
            self.engines().reads.discard(plan.content);
            plan = self.engines().whole.plan(&request).await;
        }
        let failure = plan.failure();
        match (plan.status, plan.content) {
            (200, Content::Memory(bytes)) => match u64::try_from(bytes.len()) {
                Ok(length) if length > most => Err(ReadError::TooLong(length)),
                _ => Ok(bytes),
            },
            (200, Content::Empty) => Ok(Bytes::new()),
            (200, content @ Content::File(_)) => {
                let length = content.file().map_or(0, |file| file.range.end);
                self.engines().reads.discard(content);
                match length > most {
                    true => Err(ReadError::TooLong(length)),
                    // There is no memory for it now.
                    false => Err(ReadError::Busy),
                }
            }
            (308, _) => Err(ReadError::Directory),
            (404, _) => Err(ReadError::NotFound),
            (403, _) => Err(ReadError::Forbidden),
            (503, _) => Err(ReadError::Busy),
            _ => Err(match failure {
                Some(LoadError::Failed(error)) => ReadError::Failed(error),
                Some(_) => ReadError::GivenUp,
                None => ReadError::Failed(ErrorKind::Other.into()),
            }),
        }
    }
}

/// A reader of the files of any directory, for a program that uses them itself: templates, say, or what users
/// have uploaded. Nothing is kept: each read looks at the disk; but those that run at the same moment are
/// one, and share its bytes.
///
/// It knows nothing of the web: no index stands for a directory, no coded sibling for a file, and
/// files whose name begins with a dot are files. Names are those of [`Assets::read`]; symbolic links
/// are followed as long as they stay beneath the directory. Cheap to clone; all clones are one.
///
/// ```
/// use salver_tower::{SharedReader, ReadError};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let directory = tempfile::tempdir()?;
/// # std::fs::write(directory.path().join("mail.txt"), "Dear you")?;
/// # std::fs::write(directory.path().join(".key"), "42")?;
/// # let templates = directory.path();
/// let reader = SharedReader::new(templates)?;
/// assert_eq!(reader.read("mail.txt").await?, "Dear you");
/// assert_eq!(reader.read(".key").await?, "42");
/// assert!(matches!(reader.read("../mail.txt").await, Err(ReadError::Name(_))));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct SharedReader(Assets);

impl SharedReader {
    /// The files beneath `directory`.
    ///
    /// # Errors
    /// If the directory cannot be opened.
    pub fn new(directory: impl AsRef<Path>) -> Result<Self, Error> {
        SharedReader::of(Assets::builder(directory))
    }

    /// The files beneath `directory`, of which those that are longer than this are [`ReadError::TooLong`], in bytes. It is
    /// 1 GiB otherwise.
    ///
    /// # Errors
    /// If the directory cannot be opened.
    pub fn with_limit(directory: impl AsRef<Path>, bytes: u64) -> Result<Self, Error> {
        SharedReader::of(Assets::builder(directory).read_up_to(bytes))
    }

    /// The files of any source: in memory for tests, say.
    ///
    /// # Errors
    /// If the engine cannot be set up; no source is a reason for that.
    pub fn from_source(source: Arc<dyn Source>) -> Result<Self, Error> {
        SharedReader::of(Assets::from_source(source))
    }

    fn of(builder: Builder) -> Result<Self, Error> {
        let builder = builder.dotfiles().index([] as [&str; 0]);
        builder.build_whole_reads().map(SharedReader)
    }

    /// The whole content of a file; the table at [`Assets::read`] says which names are files.
    ///
    /// # Errors
    /// See [`ReadError`]. It is the same for all who shared a failed read.
    pub async fn read(&self, path: &str) -> Result<Bytes, ReadError> {
        self.0.read(path).await
    }

    /// The numbers of reads: [`loads`](Statistics::loads) is how often a file was read or looked
    /// for, [`coalesced`](Statistics::coalesced) how many shared that.
    pub fn statistics(&self) -> Statistics {
        self.0.statistics()
    }
}
