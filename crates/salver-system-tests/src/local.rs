//! A slow disk of this machine: ext4 on a loop device whose backing file is on a FUSE file system that takes
//! its time. For all that reads from it it is a local file system, with page cache, reading ahead
//! and metadata of its own. Only root can have one.
//!
//! | name | what |
//! | --- | --- |
//! | `hot` | 1 KiB |
//! | `small-N` | 4 KiB, N below [`SMALLS`] |
//! | `large-N` | 2 MiB, N below [`LARGES`] |

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, PermissionsExt, chown};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use fuser::{
    BackgroundSession, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation,
    INodeNo, InitFlags, KernelConfig, LockOwner, OpenFlags, ReplyAttr, ReplyData, ReplyEntry,
    ReplyOpen, Request,
};
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};

use crate::disk::{State, attributes_of, mount_fuse};
use crate::tree::{HOT_LENGTH, SMALL_LENGTH, bytes_at, content};

/// Who owns the files.
pub const OWNER: u32 = 12_345;

pub(crate) const LARGE_LENGTH: u64 = 2 * 1024 * 1024;
pub(crate) const LARGES: u64 = 40;
pub(crate) const SMALLS: u64 = 400;

/// Room for the files and what ext4 needs besides.
const IMAGE_LENGTH: u64 = (LARGES + 16) * LARGE_LENGTH;

/// How far the kernel reads ahead: as on many a server, so that most of what is about to be sent has
/// been asked for and has not come.
const READ_AHEAD_KIB: &str = "1024";

/// How much is read from the device at once: so little that copying it, which a real disk does by itself, delays nobody
/// who is measured, and that its queue is full where many read ahead, as that of a busy disk is.
const AT_ONCE_KIB: &str = "64";

/// Mounted until it is dropped.
pub(crate) struct Local {
    mountpoint: std::path::PathBuf,
    device: String,
    backing: std::path::PathBuf,
    session: Option<BackgroundSession>,
    // The image and the place where the backing file is seen.
    _temp: tempfile::TempDir,
}

impl Local {
    pub(crate) fn mount(mountpoint: &Path, state: &Arc<State>) -> io::Result<Self> {
        let temp = tempfile::tempdir()?;
        let image = temp.path().join("image");
        make_image(&temp.path().join("files"), &image)?;
        let backing = temp.path().join("backing");
        std::fs::create_dir(&backing)?;
        let slowly = Arc::new(AtomicBool::new(false));
        let backing_file = Image {
            file: Arc::new(File::open(&image)?),
            slowly: Arc::clone(&slowly),
            state: Arc::clone(state),
        };
        let session = mount_fuse(backing_file, &backing)?;
        let mut local = Local {
            mountpoint: mountpoint.to_owned(),
            device: String::new(),
            backing: backing.clone(),
            session: Some(session),
            _temp: temp,
        };
        let shown = backing.join("image");
        let arguments = ["--find", "--show", "--read-only", "--direct-io=on"].map(OsStr::new);
        let device = run("losetup", arguments.into_iter().chain([shown.as_os_str()]))?;
        local.device = device.trim().to_owned();
        let name = local.device.trim_start_matches("/dev/");
        for (limit, kib) in [
            ("read_ahead_kb", READ_AHEAD_KIB),
            ("max_sectors_kb", AT_ONCE_KIB),
        ] {
            std::fs::write(format!("/sys/block/{name}/queue/{limit}"), kib)?;
        }
        let flags = MountFlags::RDONLY | MountFlags::NOATIME;
        mount(&*local.device, mountpoint, "ext4", flags, None)?;
        slowly.store(true, Ordering::SeqCst);
        Ok(local)
    }
}

impl Drop for Local {
    fn drop(&mut self) {
        // Detached: whoever still has a file open keeps nothing but that. The device goes with its last
        // user, and what is read of it once this process has ended fails.
        let _ = unmount(&self.mountpoint, UnmountFlags::DETACH);
        if !self.device.is_empty() {
            let _ = run("losetup", ["--detach", &self.device].map(OsStr::new));
        }
        let _ = unmount(&self.backing, UnmountFlags::DETACH);
        drop(self.session.take());
    }
}

fn run<'a>(program: &str, arguments: impl IntoIterator<Item = &'a OsStr>) -> io::Result<String> {
    let output = Command::new(program).args(arguments).output();
    let output = output.map_err(|error| io::Error::other(format!("{program}: {error}")))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        let said = String::from_utf8_lossy(&output.stderr);
        Err(io::Error::other(format!("{program}: {}", said.trim())))
    }
}

