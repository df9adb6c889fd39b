//! A directory server that says what a test wants, for what no real one can be made to say: lost cookies, unread ranges,
//! referrals, silence. It speaks just enough BER.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What a client asks.
#[derive(Clone, Debug, Default)]
pub(crate) struct Asked {
    /// The tag of the operation: 0x60 bind, 0x63 search.
    pub(crate) operation: u8,
    /// Of a bind: the name; of a search: the base.
    pub(crate) name: String,
    /// Of a search: its attributes.
    pub(crate) attributes: Vec<String>,
    /// Of a paged search: the cookie.
    pub(crate) cookie: Option<Vec<u8>>,
    /// Whether the control is critical.
    pub(crate) critical: bool,
}

impl Asked {
    /// Whether it is a page of people.
    pub(crate) fn is_page(&self) -> bool {
        self.operation == SEARCH && self.cookie.is_some()
    }
}

pub(crate) const BIND: u8 = 0x60;
pub(crate) const SEARCH: u8 = 0x63;

/// What is said.
#[derive(Clone, Debug)]
pub(crate) enum Said {
    Entry(String, Vec<(String, Vec<Vec<u8>>)>),
    Reference(String),
    /// A result: code, text, referrals, and the cookie of the page where there is one.
    Done(u8, &'static str, Vec<String>, Option<Vec<u8>>),
    /// Nothing any more, on an open connection.
    Silence,
    /// The connection is closed.
    Close,
    /// These very bytes.
    Bytes(Vec<u8>),
    /// These very bytes again and again, for as long as the client listens.
    Endless(Vec<u8>),
}

/// The end of a page with a cookie, empty for the last.
pub(crate) fn done(cookie: &[u8]) -> Said {
    Said::Done(0, "", Vec::new(), Some(cookie.to_vec()))
}

/// A result without a page.
pub(crate) fn code(code: u8, text: &'static str) -> Said {
    Said::Done(code, text, Vec::new(), None)
}

/// A person with the attributes that the tests map, and further ones.
pub(crate) fn entry(number: usize, further: &[(&str, &[&[u8]])]) -> Said {
    let mut attributes: Vec<(String, Vec<Vec<u8>>)> = [
        ("entryUUID", format!("00000000-0000-0000-0000-{number:012}")),
        ("cn", format!("Person {number}")),
        ("mail", format!("person{number}@example.com")),
        ("title", "Clerk".to_owned()),
        ("employeeNumber", format!("P{number:05}")),
    ]
    .into_iter()
    .map(|(name, value)| (name.to_owned(), vec![value.into_bytes()]))
    .collect();
    for (name, values) in further {
        attributes.retain(|(known, _)| known != name);
        attributes.push(((*name).to_owned(), values.iter().map(|value| value.to_vec()).collect()));
    }
    Said::Entry(format!("uid=u{number},ou=people,dc=example,dc=org"), attributes)
}

/// Active Directory's `replUpToDateVector` as it comes over the wire: by invocation (one letter, repeated for each
/// byte), up to which of their own changes it has them.
pub(crate) fn vector(vector: &[(u8, u64)]) -> Vec<u8> {
    let count = u32::try_from(vector.len()).unwrap();
    let mut bytes = [2u32.to_le_bytes(), [0; 4], count.to_le_bytes(), [0; 4]].concat();
    for (invocation, usn) in vector {
        bytes.extend([*invocation; 16]);
        bytes.extend(usn.to_le_bytes());
        bytes.extend([0; 8]);
    }
    bytes
}

type Script = Arc<dyn Fn(&Asked, usize) -> Vec<Said> + Send + Sync>;

/// The server.
pub(crate) struct Scripted {
    port: u16,
    ended: Arc<AtomicBool>,
    asked: Arc<Mutex<Vec<Asked>>>,
    script: Arc<Mutex<Script>>,
}

impl Scripted {
    /// Answers each request as `script` says, which gets the number of pages that were asked for before.
    pub(crate) fn start(script: impl Fn(&Asked, usize) -> Vec<Said> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let (ended, asked) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(Vec::new())));
        let script: Arc<Mutex<Script>> = Arc::new(Mutex::new(Arc::new(script)));
        let (stop, told, current) = (Arc::clone(&ended), Arc::clone(&asked), Arc::clone(&script));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                if stop.load(Ordering::SeqCst) {
                    break;
                }
                let script = Arc::clone(&*current.lock().unwrap());
                let (told, stop) = (Arc::clone(&told), Arc::clone(&stop));
                std::thread::spawn(move || serve(stream.unwrap(), &*script, &told, &stop));
            }
        });
        Self { port, ended, asked, script }
    }

    /// A server of these people: it binds anybody, says nothing of itself, and answers pages as `script` says.
    pub(crate) fn of_pages(script: impl Fn(&Asked, usize) -> Vec<Said> + Send + Sync + 'static) -> Self {
        Self::start(move |asked, pages| if asked.is_page() { script(asked, pages) } else { vec![code(0, "")] })
    }

    /// Answers new connections so from now on, and forgets what was asked.
    pub(crate) fn say_pages(&self, script: impl Fn(&Asked, usize) -> Vec<Said> + Send + Sync + 'static) {
        self.say(move |asked, pages| if asked.is_page() { script(asked, pages) } else { vec![code(0, "")] });
    }

    /// The same for every request.
    pub(crate) fn say(&self, script: impl Fn(&Asked, usize) -> Vec<Said> + Send + Sync + 'static) {
        *self.script.lock().unwrap() = Arc::new(script);
        self.asked.lock().unwrap().clear();
    }

    pub(crate) fn url(&self) -> String {
        format!("ldap://127.0.0.1:{}", self.port)
    }

    /// Everything that was asked so far.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    /// How many binds were tried so far.
    pub(crate) fn binds(&self) -> usize {
        self.asked().iter().filter(|asked| asked.operation == BIND).count()
    }
}

