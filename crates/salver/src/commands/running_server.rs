//! `salver reload` and `salver upgrade`: what a running server is told, and what it answers.

use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use clap::Args;
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process, test_kill_process};

use crate::failure::Failure;
use crate::log::say;
use crate::process::pid_file::{Status, read, read_pid, status_path};

/// The time for a server to answer.
const PATIENCE: Duration = Duration::from_secs(180);

/// The interval at which it is looked for an answer.
const LOOK: Duration = Duration::from_millis(10);

/// Which server.
#[derive(Args, Clone, Debug)]
pub struct RunningServerFlags {
    /// The file that the server was given by its --pid-file
    #[arg(long, value_name = "FILE", conflicts_with = "pid")]
    pub pid_file: Option<PathBuf>,

    /// The number of its process
    #[arg(long, value_name = "NUMBER", value_parser = pid)]
    pub pid: Option<i32>,
}

/// The number of a process.
fn pid(text: &str) -> Result<i32, String> {
    let number = text.parse().ok().filter(|number| *number > 0);
    number.ok_or_else(|| "no number of a process: give 4711, say".to_owned())
}

/// Has a server read its configuration again.
///
/// # Errors
/// There is no such server, or why nothing has changed.
pub fn reload(flags: &RunningServerFlags) -> Result<(), Failure> {
    tell(flags, Signal::HUP, "SIGHUP")
}

/// Has a server replaced by the program that is installed now.
///
/// # Errors
/// There is no such server, or why it serves on.
pub fn upgrade(flags: &RunningServerFlags) -> Result<(), Failure> {
    tell(flags, Signal::USR2, "SIGUSR2")
}

fn tell(flags: &RunningServerFlags, signal: Signal, name: &str) -> Result<(), Failure> {
    match (&flags.pid_file, flags.pid) {
        (Some(path), _) => tell_and_wait(path, signal),
        (None, Some(pid)) => {
            send(pid, signal)?;
            say(&format!(
                "{name} was sent: the log of the server says what comes of it (with --pid-file this waits for it)"
            ));
            Ok(())
        }
        (None, None) => Err(Failure::Misused(
            "which server? give --pid-file, as the server has it, or --pid".to_owned(),
        )),
    }
}

/// Sends a signal; who has it read knows of everything that was written before.
fn tell_and_wait(path: &Path, signal: Signal) -> Result<(), Failure> {
    let pid = read_pid(path)?;
    let status = status_path(path);
    // What is under way has begun before, and may have read what has changed since.
    let wanted = match read(&status) {
        Ok(Status::Ended { number, .. } | Status::UnderWay(number)) => number + 1,
        Err(_) => 1,
    };
    send(pid, signal)?;
    let until = Instant::now() + PATIENCE;
    loop {
        match read(&status) {
            Ok(Status::Ended {
                number,
                is_well,
                text,
            }) if number >= wanted => {
                return match is_well {
                    true => {
                        say(&text);
                        Ok(())
                    }
                    false => Err(Failure::Failed(text)),
                };
            }
            _ if !is_there(pid) => {
                return Err(Failure::Failed("the server has ended meanwhile".to_owned()));
            }
            _ if Instant::now() >= until => {
                return Err(Failure::Failed(format!(
                    "the server has not answered within {} s: see its log",
                    PATIENCE.as_secs()
                )));
            }
            _ => sleep(LOOK),
        }
    }
}

fn is_there(pid: i32) -> bool {
    let found = Pid::from_raw(pid).map(test_kill_process);
    matches!(found, Some(Ok(()) | Err(Errno::PERM)))
}

fn send(pid: i32, signal: Signal) -> Result<(), Failure> {
    let failed = |why: &str| Failure::Failed(format!("process {pid} cannot be told: {why}"));
    let Some(of_pid) = Pid::from_raw(pid).filter(|_| pid > 0) else {
        return Err(failed("that is no number of a process"));
    };
    match kill_process(of_pid, signal) {
        Ok(()) => Ok(()),
        Err(Errno::SRCH) => Err(failed("there is none: is the server running?")),
        Err(Errno::PERM) => Err(failed("it is another user's: try as root")),
        Err(error) => Err(failed(&error.to_string())),
    }
}