/// A file system with the files, made without mounting it.
fn make_image(files: &Path, image: &Path) -> io::Result<()> {
    std::fs::create_dir(files)?;
    std::fs::set_permissions(files, PermissionsExt::from_mode(0o755))?;
    let content = content();
    let long_ago = SystemTime::now() - Duration::from_secs(3600);
    let write = |name: String, number: u64, length: u64| {
        let path = files.join(name);
        let bytes = &bytes_at(&content, number, 0)[..usize::try_from(length).unwrap()];
        std::fs::write(&path, bytes)?;
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o644))?;
        chown(&path, Some(OWNER), Some(OWNER))?;
        File::options()
            .write(true)
            .open(&path)?
            .set_modified(long_ago)
    };
    write("hot".to_owned(), 0, HOT_LENGTH)?;
    (0..SMALLS).try_for_each(|n| write(format!("small-{n}"), n, SMALL_LENGTH))?;
    (0..LARGES).try_for_each(|n| write(format!("large-{n}"), n, LARGE_LENGTH))?;
    File::create(image)?.set_len(IMAGE_LENGTH)?;
    let options = ["-q", "-F", "-b", "4096", "-O", "^has_journal", "-d"].map(OsStr::new);
    let places = [files.as_os_str(), image.as_os_str()];
    run("mkfs.ext4", options.into_iter().chain(places))?;
    age(files, image, long_ago)?;
    std::fs::remove_dir_all(files)
}

/// Dates the change times of the files in an image: one that changed a moment ago is looked at more closely, before
/// it is streamed.
fn age(files: &Path, image: &Path, to: SystemTime) -> io::Result<()> {
    let seconds = to.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
    let commands = image.with_file_name("commands");
    let mut lines = String::new();
    for file in std::fs::read_dir(files)? {
        let name = file?.file_name();
        let name = name.display();
        lines.push_str(&format!("set_inode_field /{name} ctime @{seconds}\n"));
    }
    std::fs::write(&commands, lines)?;
    let arguments = ["-w", "-f"].map(OsStr::new).into_iter();
    let places = [commands.as_os_str(), image.as_os_str()];
    run("debugfs", arguments.chain(places)).map(drop)
}

/// One file, `image`: the bytes of the device.
struct Image {
    file: Arc<File>,
    /// Not while the disk is being made.
    slowly: Arc<AtomicBool>,
    state: Arc<State>,
}

const IMAGE: INodeNo = INodeNo(2);

/// The kernel need not ask again.
const REMEMBERED: Duration = Duration::from_secs(3600);

fn attributes(inode: INodeNo) -> FileAttr {
    let (kind, perm, size) = match inode {
        IMAGE => (FileType::RegularFile, 0o600, IMAGE_LENGTH),
        _ => (FileType::Directory, 0o700, 0),
    };
    attributes_of(inode, size, kind, perm)
}

impl Filesystem for Image {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> io::Result<()> {
        // A disk works at many requests at once, and so does what reads from it.
        let _ = config.set_max_background(1024);
        let _ = config.add_capabilities(InitFlags::FUSE_ASYNC_DIO);
        Ok(())
    }

    fn lookup(&self, _: &Request, _parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        match name == "image" {
            true => reply.entry(&REMEMBERED, &attributes(IMAGE), Generation(0)),
            false => reply.error(Errno::ENOENT),
        }
    }

    fn getattr(&self, _: &Request, inode: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        reply.attr(&REMEMBERED, &attributes(inode));
    }

    fn open(&self, _: &Request, _inode: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        // A device caches nothing: what leaves the page cache above it has to be read again.
        reply.opened(FileHandle(0), FopenFlags::FOPEN_DIRECT_IO);
    }

    fn read(
        &self,
        _: &Request,
        _inode: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let file = Arc::clone(&self.file);
        let answer = move || {
            let count = u64::from(size).min(IMAGE_LENGTH.saturating_sub(offset));
            let mut bytes = vec![0; usize::try_from(count).unwrap()];
            match file.read_exact_at(&mut bytes, offset) {
                Ok(()) => reply.data(&bytes),
                Err(_) => reply.error(Errno::EIO),
            }
        };
        if self.slowly.load(Ordering::SeqCst) {
            self.state.read(answer);
        } else {
            answer();
        }
    }
}
