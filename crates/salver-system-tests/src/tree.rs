//! A FUSE file system with as many files as anybody asks for, none of which was ever read before.
//! Each read takes 20 ms, and metadata too if that is wished.
//!
//! | name | what |
//! | --- | --- |
//! | `hot` | 1 KiB |
//! | `denied` | EPERM |
//! | `small-N` | 4 KiB, for any number N |
//! | `large-N` | 64 MiB, for any number N |
//! | `small-N.gz`, `large-N.gz` | for N from 1,000,000 on: 1 KiB, of which no read is ever answered |

use std::ffi::OsStr;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::disk::{State, attributes_of};
use crate::queue::Call;
use fuser::{
    Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo, InitFlags,
    KernelConfig, LockOwner, OpenFlags, ReplyAttr, ReplyData, ReplyEmpty, ReplyEntry, ReplyOpen,
    Request,
};

/// Which calls take their time besides reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Slow {
    /// Looking names up, asking for attributes and opening; none of them is remembered.
    pub metadata: bool,
    /// Closing, as with file systems over a network that send what is left of a file then.
    pub close: bool,
    /// Content is not kept in the page cache: each read is passed on.
    pub uncached: bool,
}

pub const HOT_LENGTH: u64 = 1024;
pub const SMALL_LENGTH: u64 = 4 * 1024;

/// Beyond what is hashed as a whole before its first byte is sent.
pub const LARGE_LENGTH: u64 = 64 * 1024 * 1024;

/// The content repeats after this many bytes.
const PERIOD: usize = 1024 * 1024;

/// Longer than any one read.
const MARGIN: usize = 2 * 1024 * 1024;

pub fn content() -> Vec<u8> {
    let period: Vec<u8> = (0..PERIOD)
        .map(|at| (at.wrapping_mul(0x9E37_79B1) >> 13).to_le_bytes()[0])
        .collect();
    period
        .iter()
        .copied()
        .cycle()
        .take(PERIOD + MARGIN)
        .collect()
}

/// What the file of this number has from `offset` on: at least `MARGIN` bytes, whatever its
/// length.
pub fn bytes_at(content: &[u8], number: u64, offset: u64) -> &[u8] {
    let at = (number.wrapping_mul(40_503) + offset) % u64::try_from(PERIOD).unwrap();
    &content[usize::try_from(at).unwrap()..]
}

/// A file by its kind and its number, which together are its inode.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Node {
    Root,
    Hot,
    Small(u64),
    Large(u64),
    /// The sibling of one of these.
    Stuck(u64),
}

const SMALL: u64 = 1 << 32;
const LARGE: u64 = 2 << 32;
const STUCK: u64 = 3 << 32;

/// The first number of a file that has such a sibling.
pub const WITH_STUCK: u64 = 1_000_000;

impl Node {
    fn named(name: &OsStr) -> Option<Self> {
        let name = name.to_str()?;
        if name == "hot" {
            return Some(Node::Hot);
        }
        let (kind, number) = name.split_once('-')?;
        if let Some(number) = number.strip_suffix(".gz") {
            let number: u64 = number.parse().ok()?;
            let is_large = u64::from(kind == "large");
            return (number >= WITH_STUCK).then_some(Node::Stuck(2 * number + is_large));
        }
        let number = number.parse().ok()?;
        match kind {
            "small" => Some(Node::Small(number)),
            "large" => Some(Node::Large(number)),
            _ => None,
        }
    }

    fn numbered(inode: INodeNo) -> Self {
        match inode.0 {
            1 => Node::Root,
            2 => Node::Hot,
            number @ ..LARGE => Node::Small(number - SMALL),
            number @ ..STUCK => Node::Large(number - LARGE),
            number => Node::Stuck(number - STUCK),
        }
    }

    fn inode(self) -> INodeNo {
        INodeNo(match self {
            Node::Root => 1,
            Node::Hot => 2,
            Node::Small(number) => SMALL + number,
            Node::Large(number) => LARGE + number,
            Node::Stuck(number) => STUCK + number,
        })
    }

    fn length(self) -> u64 {
        match self {
            Node::Root => 0,
            Node::Hot | Node::Stuck(_) => HOT_LENGTH,
            Node::Small(_) => SMALL_LENGTH,
            Node::Large(_) => LARGE_LENGTH,
        }
    }

    fn number(self) -> u64 {
        match self {
            Node::Root | Node::Hot => 0,
            Node::Small(number) | Node::Large(number) | Node::Stuck(number) => number,
        }
    }

    fn attributes(self) -> FileAttr {
        let (kind, perm) = match self {
            Node::Root => (FileType::Directory, 0o755),
            _ => (FileType::RegularFile, 0o644),
        };
        attributes_of(self.inode(), self.length(), kind, perm)
    }
}

/// The file system.
pub(crate) struct Tree {
    slow: Slow,
    content: Arc<[u8]>,
    state: Arc<State>,
    /// Never answered, but when all ends.
    stuck: Mutex<Vec<ReplyData>>,
}

impl Tree {
    pub(crate) fn new(slow: Slow, state: Arc<State>) -> Self {
        Tree {
            slow,
            content: content().into(),
            state,
            stuck: Mutex::default(),
        }
    }

    /// For how long the kernel need not ask again.
    fn remembered(&self) -> Duration {
        if self.slow.metadata {
            Duration::ZERO
        } else {
            Duration::from_secs(1)
        }
    }

    fn reply(&self, slowly: bool, reply: impl FnOnce() + Send + 'static) {
        if slowly {
            self.state.queue.submit(Call::Other, reply);
        } else {
            reply();
        }
    }
}

impl Filesystem for Tree {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> io::Result<()> {
        // Reading ahead is not what limits this disk, and names are looked up beside each other.
        let _ = config.set_max_background(1024);
        let _ = config.add_capabilities(InitFlags::FUSE_PARALLEL_DIROPS);
        Ok(())
    }

    fn lookup(&self, _: &Request, _parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        if name == "denied" {
            return reply.error(Errno::EPERM);
        }
        let (node, remembered) = (Node::named(name), self.remembered());
        self.reply(self.slow.metadata, move || match node {
            Some(node) => reply.entry(&remembered, &node.attributes(), Generation(0)),
            None => reply.error(Errno::ENOENT),
        });
    }

    fn getattr(&self, _: &Request, inode: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        let remembered = self.remembered();
        self.reply(self.slow.metadata, move || {
            reply.attr(&remembered, &Node::numbered(inode).attributes());
        });
    }

    fn open(&self, _: &Request, _inode: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        // Without FOPEN_KEEP_CACHE: whoever opens a file finds nothing of it in the page cache.
        let flags = match self.slow.uncached {
            true => FopenFlags::FOPEN_DIRECT_IO,
            false => FopenFlags::empty(),
        };
        self.reply(self.slow.metadata, move || {
            reply.opened(FileHandle(0), flags);
        });
    }

    fn read(
        &self,
        _: &Request,
        inode: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        if let Node::Stuck(_) = Node::numbered(inode) {
            self.stuck.lock().unwrap().push(reply);
            return;
        }
        let content = Arc::clone(&self.content);
        self.state.read(move || {
            let node = Node::numbered(inode);
            let count = u64::from(size).min(node.length().saturating_sub(offset));
            let bytes = bytes_at(&content, node.number(), offset);
            reply.data(&bytes[..usize::try_from(count).unwrap()]);
        });
    }

    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        if self.slow.close {
            self.reply(true, move || reply.ok());
        } else {
            // The kernel need not ask again.
            reply.error(Errno::ENOSYS);
        }
    }
}
