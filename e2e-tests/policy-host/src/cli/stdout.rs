//! Keeps what a guest prints out of the result.
//!
//! WASI hands the guest the process's own stdout, and waPC offers no other. So the file descriptor is moved: the result
//! goes to a duplicate of stdout, and descriptor 1 becomes stderr.

use anyhow::Result;

/// The real stdout, out of the guest's reach.
pub(super) struct ResultStream(std::fs::File);

#[cfg(unix)]
impl ResultStream {
    pub(super) fn claim() -> Result<Self> {
        use std::os::fd::AsFd;

        let result = std::io::stdout().as_fd().try_clone_to_owned()?;
        rustix::stdio::dup2_stdout(std::io::stderr())?;
        Ok(Self(result.into()))
    }
}

#[cfg(windows)]
impl ResultStream {
    /// Without descriptors to move, what a guest prints comes before the result.
    pub(super) fn claim() -> Result<Self> {
        use std::os::windows::io::AsHandle;

        Ok(Self(std::io::stdout().as_handle().try_clone_to_owned()?.into()))
    }
}

impl std::io::Write for ResultStream {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.0.flush()
    }
}
