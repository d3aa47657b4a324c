//! Control of the cache by the program: prewarm, invalidate, pause, and hear of events.
//!
//! Paths and prefixes are as for [`Assets::file`]: beneath the directory, not percent-encoded, with
//! or without `/` before them. One that can name nothing (`../x`) changes nothing.

use salver_assets::{PathError, Prewarmed, RequestPath, Statistics, target_of};

use crate::assets::Assets;
use crate::events::Events;

impl Assets {
    /// Loads what there is, each file in the coding that a browser would get, until nine tenths of
    /// the cache are full. Runs where it may wait. While the cache is paused it does nothing.
    ///
    /// # Errors
    /// If the runtime ends meanwhile.
    pub async fn prewarm(&self) -> std::io::Result<Prewarmed> {
        self.prewarm_prefix("").await
    }

    /// The same for the files whose path begins with `prefix` alone: `blog/`, or one file's path.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let directory = tempfile::tempdir()?;
    /// # std::fs::create_dir(directory.path().join("blog"))?;
    /// # std::fs::write(directory.path().join("blog/index.html"), "hello")?;
    /// # std::fs::write(directory.path().join("about.html"), "us")?;
    /// # let dist = directory.path();
    /// let assets = salver_tower::Assets::new(dist)?;
    /// assert_eq!(assets.prewarm_prefix("blog/").await?.files, 1);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// If the runtime ends meanwhile.
    pub async fn prewarm_prefix(&self, prefix: &str) -> std::io::Result<Prewarmed> {
        let engine = self.engines().serving.engine.clone();
        let prefix = target_of(prefix);
        let prewarm =
            move || at(&prefix, |prefix| engine.prewarm_prefix(prefix)).unwrap_or_default();
        tokio::task::spawn_blocking(prewarm)
            .await
            .map_err(std::io::Error::other)
    }

    /// Invalidates what is cached of one file or directory: the next request looks at the disk. That goes for
    /// all its roles: `blog/index.html` is `blog/`, `app.js.br` belongs to `app.js`, and nothing may have
    /// been there before.
    ///
    /// A request that waits for a load already gets its result; that is not kept, and no request that comes
    /// afterwards gets it. The same holds for [`invalidate_prefix`](Self::invalidate_prefix) and
    /// [`clear`](Self::clear).
    pub fn invalidate(&self, path: &str) {
        let _ = at(&target_of(path), |path| {
            for engine in self.engines().caching() {
                engine.invalidate(path);
            }
        });
    }

    /// Invalidates what is cached of all files whose path begins with `prefix` (`blog/`).
    pub fn invalidate_prefix(&self, prefix: &str) {
        let _ = at(&target_of(prefix), |prefix| {
            for engine in self.engines().caching() {
                engine.invalidate_prefix(prefix);
            }
        });
    }

    /// Invalidates everything that is cached.
    pub fn clear(&self) {
        for engine in self.engines().caching() {
            engine.clear();
        }
    }

    /// Pauses the cache: nothing is taken from it and nothing is put into it from now on; each request is
    /// answered from disk, and requests at the same moment still share a load. For as long as a deployment
    /// rewrites files in place, say, or to see what the cache is worth.
    ///
    /// What is cached stays in memory for [`resume`](Self::resume); [`clear`](Self::clear) frees it,
    /// and it can be invalidated meanwhile. All clones are paused.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let directory = tempfile::tempdir()?;
    /// # std::fs::write(directory.path().join("a.txt"), "hello")?;
    /// # let dist = directory.path();
    /// let assets = salver_tower::Assets::new(dist)?;
    /// assets.pause();
    /// assets.read("a.txt").await?;
    /// assert_eq!(assets.statistics().entries, 0);
    /// assets.resume();
    /// assets.read("a.txt").await?;
    /// assert_eq!(assets.statistics().entries, 1);
    /// # Ok(())
    /// # }
    /// ```
    pub fn pause(&self) {
        self.engines().serving.engine.pause_cache();
    }

    /// Uses the cache again after a pause. An entry that was last looked at longer ago than
    /// [`Builder::revalidate`](crate::Builder::revalidate) is compared with the disk before it is sent.
    pub fn resume(&self) {
        self.engines().serving.engine.resume_cache();
    }

    /// True if the cache is [paused](Self::pause).
    pub fn is_paused(&self) -> bool {
        self.engines().serving.engine.is_paused()
    }

    /// Hits, loads and the like since the start, and what the cache holds now.
    pub fn statistics(&self) -> Statistics {
        self.engines().serving.engine.statistics()
    }

    /// The events of the cache from now on: what it loads, finds changed, invalidates; which loads failed and
    /// why. Hits are no events, but [counted](Self::statistics). A program can log them, test by them, or
    /// tell browsers to reload:
    ///
    /// ```
    /// use salver_tower::{Assets, Event};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let directory = tempfile::tempdir()?;
    /// # std::fs::write(directory.path().join("app.js"), "1")?;
    /// # let dist = directory.path();
    /// let assets = Assets::new(dist)?;
    /// let mut events = assets.events();
    /// # assets.read("app.js").await?;
    /// # assets.invalidate("app.js");
    /// # drop(assets);
    /// while let Some(event) = events.next().await {
    ///     match event {
    ///         Ok(Event::Changed { path, .. } | Event::Invalidated { path, .. }) => {
    ///             println!("reload {path}");
    ///         }
    ///         Ok(_) => {}
    ///         Err(missed) => eprintln!("{missed}"),
    ///     }
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// There may be any number of receivers; without one it costs nothing.
    pub fn events(&self) -> Events {
        self.engines().events.subscribe()
    }
}

fn at<T>(target: &str, tell: impl FnOnce(&RequestPath<'_>) -> T) -> Result<T, PathError> {
    RequestPath::parse(target.as_bytes()).map(|path| tell(&path))
}
