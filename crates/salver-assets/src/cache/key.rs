//! The keys of the cache.

use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::sync::Arc;

use papaya::Equivalent;

/// The key of an entry: the number of its site, and its path there. It dereferences to the path.
///
/// All sites share one cache; by the number none finds an entry of another.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CacheKey {
    site: u32,
    path: Arc<[u8]>,
}

impl CacheKey {
    pub(crate) fn new(site: u32, path: &[u8]) -> Self {
        CacheKey {
            site,
            path: path.into(),
        }
    }

    /// The number of the site.
    pub(crate) fn site(&self) -> u32 {
        self.site
    }

    /// The path.
    pub(crate) fn path(&self) -> &Arc<[u8]> {
        &self.path
    }

    fn borrow(&self) -> BorrowedKey<'_> {
        BorrowedKey {
            site: self.site,
            path: &self.path,
        }
    }
}

impl Deref for CacheKey {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.path
    }
}

impl Hash for CacheKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.borrow().hash(state);
    }
}

/// A [`CacheKey`] that borrows its path, to look for one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BorrowedKey<'a> {
    pub(crate) site: u32,
    pub(crate) path: &'a [u8],
}

impl Hash for BorrowedKey<'_> {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        // One number for the site and the length: two would be two steps.
        state.write_usize((self.site as usize).rotate_right(20) ^ self.path.len());
        state.write(self.path);
    }
}

impl Equivalent<CacheKey> for BorrowedKey<'_> {
    #[inline]
    fn equivalent(&self, key: &CacheKey) -> bool {
        *self.path == *key.path && self.site == key.site
    }
}
