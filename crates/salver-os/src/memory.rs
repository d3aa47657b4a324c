//! Settings of the memory of this process.

/// Has memory come in pages of the usual size only (`PR_SET_THP_DISABLE`, prctl(2)), for the whole
/// process: huge pages make each thread that allocates a little resident with megabytes. Does
/// nothing where the system has no such setting.
pub fn use_small_pages() {
    #[cfg(target_os = "linux")]
    {
        let (on, unused): (libc::c_ulong, libc::c_ulong) = (1, 0);
        // SAFETY: the option takes numbers alone and changes no memory that is in use.
        let _ = unsafe { libc::prctl(libc::PR_SET_THP_DISABLE, on, unused, unused, unused) };
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    #[test]
    fn the_kernel_takes_it() {
        super::use_small_pages();
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find(|line| line.starts_with("THP_enabled:"));
        // Older kernels have no such line.
        assert!(line.is_none_or(|line| line.ends_with('0')), "{line:?}");
    }
}
