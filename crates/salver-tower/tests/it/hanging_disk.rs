//! A disk that hangs under one tree of files, beside another whose disk is well.

use std::ffi::OsStr;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, SystemTime};

use fuser::{
    BackgroundSession, Config, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags,
    Generation, INodeNo, LockOwner, OpenFlags, ReplyAttr, ReplyData, ReplyEntry, ReplyOpen,
    Request,
};
use http::{HeaderMap, Method};
use http_body_util::BodyExt;
use salver_tower::Assets;

use crate::common::{MANY_THREADS, until};

/// Beyond what is read as a whole before its first byte is sent.
const LENGTH: u64 = 20 << 20;

/// Where it begins to hang: what a load looks at comes before, or is the end.
const HANGS_FROM: u64 = 1 << 20;

/// A file system with one file, `long`, whose content is not answered while it hangs.
struct Disk {
    session: Option<BackgroundSession>,
    mountpoint: tempfile::TempDir,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    hangs: AtomicBool,
    unanswered: Mutex<Vec<(ReplyData, usize)>>,
}

impl Disk {
    fn mount() -> std::io::Result<Self> {
        let state = Arc::new(State::default());
        let mountpoint = tempfile::tempdir()?;
        let files = Files(Arc::clone(&state));
        let session = fuser::spawn_mount(files, mountpoint.path(), &Config::default())?;
        Ok(Disk {
            session: Some(session),
            mountpoint,
            state,
        })
    }

    fn path(&self) -> &Path {
        self.mountpoint.path()
    }

    fn hang(&self) {
        self.state.hangs.store(true, Ordering::SeqCst);
    }

    /// Reads that are not answered.
    fn waiting(&self) -> usize {
        self.state.unanswered.lock().unwrap().len()
    }
}

impl State {
    fn recover(&self) {
        let unanswered = {
            let mut unanswered = self.unanswered.lock().unwrap();
            self.hangs.store(false, Ordering::SeqCst);
            std::mem::take(&mut *unanswered)
        };
        for (reply, count) in unanswered {
            reply.data(&vec![7; count]);
        }
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        self.state.recover();
        drop(self.session.take());
    }
}

struct Files(Arc<State>);

fn attributes(inode: INodeNo) -> FileAttr {
    // Long ago: nobody waits for the file to settle.
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    let (kind, perm, size) = match inode {
        INodeNo::ROOT => (FileType::Directory, 0o755, 0),
        _ => (FileType::RegularFile, 0o644, LENGTH),
    };
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
        uid: 0,
        gid: 0,
        rdev: 0,
        blksize: 4096,
        flags: 0,
    }
}

const REMEMBERED: Duration = Duration::from_secs(3600);

impl Filesystem for Files {
    fn lookup(&self, _: &Request, _: INodeNo, name: &OsStr, reply: ReplyEntry) {
        match name.to_str() {
            Some("long") => reply.entry(&REMEMBERED, &attributes(INodeNo(2)), Generation(0)),
            _ => reply.error(Errno::ENOENT),
        }
    }

    fn getattr(&self, _: &Request, inode: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        reply.attr(&REMEMBERED, &attributes(inode));
    }

    fn open(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        reply.opened(FileHandle(0), FopenFlags::FOPEN_DIRECT_IO);
    }

    fn read(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let count = u64::from(size).min(LENGTH.saturating_sub(offset));
        let (count, last) = (usize::try_from(count).unwrap(), LENGTH - HANGS_FROM);
        let mut unanswered = self.0.unanswered.lock().unwrap();
        if self.0.hangs.load(Ordering::SeqCst) && (HANGS_FROM..last).contains(&offset) {
            unanswered.push((reply, count));
        } else {
            reply.data(&vec![7; count]);
        }
    }
}

/// The length of the file as it arrives; an error if it does not.
async fn download(assets: Assets) -> Result<usize, String> {
    let mut response = assets.file("long", &Method::GET, &HeaderMap::new()).await;
    let mut length = 0;
    while let Some(frame) = response.body_mut().frame().await {
        let frame = frame.map_err(|error| error.to_string())?;
        length += frame.into_data().unwrap().len();
    }
    Ok(length)
}

#[tokio::test]
async fn a_disk_that_hangs_holds_up_no_body_from_another() {
    let _many_threads = MANY_THREADS.lock().await;
    let (hanging, other) = match (Disk::mount(), Disk::mount()) {
        (Ok(hanging), Ok(other)) => (hanging, other),
        (Err(error), _) | (_, Err(error)) => {
            return salver_test::cannot_be_shown("a disk that hangs beside another", error);
        }
    };
    let assets = Assets::new(hanging.path()).unwrap();
    hanging.hang();
    let whole = usize::try_from(LENGTH).unwrap();
    let download_hanging = || tokio::spawn(download(assets.clone()));
    let downloads: Vec<_> = (0..200).map(|_| download_hanging()).collect();
    until(|| hanging.waiting() == 128).await;
    // Where it does hold up the other, this test is to fail, and not to hang as well.
    let (done, is_done) = mpsc::channel::<()>();
    let state = Arc::clone(&hanging.state);
    let guard = std::thread::spawn(move || {
        let in_time = is_done.recv_timeout(Duration::from_secs(60)).is_ok();
        state.recover();
        in_time
    });
    assert_eq!(
        download(Assets::new(other.path()).unwrap()).await,
        Ok(whole)
    );
    let work = tokio::task::spawn_blocking(|| "done");
    assert_eq!(work.await.unwrap(), "done");
    let _ = done.send(());
    assert!(guard.join().unwrap(), "the other waited for it");
    for download in downloads {
        assert_eq!(download.await.unwrap(), Ok(whole));
    }
}
