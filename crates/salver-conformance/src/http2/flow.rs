//! Flow-control windows (RFC 9113 section 5.2).

/// Bytes that one side may still send; below zero after a setting has made it smaller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Window(i64);

/// A window may never be larger (RFC 9113 section 6.9.1).
const MAX: i64 = 0x7fff_ffff;

impl Window {
    /// What every connection and stream begins with (RFC 9113 section 6.9.2).
    pub(crate) const DEFAULT: u32 = 65_535;

    /// A window of so many bytes.
    pub(crate) fn new(bytes: u32) -> Self {
        Self(i64::from(bytes))
    }

    /// Bytes that may be sent now.
    pub(crate) fn open(self) -> usize {
        usize::try_from(self.0).unwrap_or(0)
    }

    /// The sender has used it.
    pub(crate) fn take(&mut self, bytes: usize) -> Result<(), String> {
        let had = self.0;
        self.0 -= i64::try_from(bytes).unwrap_or(i64::MAX / 2);
        if bytes > 0 && self.0 < 0 {
            return Err(format!("{bytes} bytes of DATA into a window of {had}"));
        }
        Ok(())
    }

    /// The receiver has made it larger.
    pub(crate) fn give(&mut self, bytes: u32) -> Result<(), String> {
        self.shift(i64::from(bytes))
    }

    /// A setting has changed by so much.
    pub(crate) fn shift(&mut self, difference: i64) -> Result<(), String> {
        self.0 += difference;
        if self.0 > MAX {
            return Err(format!("a window of {} bytes", self.0));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_are_kept() {
        let mut window = Window::new(10);
        assert_eq!(window.take(10), Ok(()));
        assert_eq!((window.open(), window.take(0)), (0, Ok(())));
        assert!(window.take(1).is_err());
        let mut window = Window::new(5);
        window.shift(-10).unwrap();
        assert_eq!((window.open(), window.take(0)), (0, Ok(())));
        window.give(6).unwrap();
        assert_eq!(window.open(), 1);
        assert!(window.give(0x7fff_ffff).is_err());
    }
}
