//! What all slow disks have in common: how slow they are, what they have done, and how a FUSE file system
//! is mounted.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use fuser::{BackgroundSession, Config, FileAttr, FileType, Filesystem, INodeNo, MountOption};

use crate::queue::{Call, Queue};

/// How long each slow call takes.
pub const DELAY: Duration = Duration::from_millis(20);

/// How many slow calls are worked at together: 800 a second, evenly spread. Reads of 128 KiB make
/// that 100 MB per second. Much more, and the disk and the clients, who take their share of the
/// machine as no real disk and no distant client does, would delay what is measured.
const DEPTH: u32 = 16;

/// What a disk does.
pub(crate) struct State {
    pub(crate) queue: Queue,
    reads: AtomicU64,
}

impl State {
    pub(crate) fn new() -> Self {
        State {
            queue: Queue::new(DELAY, DELAY / DEPTH),
            reads: AtomicU64::new(0),
        }
    }

    /// Has content read when the disk would have read it.
    pub(crate) fn read(&self, reply: impl FnOnce() + Send + 'static) {
        self.reads.fetch_add(1, Ordering::Relaxed);
        self.queue.submit(Call::Content, reply);
    }

    /// How often content was read so far.
    pub(crate) fn reads(&self) -> u64 {
        self.reads.load(Ordering::Relaxed)
    }

    /// Slow calls that are not answered.
    pub(crate) fn waiting(&self) -> usize {
        self.queue.waiting()
    }
}

/// What a file system says of a file of the user's.
pub(crate) fn attributes_of(inode: INodeNo, size: u64, kind: FileType, perm: u16) -> FileAttr {
    // Long ago: nobody waits for the file to settle.
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    FileAttr {
        ino: inode,
        size,
        blocks: size.div_ceil(512),
        atime: time,
        mtime: time,
        ctime: time,
        crtime: time,
        kind,
        perm,
        nlink: 1,
        uid: rustix::process::geteuid().as_raw(),
        gid: rustix::process::getegid().as_raw(),
        rdev: 0,
        blksize: 4096,
        flags: 0,
    }
}

/// Serves `tree` until the session is dropped.
pub(crate) fn mount_fuse(
    tree: impl Filesystem,
    mountpoint: &Path,
) -> io::Result<BackgroundSession> {
    let mut config = Config::default();
    config.mount_options = vec![MountOption::RO, MountOption::FSName("slow-disk".to_owned())];
    fuser::spawn_mount(tree, mountpoint, &config)
}
