//! A mail server of a few lines, with TLS and a login, and a web server and a proxy likewise. Each remembers what arrived.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustls::{ServerConfig, ServerConnection, StreamOwned};
use tempfile::TempDir;

use super::authority;

/// How a server protects what it receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tls {
    Whole,
    Upgraded,
    Never,
}

/// The only account.
pub(crate) const USER: &str = "rosterd";
pub(crate) const PASSWORD: &str = "canary-word";

/// What a server heard.
#[derive(Clone, Debug, Default)]
pub(crate) struct Heard {
    /// Lines that came unprotected.
    pub(crate) open: Vec<String>,
    /// Lines that came protected.
    pub(crate) secret: Vec<String>,
    /// Mails, or bodies.
    pub(crate) whole: Vec<String>,
}

/// Something that listens on a free port of 127.0.0.1.
pub(crate) struct Server {
    pub(crate) port: u16,
    dir: TempDir,
    heard: Arc<Mutex<Heard>>,
}

/// Plain or not.
trait Stream: Read + Write {}

impl<T: Read + Write> Stream for T {}

impl Server {
    /// Serves each connection on a thread of its own.
    fn start(names: &str, serve: impl Fn(TcpStream, Arc<ServerConfig>, &Mutex<Heard>) + Send + Sync + 'static) -> Self {
        let dir = TempDir::new().unwrap();
        authority::certificates(dir.path(), names);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let this = Self { port: listener.local_addr().unwrap().port(), heard: Arc::default(), dir };
        let (heard, tls) = (Arc::clone(&this.heard), authority::server(this.dir.path()));
        let serve = Arc::new(serve);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (stream, tls) = (stream.unwrap(), Arc::clone(&tls));
                let (heard, serve) = (Arc::clone(&heard), Arc::clone(&serve));
                stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
                std::thread::spawn(move || serve(stream, tls, &heard));
            }
        });
        this
    }

    /// A mail server whose certificate is for these names.
    pub(crate) fn mail(tls: Tls, names: &str) -> Self {
        // A client that hangs up in the middle is one of the cases.
        Self::start(names, move |stream, config, heard| drop(mail(stream, tls, config, heard)))
    }

    /// A web server that speaks TLS.
    pub(crate) fn web(names: &str) -> Self {
        Self::start(names, |stream, config, heard| {
            let mut stream = secured(stream, config);
            let _ = request(&mut stream, heard, "200 OK");
        })
    }

    /// A proxy that refuses everyone.
    pub(crate) fn proxy() -> Self {
        Self::start("DNS:localhost", |mut stream, _, heard| drop(request(&mut stream, heard, "403 No")))
    }

    /// The certificate of its authority.
    pub(crate) fn ca_file(&self) -> PathBuf {
        self.dir.path().join("ca.pem")
    }

    /// What it heard since it was asked last.
    pub(crate) fn heard(&self) -> Heard {
        std::mem::take(&mut self.heard.lock().unwrap())
    }
}

fn secured(stream: TcpStream, config: Arc<ServerConfig>) -> StreamOwned<ServerConnection, TcpStream> {
    StreamOwned::new(ServerConnection::new(config).unwrap(), stream)
}

/// Takes a request of HTTP.
fn request(stream: &mut impl Stream, heard: &Mutex<Heard>, status: &str) -> io::Result<()> {
    let mut reader = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 || line.trim().is_empty() {
            break;
        }
        if let Some(number) = line.to_lowercase().strip_prefix("content-length:") {
            length = number.trim().parse().unwrap();
        }
        heard.lock().unwrap().secret.push(line.trim().to_owned());
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    if length > 0 {
        heard.lock().unwrap().whole.push(String::from_utf8(body).unwrap());
    }
    let answer = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
    reader.get_mut().write_all(answer.as_bytes())?;
    reader.get_mut().flush()
}

fn mail(stream: TcpStream, tls: Tls, config: Arc<ServerConfig>, heard: &Mutex<Heard>) -> io::Result<()> {
    if tls == Tls::Whole {
        let mut stream = secured(stream, config);
        say(&mut stream, "220 mail.example.com")?;
        return talk(stream, tls, true, heard).map(drop);
    }
    let mut stream = stream;
    say(&mut stream, "220 mail.example.com")?;
    match talk(stream, tls, false, heard)? {
        Some(stream) => talk(secured(stream, config), tls, true, heard).map(drop),
        None => Ok(()),
    }
}

fn say(stream: &mut impl Write, text: &str) -> io::Result<()> {
    stream.write_all(format!("{text}\r\n").as_bytes())?;
    stream.flush()
}

/// Talks until the other side says goodbye; returns the stream where it is to be protected now.
fn talk<S: Stream>(stream: S, tls: Tls, is_secret: bool, heard: &Mutex<Heard>) -> io::Result<Option<S>> {
    let login = base64_of(&format!("\0{USER}\0{PASSWORD}"));
    let mut reader = BufReader::new(stream);
    let mut is_known = false;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let line = line.trim().to_owned();
        let lines =
            |heard: &mut Heard, line: String| if is_secret { heard.secret.push(line) } else { heard.open.push(line) };
        lines(&mut heard.lock().unwrap(), line.clone());
        let stream = reader.get_mut();
        match line.split(' ').next().unwrap_or_default() {
            "EHLO" if is_secret => say(stream, "250-mail.example.com\r\n250 AUTH PLAIN")?,
            "EHLO" if tls == Tls::Upgraded => say(stream, "250-mail.example.com\r\n250 STARTTLS")?,
            // It would take a login in the clear: no client must offer it one.
            "EHLO" => say(stream, "250-mail.example.com\r\n250 AUTH PLAIN")?,
            "STARTTLS" => {
                say(stream, "220 go on")?;
                return Ok(Some(reader.into_inner()));
            }
            "AUTH" => {
                is_known = line.ends_with(&login);
                say(stream, if is_known { "235 welcome" } else { "535 no such login" })?;
            }
            "MAIL" if !is_known => say(stream, "530 who are you")?,
            "DATA" => {
                say(stream, "354 go on")?;
                let mut mail = String::new();
                loop {
                    let mut line = String::new();
                    if reader.read_line(&mut line)? == 0 {
                        return Ok(None);
                    }
                    if line == ".\r\n" {
                        break;
                    }
                    mail.push_str(&line);
                }
                heard.lock().unwrap().whole.push(mail);
                say(reader.get_mut(), "250 taken")?;
            }
            "QUIT" => {
                say(stream, "221 bye")?;
                return Ok(None);
            }
            _ => say(stream, "250 yes")?,
        }
    }
}

fn base64_of(text: &str) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(text)
}
