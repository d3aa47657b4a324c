//! A console that shows nothing of what is typed.

use std::io;
use std::os::windows::io::AsRawHandle as _;

use windows_sys::Win32::Foundation::HANDLE;
use windows_sys::Win32::System::Console::{
    CONSOLE_MODE, ENABLE_ECHO_INPUT, ENABLE_LINE_INPUT, ENABLE_PROCESSED_INPUT,
    FlushConsoleInputBuffer, GetConsoleMode, SetConsoleMode,
};

/// Standard input as a console that shows nothing, and gives each key as it is typed; it is as before when this is
/// dropped.
#[derive(Debug)]
pub struct HiddenTyping {
    console: HANDLE,
    before: CONSOLE_MODE,
}

impl HiddenTyping {
    /// Shows nothing from now on. What was typed before is dropped.
    ///
    /// # Errors
    /// Standard input is no console.
    pub fn begin() -> io::Result<Self> {
        let console = io::stdin().as_raw_handle();
        let mut before = 0;
        // SAFETY: the handle of standard input stays open, and the pointer is to a live value.
        if unsafe { GetConsoleMode(console, &raw mut before) } == 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: as above; the call takes no memory. Where it fails, more is read than was meant.
        let _ = unsafe { FlushConsoleInputBuffer(console) };
        let hidden = before & !(ENABLE_ECHO_INPUT | ENABLE_LINE_INPUT | ENABLE_PROCESSED_INPUT);
        // SAFETY: as above.
        if unsafe { SetConsoleMode(console, hidden) } == 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(HiddenTyping { console, before })
    }
}

impl Drop for HiddenTyping {
    fn drop(&mut self) {
        // SAFETY: the handle of standard input stays open; the call takes no memory.
        let _ = unsafe { SetConsoleMode(self.console, self.before) };
    }
}
