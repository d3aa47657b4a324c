//! The browser of who started the program.

use std::process::{Command, Stdio};

/// Opens a URL in the browser of this desktop, which nobody waits for. `failed` is told in a line why it did not.
pub(crate) fn open(url: &str, failed: impl FnOnce(String) + Send + 'static) {
    let (opener, before): (_, &[&str]) = match std::env::consts::OS {
        "macos" => ("open", &[]),
        "windows" => ("rundll32", &["url.dll,FileProtocolHandler"]),
        _ => ("xdg-open", &[]),
    };
    let mut command = Command::new(opener);
    command
        .args(before)
        .arg(url)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    match command.spawn() {
        Err(error) => failed(format!("{opener} cannot be started: {error}")),
        Ok(mut child) => {
            // Some openers stay for as long as the browser does.
            let wait = move || match child.wait() {
                Ok(status) if status.success() => {}
                Ok(status) => failed(format!("{opener} failed: {status}")),
                Err(error) => failed(format!("{opener} failed: {error}")),
            };
            let thread = std::thread::Builder::new().name("salver-browser".to_owned());
            // Without a thread nobody learns how it ended.
            let _ = thread.spawn(wait);
        }
    }
}
