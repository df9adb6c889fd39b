//! Requests with something wrong in them.

use std::fmt;

use super::super::super::operation::{Operation, operations};
use super::super::super::xml;
use super::World;
use super::value::Dice;

const HEADERS: &[&str] =
    &["if-modified-since", "accept", "content-type", "accept-language", "range", "x-garbage", "content-encoding"];

const MEDIA: &[&str] = &[
    "application/json",
    "application/xml",
    "text/xml",
    "text/csv",
    "image/png",
    "image/jpeg",
    "application/json; charset=x",
    "multipart/form-data",
    "",
    "*/*",
    "application/xml;q=0",
    ";;;,,,/",
    "application/*;q=1.5,text/xml;q=x",
];

const PARAMETERS: &[&str] = &["q", "q", "order", "limit", "page", "id", "time_zone", "group", "sp_member_id", "x"];

/// What isn't below the API root: (method, path).
const OUTSIDE: &[(&str, &str)] = &[
    ("POST", "/oauth2/token"),
    ("GET", "/openapi.json"),
    ("GET", "/"),
    ("POST", "/control/clients"),
    ("POST", "/control/clients/x/rotate"),
    ("DELETE", "/control/clients/x"),
    ("POST", "/control/keys"),
    ("DELETE", "/control/keys/x"),
    ("PUT", "/control/faults"),
    ("PUT", "/control/assets"),
    ("PUT", "/control/%FF"),
];

/// A request as bytes.
pub(super) struct Garbage {
    /// The name of what it was made for.
    pub(super) operation: &'static str,
    pub(super) head: Vec<u8>,
    pub(super) body: Vec<u8>,
}

impl Garbage {
    pub(super) fn throw(dice: &mut Dice, world: &World) -> Self {
        if dice.one_in(40) {
            let (method, path) = dice.pick(OUTSIDE);
            let body = dice.value(3, world).to_string().into_bytes();
            let kind = dice.pick(&["application/json", "application/x-www-form-urlencoded", "x"]);
            return Self::new(path, dice.head(method, path, kind), body);
        }
        let all: Vec<&Operation> = operations().iter().filter(|operation| !operation.is_token_request()).collect();
        let operation = dice.pick(&all);
        let method = if dice.one_in(30) { dice.pick(&["GET", "PUT", "PATCH", "FROB"]) } else { operation.method };
        let mut target = format!("/v1{}", dice.path(operation, world));
        if dice.one_in(3) {
            target = format!("{target}?{}", dice.query());
        }
        let (kind, body) = match method {
            "GET" | "HEAD" | "DELETE" if !dice.one_in(10) => ("", Vec::new()),
            _ => dice.body(operation, world),
        };
        Self::new(operation.name, dice.head(method, &target, kind), body)
    }

    fn new(operation: &'static str, mut head: Vec<u8>, body: Vec<u8>) -> Self {
        head.extend(format!("content-length: {}\r\n\r\n", body.len()).into_bytes());
        Self { operation, head, body }
    }
}

impl Dice {
    fn path(&mut self, operation: &Operation, world: &World) -> String {
        let template = operation.template();
        let method = operation.method.to_ascii_lowercase();
        let parameters = &world.description["paths"][&template][method]["parameters"];
        let example = |name: &str| {
            let parameter = parameters.as_array()?.iter().find(|own| own["name"] == name && own["in"] == "path")?;
            parameter["schema"]["examples"][0].as_i64()
        };
        let segment = |segment: &str| match segment.strip_prefix('{').and_then(|name| name.strip_suffix('}')) {
            Some(name) if !self.one_in(4) => {
                let id = example(name).filter(|_| !self.one_in(4)).unwrap_or_else(|| self.pick(&world.ids));
                // Several are there, so that some are left when others are removed.
                (id + i64::try_from(self.below(3)).unwrap()).to_string()
            }
            None if !self.one_in(80) => segment.to_owned(),
            _ if self.one_in(8) => self.line().replace(' ', ""),
            _ => encoded(&self.text()),
        };
        template.split('/').map(segment).collect::<Vec<_>>().join("/")
    }