impl Drop for Scripted {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

fn serve(
    mut stream: TcpStream,
    script: &(dyn Fn(&Asked, usize) -> Vec<Said> + Send + Sync),
    told: &Mutex<Vec<Asked>>,
    stop: &AtomicBool,
) {
    // Many small messages, none of which waits until the one before is acknowledged.
    stream.set_nodelay(true).unwrap();
    while let Some((id, asked)) = request(&mut stream) {
        let before = {
            let mut told = told.lock().unwrap();
            let pages = told.iter().filter(|asked| asked.is_page()).count();
            told.push(asked.clone());
            pages
        };
        if asked.operation != BIND && asked.operation != SEARCH {
            return;
        }
        for said in script(&asked, before) {
            let bytes = match said {
                Said::Silence => {
                    while !stop.load(Ordering::SeqCst) {
                        std::thread::sleep(Duration::from_millis(20));
                    }
                    return;
                }
                Said::Close => return,
                Said::Endless(bytes) => {
                    while !stop.load(Ordering::SeqCst) && stream.write_all(&bytes).is_ok() {}
                    return;
                }
                Said::Bytes(bytes) => bytes,
                said => message(&id, asked.operation, &said),
            };
            if stream.write_all(&bytes).is_err() {
                return;
            }
        }
    }
}

/// Reads a request: its id as it stands, and what it asks.
fn request(stream: &mut TcpStream) -> Option<(Vec<u8>, Asked)> {
    let mut head = [0u8; 2];
    stream.read_exact(&mut head).ok()?;
    let length = match head[1] {
        short if short < 0x80 => usize::from(short),
        long => {
            let mut bytes = vec![0; usize::from(long & 0x7f)];
            stream.read_exact(&mut bytes).ok()?;
            bytes.iter().fold(0, |length, byte| length << 8 | usize::from(*byte))
        }
    };
    let mut body = vec![0; length];
    stream.read_exact(&mut body).ok()?;
    let parts = parts(&body);
    let (operation, content) = *parts.get(1)?;
    let inner = self::parts(content);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let mut asked = Asked { operation, ..Asked::default() };
    match operation {
        BIND => asked.name = text(inner.get(1)?.1),
        SEARCH => {
            asked.name = text(inner.first()?.1);
            asked.attributes = self::parts(inner.get(7)?.1).iter().map(|(_, name)| text(name)).collect();
        }
        _ => {}
    }
    if let Some((0xa0, controls)) = parts.get(2) {
        let control = self::parts(self::parts(controls).first()?.1);
        asked.critical = control.iter().any(|(tag, value)| *tag == 0x01 && value == &[0xff]);
        let value = control.last()?.1;
        asked.cookie = Some(self::parts(self::parts(value).first()?.1).get(1)?.1.to_vec());
    }
    Some((parts.first()?.1.to_vec(), asked))
}

/// The parts that stand one after the other: tag and content of each.
fn parts(mut bytes: &[u8]) -> Vec<(u8, &[u8])> {
    let mut parts = Vec::new();
    while bytes.len() >= 2 {
        let (head, length) = match bytes[1] {
            short if short < 0x80 => (2, usize::from(short)),
            long => {
                let count = usize::from(long & 0x7f);
                (2 + count, bytes[2..2 + count].iter().fold(0, |length, byte| length << 8 | usize::from(*byte)))
            }
        };
        parts.push((bytes[0], &bytes[head..head + length]));
        bytes = &bytes[head + length..];
    }
    parts
}

fn message(id: &[u8], operation: u8, said: &Said) -> Vec<u8> {
    let mut controls = Vec::new();
    let answer = match said {
        Said::Entry(dn, attributes) => {
            let attributes: Vec<u8> = attributes
                .iter()
                .flat_map(|(name, values)| {
                    let values: Vec<u8> = values.iter().flat_map(|value| tagged(0x04, value)).collect();
                    tagged(0x30, &[tagged(0x04, name.as_bytes()), tagged(0x31, &values)].concat())
                })
                .collect();
            tagged(0x64, &[tagged(0x04, dn.as_bytes()), tagged(0x30, &attributes)].concat())
        }
        Said::Reference(url) => tagged(0x73, &tagged(0x04, url.as_bytes())),
        Said::Done(code, text, referrals, cookie) => {
            if let Some(cookie) = cookie {
                let value = tagged(0x30, &[tagged(0x02, &[0]), tagged(0x04, cookie)].concat());
                let control = [tagged(0x04, b"1.2.840.113556.1.4.319"), tagged(0x04, &value)].concat();
                controls = tagged(0xa0, &tagged(0x30, &control));
            }
            let mut parts = [tagged(0x0a, &[*code]), tagged(0x04, b""), tagged(0x04, text.as_bytes())].concat();
            if !referrals.is_empty() {
                let urls: Vec<u8> = referrals.iter().flat_map(|url| tagged(0x04, url.as_bytes())).collect();
                parts.extend(tagged(0xa3, &urls));
            }
            tagged(if operation == BIND { 0x61 } else { 0x65 }, &parts)
        }
        Said::Silence | Said::Close | Said::Bytes(_) | Said::Endless(_) => Vec::new(),
    };
    tagged(0x30, &[tagged(0x02, id), answer, controls].concat())
}

pub(crate) fn tagged(tag: u8, content: &[u8]) -> Vec<u8> {
    let mut out = vec![tag];
    match content.len() {
        short if short < 0x80 => out.push(u8::try_from(short).unwrap()),
        long => {
            let bytes = long.to_be_bytes();
            let first = bytes.iter().position(|byte| *byte != 0).unwrap();
            out.push(0x80 | u8::try_from(bytes.len() - first).unwrap());
            out.extend(&bytes[first..]);
        }
    }
    out.extend(content);
    out
}
