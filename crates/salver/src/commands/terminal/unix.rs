//! A terminal that shows nothing of what is typed.

use std::io;

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

/// The terminal as it was, which it is again when this is dropped.
pub(super) struct HiddenTyping(Termios);

impl HiddenTyping {
    /// Shows nothing from now on, and gives each key as it is typed.
    pub(super) fn begin() -> io::Result<Self> {
        let mut modes = tcgetattr(io::stdin())?;
        let before = HiddenTyping(modes.clone());
        modes.local_modes -= LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG;
        // What was typed before the prompt is no answer to it.
        tcsetattr(io::stdin(), OptionalActions::Flush, &modes)?;
        Ok(before)
    }
}

impl Drop for HiddenTyping {
    fn drop(&mut self) {
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.0);
    }
}