    fn query(&mut self) -> String {
        let pairs = (0..self.below(4)).map(|_| {
            let name = self.pick(PARAMETERS);
            let value = if name == "q" { self.filter() } else { self.text() };
            let value = if self.one_in(12) { value.replace(['\0', '\r', '\n', ' '], "%FF") } else { encoded(&value) };
            format!("{name}={value}")
        });
        pairs.collect::<Vec<_>>().join("&")
    }

    /// The head of a request up to the length of its body.
    fn head(&mut self, method: &str, target: &str, kind: &str) -> Vec<u8> {
        let credential = if self.one_in(60) { self.line() } else { "APIKEY sandbox-key".to_owned() };
        let kind = if self.one_in(20) { self.pick(MEDIA) } else { kind };
        let mut head = format!(
            "{method} {target} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\
             authorization: {credential}\r\ncontent-type: {kind}\r\n"
        )
        .into_bytes();
        let more = if self.one_in(3) { self.below(3) } else { 0 };
        for _ in 0..more {
            let name = self.pick(HEADERS);
            let value = match self.below(3) {
                0 => self.bytes(20).into_iter().filter(|byte| !matches!(byte, 0 | b'\r' | b'\n')).collect(),
                1 => self.pick(MEDIA).as_bytes().to_vec(),
                _ => self.line().into_bytes(),
            };
            head.extend([name.as_bytes(), b": ", &value, b"\r\n"].concat());
        }
        head
    }

    /// A body and its media type.
    fn body(&mut self, operation: &Operation, world: &World) -> (&'static str, Vec<u8>) {
        let method = operation.method.to_ascii_lowercase();
        let content = &world.description["paths"][operation.template()][method]["requestBody"]["content"];
        let value = match self.below(8) {
            0 => self.value(4, world),
            1 => self.object(3, world),
            _ => self.fitting(&content["application/json"]["schema"], world),
        };
        let json = value.to_string().into_bytes();
        let (kind, mut body) = match self.below(16) {
            0 => (self.pick(MEDIA), Vec::new()),
            1 => (self.pick(MEDIA), self.bytes(200)),
            2 => (self.pick(&MEDIA[..3]), self.pick(&["[", "{\"a\":", "<a>"]).repeat(10_000).into_bytes()),
            3 => ("text/csv", self.csv()),
            4..7 => ("application/xml", xml::document(&json, "entity").unwrap().into_bytes()),
            7 => (self.pick(MEDIA), json),
            _ if content.get("image/png").is_some() => ("image/png", self.bytes(200)),
            _ => ("application/json", json),
        };
        if self.one_in(6) && !body.is_empty() {
            self.spoil(&mut body);
        }
        (kind, body)
    }

    fn csv(&mut self) -> Vec<u8> {
        let name = if self.one_in(2) { "title".to_owned() } else { self.text() };
        let rows = (0..self.below(3)).map(|_| format!("{},{},\"{}\"\n", self.text(), self.text(), self.text()));
        format!("name,email,{name}\n{}", rows.collect::<String>()).into_bytes()
    }

    fn spoil(&mut self, body: &mut Vec<u8>) {
        let place = self.below(body.len());
        match self.below(3) {
            0 => body.truncate(place),
            1 => body[place] = self.byte(),
            _ => body.insert(place, self.byte()),
        }
    }
}

impl fmt::Display for Garbage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let start = &self.body[..self.body.len().min(2000)];
        let (head, body) = (String::from_utf8_lossy(&self.head), String::from_utf8_lossy(start));
        write!(f, "for {}\n{head}{body}", self.operation)
    }
}

fn encoded(text: &str) -> String {
    percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC).to_string()
}
