//! Sockets with a name in the file system.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, FileTypeExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use tokio::net::{UnixListener, UnixStream};

use super::connections::Listener;

/// A socket; its file is removed when this is dropped.
#[derive(Debug)]
pub struct Socket {
    listener: UnixListener,
    path: PathBuf,
}

/// Who may open the socket's file, and see its folder where it has to be made.
#[derive(Clone, Copy, Debug)]
pub struct SocketModes {
    /// Of the file.
    pub file: u32,
    /// Of the folder.
    pub folder: u32,
}

impl Drop for Socket {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

impl Socket {
    /// Listens on `path`. Replaces a socket without a listener: its daemon was killed.
    ///
    /// # Errors
    ///
    /// There is something else, or it may not be made.
    pub fn bind(path: &Path, modes: SocketModes) -> io::Result<Self> {
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            let is_new = !folder.exists();
            fs::DirBuilder::new().recursive(true).mode(modes.folder).create(folder)?;
            if is_new {
                // Whatever the umask is.
                fs::set_permissions(folder, fs::Permissions::from_mode(modes.folder))?;
            }
        }
        match fs::symlink_metadata(path) {
            Ok(found) if !found.file_type().is_socket() => {
                return Err(io::Error::new(io::ErrorKind::AlreadyExists, "there is a file that is no socket"));
            }
            Ok(_) if std::os::unix::net::UnixStream::connect(path).is_ok() => {
                return Err(io::Error::new(io::ErrorKind::AddrInUse, "another daemon listens there"));
            }
            Ok(_) => fs::remove_file(path)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        // The umask keeps other users out until the mode says who may connect.
        let listener = UnixListener::bind(path)?;
        fs::set_permissions(path, fs::Permissions::from_mode(modes.file))?;
        Ok(Self { listener, path: path.to_owned() })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Listener for Socket {
    type Stream = UnixStream;

    async fn next(&self) -> io::Result<UnixStream> {
        Ok(self.listener.accept().await?.0)
    }
}
