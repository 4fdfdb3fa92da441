//! Reading a file whose size bounds the memory used, and writing one that is either whole or absent.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

/// The bytes of a regular file.
///
/// At most as many bytes are read as the file system said the file has, so that a device or a pipe in place of a file
/// cannot exhaust memory.
///
/// # Errors
/// Those of the file system, and [`io::ErrorKind::InvalidInput`] for anything that is not a regular file.
pub fn read_regular(path: &Path) -> io::Result<Vec<u8>> {
    // Asked before opening, because opening a pipe waits for its other end.
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
    }
    let file = File::open(path)?;
    let len = file.metadata()?.len();
    let mut bytes = Vec::new();
    file.take(len).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Replaces `path` by a file of these bytes; at every moment `path` is the old file, the new one or (as before) absent.
///
/// The bytes go to a temporary file in the same folder, reach the disk, and are renamed; then the folder is synced as
/// well where the system can do that. Permissions are those of any new file.
///
/// # Errors
/// Those of the file system; then `path` is as it was and the temporary file is gone.
pub fn write_atomic(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let mut builder = tempfile::Builder::new();
    builder.prefix(".isobit-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // The umask is still applied; without this a temporary file stays private to its owner after the rename.
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    let mut file = builder.tempfile_in(folder)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|e| e.error)?;
    #[cfg(unix)]
    File::open(folder)?.sync_all()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replaces_whole_and_leaves_nothing_behind() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("a.bin");
        write_atomic(&path, b"first")?;
        write_atomic(&path, b"second")?;
        assert_eq!(read_regular(&path)?, b"second");
        assert_eq!(std::fs::read_dir(folder.path())?.count(), 1);
        Ok(())
    }

    #[test]
    fn failed_write_keeps_the_target() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let target = folder.path().join("taken");
        std::fs::create_dir(&target)?;
        std::fs::write(target.join("inside"), b"x")?;
        assert!(write_atomic(&target, b"new").is_err());
        assert_eq!(std::fs::read(target.join("inside"))?, b"x");
        assert_eq!(std::fs::read_dir(folder.path())?.count(), 1, "the temporary file must be gone");
        assert!(write_atomic(&folder.path().join("absent/a.bin"), b"new").is_err());
        Ok(())
    }

    #[test]
    fn only_regular_files_are_read() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        assert_eq!(read_regular(folder.path()).unwrap_err().kind(), io::ErrorKind::InvalidInput);
        assert_eq!(read_regular(&folder.path().join("absent")).unwrap_err().kind(), io::ErrorKind::NotFound);
        Ok(())
    }

    #[cfg(unix)]
    #[test]
    fn new_files_are_as_readable_as_any_other() -> io::Result<()> {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir()?;
        let (ours, plain) = (folder.path().join("ours"), folder.path().join("plain"));
        write_atomic(&ours, b"x")?;
        std::fs::write(&plain, b"x")?;
        let mode = |p: &Path| std::fs::metadata(p).map(|m| m.permissions().mode());
        assert_eq!(mode(&ours)?, mode(&plain)?);
        Ok(())
    }
}
