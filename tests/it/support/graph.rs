//! A stand-in of Microsoft Graph and of the place that issues its tokens, written from their documentation. It refuses what
//! the service refuses: `$count` and casts without `ConsistencyLevel: eventual`, `$expand` in such advanced queries or with a
//! `$select` of its own, pages of more than 999 users, and properties that it does not know.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use reqwest::Url;
use ring::digest::{SHA256, digest};
use ring::signature::{RSA_PSS_2048_8192_SHA256, UnparsedPublicKey};
use rosterd::clock::Clock;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use serde_json::{Value, json};

use super::authority;
use super::web::{Arrived, Part, Web, answer};

/// The secret of the app.
pub(crate) const SECRET: &str = "hunter2";
/// The tenant, the app.
pub(crate) const TENANT: &str = "example.onmicrosoft.com";
pub(crate) const CLIENT: &str = "00000000-aaaa-bbbb-cccc-000000000000";

/// Properties of a user that can be selected.
const PROPERTIES: [&str; 13] = [
    "id",
    "displayName",
    "givenName",
    "surname",
    "mail",
    "userPrincipalName",
    "jobTitle",
    "mobilePhone",
    "officeLocation",
    "employeeId",
    "accountEnabled",
    "userType",
    "onPremisesExtensionAttributes",
];
/// The most users of a page, and with their managers.
const TOP_MAX: usize = 999;
const EXPANDED_MAX: usize = 100;
/// The most requests in a batch.
const BATCH_MAX: usize = 20;

/// What an answer is made into; gets the number of requests for lists that came before, the request, and the right answer.
type Script = Arc<dyn Fn(usize, &Arrived, Value) -> Vec<Part> + Send + Sync>;

type Answering = Box<dyn Fn(&Arrived, usize) -> Vec<Part> + Send + Sync>;

/// What the tenant holds.
pub(crate) struct Tenant {
    /// Users with all their properties; `manager` is an id.
    pub(crate) users: Vec<Value>,
    /// Id, display name, and ids of members, which are users or groups.
    pub(crate) groups: Vec<(String, String, Vec<String>)>,
    /// By id of a user: the version of the photo, and its bytes.
    pub(crate) photos: BTreeMap<String, (String, Vec<u8>)>,
    /// By id of a user: what is answered to a question for the photo, and how often.
    pub(crate) no_photo_now: BTreeMap<String, (u16, usize)>,
    /// Ids of users whose photos fail when they are fetched.
    pub(crate) no_bytes: BTreeSet<String>,
    /// The most users of a page, whatever is asked for.
    pub(crate) page: usize,
    /// The tenant's name, as tokens are asked for.
    pub(crate) name: String,
    /// The certificate that the app has: its digest, and its public key.
    certificate: Option<(String, Vec<u8>)>,
    scheme: &'static str,
    script: Script,
    /// What is answered to the next requests for a token, the last one first: status, and lines of headers.
    pub(crate) no_token_now: Vec<(u16, &'static str)>,
    lists: usize,
    tokens: usize,
}

/// The service.
pub(crate) struct Graph {
    web: Web,
    tenant: Arc<Mutex<Tenant>>,
}

/// The id of the user of that number.
pub(crate) fn id(number: usize) -> String {
    format!("00000000-0000-0000-0000-{number:012}")
}

/// The user of that number.
pub(crate) fn user(number: usize) -> Value {
    json!({
        "id": id(number), "displayName": format!("Person {number}"), "mail": format!("person{number}@example.com"),
        "userPrincipalName": format!("person{number}@example.com"), "jobTitle": "Clerk",
        "employeeId": format!("P{number:05}"), "accountEnabled": true, "userType": "Member", "mobilePhone": null,
        "onPremisesExtensionAttributes": { "extensionAttribute1": format!("Locker {number}"), "extensionAttribute2": null },
        "manager": null,
    })
}

/// An answer in JSON.
pub(crate) fn json_answer(status: u16, lines: &str, value: &Value) -> Vec<Part> {
    answer(status, "application/json", lines, value.to_string().as_bytes())
}

/// A refusal as Graph words it; its message quotes what is not to be shown.
pub(crate) fn refusal(status: u16, code: &str) -> Vec<Part> {
    json_answer(status, "", &json!({ "error": { "code": code, "message": "s3cret of person1@example.com" } }))
}

impl Graph {
    /// A tenant with these users, ten on a page.
    pub(crate) fn start(numbers: std::ops::Range<usize>) -> Self {
        Self::of("http", numbers, Web::start)
    }

    /// The same over TLS with the certificate of a folder; also as a proxy behind which it is any server.
    pub(crate) fn secured(numbers: std::ops::Range<usize>, dir: &Path) -> Self {
        let tls = authority::server(dir);
        Self::of("https", numbers, |script| Web::secured(tls, script))
    }

    fn of(scheme: &'static str, numbers: std::ops::Range<usize>, start: impl FnOnce(Answering) -> Web) -> Self {
        let tenant = Arc::new(Mutex::new(Tenant {
            users: numbers.map(user).collect(),
            groups: Vec::new(),
            photos: BTreeMap::new(),
            no_photo_now: BTreeMap::new(),
            no_bytes: BTreeSet::new(),
            page: 10,
            name: TENANT.into(),
            scheme,
            certificate: None,
            script: Arc::new(|_, _, page| json_answer(200, "", &page)),
            lists: 0,
            no_token_now: Vec::new(),
            tokens: 0,
        }));
        let own = Arc::clone(&tenant);
        let web = start(Box::new(move |arrived, _| own.lock().unwrap().answer(arrived)));
        Self { web, tenant }
    }

    /// Changes what the tenant holds.
    pub(crate) fn change(&self, change: impl FnOnce(&mut Tenant)) {
        change(&mut self.tenant.lock().unwrap());
    }

    /// Answers requests for lists so from now on, and counts them from zero.
    pub(crate) fn say(&self, script: impl Fn(usize, &Arrived, Value) -> Vec<Part> + Send + Sync + 'static) {
        let mut tenant = self.tenant.lock().unwrap();
        (tenant.script, tenant.lists) = (Arc::new(script), 0);
    }

    /// Answers rightly again.
    pub(crate) fn recover(&self) {
        self.say(|_, _, page| json_answer(200, "", &page));
    }

    /// How many requests for lists came since the last change of what is said.
    pub(crate) fn lists(&self) -> usize {
        self.tenant.lock().unwrap().lists
    }

    /// All requests.
    pub(crate) fn arrived(&self) -> Vec<Arrived> {
        self.web.arrived()
    }

    /// Lines of `[job.source]` that name the tenant, without a credential.
    pub(crate) fn source(&self) -> String {
        self.source_at(&self.web.url(""))
    }

    /// The same under another address, by way of the proxy that this is.
    pub(crate) fn source_behind_proxy(&self, login: &str) -> String {
        self.source_at(login) + &self.web.as_proxy()
    }

    fn source_at(&self, login: &str) -> String {
        let graph = format!("{login}/v1.0");
        format!(
            "type = \"entra\"\ntenant = \"{TENANT}\"\nclient_id = \"{CLIENT}\"\ngraph_url = \"{graph}\"\nlogin_url = \"{login}\"\n"
        )
    }

    /// Makes `app.pem` and `app.key` in a folder, and tells the tenant of them.
    pub(crate) fn register_certificate(&self, dir: &Path) {
        let openssl = |arguments: &[&str]| {
            let made = Command::new("openssl").args(arguments).current_dir(dir).output().unwrap();
            assert!(made.status.success(), "{made:?}");
        };
        let made = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "30", "-subj", "/CN=rosterd"];
        openssl(&[&made[..], &["-keyout", "app.key", "-out", "app.pem"]].concat());
        openssl(&["rsa", "-in", "app.key", "-RSAPublicKey_out", "-outform", "DER", "-out", "app.der"]);
        let certificate = CertificateDer::from_pem_file(dir.join("app.pem")).unwrap();
        let print = URL_SAFE_NO_PAD.encode(digest(&SHA256, &certificate));
        let key = std::fs::read(dir.join("app.der")).unwrap();
        self.change(|tenant| tenant.certificate = Some((print, key)));
    }
}

impl Tenant {
    fn answer(&mut self, arrived: &Arrived) -> Vec<Part> {
        let host = arrived.header("host").unwrap_or_default();
        let (method, target) = arrived.line.split_once(' ').unwrap();
        let url = Url::parse(&format!("{}://{host}{target}", self.scheme)).unwrap();
        let is_batch = url.path() == "/v1.0/$batch";
        if method == "POST" && !is_batch {
            return self.token(&url, arrived);
        }
        let expected = format!("Bearer t0ken-{}", self.tokens);
        if arrived.header("authorization") != Some(&expected) {
            return refusal(401, "InvalidAuthenticationToken");
        }
        if let Some(user) = url.path().strip_prefix("/v1.0/users/").and_then(|rest| rest.strip_suffix("/photo/$value"))
        {
            return match self.photos.get(user) {
                _ if self.no_bytes.contains(user) => refusal(500, "InternalServerError"),
                Some((_, bytes)) => answer(200, "image/jpeg", "", bytes),
                None => refusal(404, "ImageNotFound"),
            };
        }
        if is_batch {
            self.lists += 1;
            let answers = self.batch(&serde_json::from_str(&arrived.body).unwrap());
            return (self.script)(self.lists - 1, arrived, answers);
        }
        match self.list(&url, arrived.header("consistencylevel") == Some("eventual")) {
            Ok(page) => {
                self.lists += 1;
                (self.script)(self.lists - 1, arrived, page)
            }
            Err((status, code)) => refusal(status, code),
        }
    }

    /// Answers to questions for photos, in the order of their numbers as text.
    fn batch(&mut self, batch: &Value) -> Value {
        let requests = batch["requests"].as_array().unwrap();
        assert!(requests.len() <= BATCH_MAX, "the service refuses longer batches");
        let mut answers: Vec<Value> = requests.iter().map(|request| self.part(request)).collect();
        answers.sort_by_key(|answer| answer["id"].to_string());
        json!({ "responses": answers })
    }

    fn part(&mut self, request: &Value) -> Value {
        assert_eq!(request["method"], "GET");
        let url = request["url"].as_str().unwrap();
        let user = url.strip_prefix("/users/").and_then(|rest| rest.strip_suffix("/photo")).unwrap();
        let refused = self.no_photo_now.get_mut(user).filter(|(_, times)| *times > 0).map(|(status, times)| {
            *times -= 1;
            *status
        });
        let error = |code: &str| json!({ "error": { "code": code, "message": "s3cret of person1@example.com" } });
        let (status, headers, body) = match (refused, self.photos.get(user)) {
            (Some(429), _) => (429, json!({ "Retry-After": "3600" }), error("TooManyRequests")),
            (Some(status), _) => (status, json!({ "Retry-After": "0" }), error("Refused")),
            (None, None) => (404, json!({}), error("ImageNotFound")),
            (None, Some((version, _))) => {
                let photo =
                    json!({ "@odata.mediaEtag": version, "@odata.mediaContentType": "image/jpeg", "id": "48X48" });
                (200, json!({}), photo)
            }
        };
        json!({ "id": request["id"], "status": status, "headers": headers, "body": body })
    }

    fn token(&mut self, url: &Url, arrived: &Arrived) -> Vec<Part> {
        let form = Url::parse(&format!("http://form/?{}", arrived.body)).unwrap();
        let field = |name: &str| form.query_pairs().find(|(key, _)| key == name).map(|(_, value)| value.into_owned());
        let refused = |number: u64| {
            let body = json!({ "error": "invalid_client", "error_codes": [number], "error_description": arrived.body });
            json_answer(401, "", &body)
        };
        if url.path() != format!("/{}/oauth2/v2.0/token", self.name) {
            return refused(90_002);
        }
        let scope = format!("{}/.default", url.origin().ascii_serialization());
        if field("grant_type").as_deref() != Some("client_credentials") || field("scope") != Some(scope) {
            return refused(70_011);
        }
        if field("client_id").as_deref() != Some(CLIENT) {
            return refused(700_016);
        }
        let is_proven = match field("client_assertion") {
            None => field("client_secret").as_deref() == Some(SECRET),
            Some(assertion) => self.is_signed(&assertion, url.as_str()),
        };
        if let Some((status, lines)) = self.no_token_now.pop() {
            return json_answer(status, lines, &json!({ "error": "temporarily_unavailable" }));
        }
        match is_proven {
            true => {
                self.tokens += 1;
                let token = format!("t0ken-{}", self.tokens);
                json_answer(200, "", &json!({ "access_token": token, "token_type": "Bearer", "expires_in": 3599 }))
            }
            false if field("client_assertion").is_some() => refused(700_027),
            false => refused(7_000_215),
        }
    }

    /// Whether the app's certificate signed an assertion for this address, now.
    fn is_signed(&self, assertion: &str, audience: &str) -> bool {
        let Some((print, key)) = &self.certificate else { return false };
        let (text, signature) = assertion.rsplit_once('.').unwrap();
        let (head, claims) = text.split_once('.').unwrap();
        let decoded = |part: &str| URL_SAFE_NO_PAD.decode(part).unwrap();
        let head: Value = serde_json::from_slice(&decoded(head)).unwrap();
        let claims: Value = serde_json::from_slice(&decoded(claims)).unwrap();
        let now = Clock::system().now().as_second();
        let (begin, end) = (claims["nbf"].as_i64().unwrap(), claims["exp"].as_i64().unwrap());
        let public = UnparsedPublicKey::new(&RSA_PSS_2048_8192_SHA256, key);
        head["alg"] == "PS256"
            && head["x5t#S256"] == print.as_str()
            && claims["aud"] == audience
            && claims["iss"] == CLIENT
            && claims["sub"] == CLIENT
            && claims["jti"].as_str().is_some_and(|id| !id.is_empty())
            && begin <= now
            && now < end
            && end - begin <= 600
            && public.verify(text.as_bytes(), &decoded(signature)).is_ok()
    }

    /// A page of what is asked for, or status and code of a refusal.
    fn list(&self, url: &Url, is_eventual: bool) -> Result<Value, (u16, &'static str)> {
        const REFUSED: (u16, &str) = (400, "Request_UnsupportedQuery");
        let parameter =
            |name: &str| url.query_pairs().find(|(key, _)| key == name).map(|(_, value)| value.into_owned());
        let parts: Vec<&str> = url.path().trim_start_matches("/v1.0/").split('/').collect();
        let is_counted = parameter("$count").as_deref() == Some("true");
        let (found, has_cast): (Vec<&Value>, bool) = match parts.as_slice() {
            ["users"] => (self.users.iter().collect(), false),
            ["groups"] => return self.group(&parameter("$filter").unwrap_or_default()),
            ["groups", id, "transitiveMembers", "microsoft.graph.user"] => (self.members(id)?, true),
            _ => return Err((404, "Request_ResourceNotFound")),
        };
        let expand = parameter("$expand");
        let is_advanced = is_eventual || is_counted || has_cast;
        if is_advanced && (!(is_eventual && is_counted) || expand.is_some()) {
            return Err(REFUSED);
        }
        if expand.as_deref().is_some_and(|expand| expand != "manager") {
            return Err(REFUSED);
        }
        let found: Vec<&Value> = match parameter("$filter").as_deref() {
            None => found,
            Some("accountEnabled eq true") => found.into_iter().filter(|user| user["accountEnabled"] == true).collect(),
            Some(_) => return Err(REFUSED),
        };
        let top: usize = parameter("$top").unwrap_or("100".into()).parse().unwrap();
        if top > TOP_MAX {
            return Err((400, "Request_BadRequest"));
        }
        let top = top.min(self.page).min(if expand.is_some() { EXPANDED_MAX } else { TOP_MAX });
        let select = parameter("$select").unwrap_or_default();
        let selected: Vec<&str> = select.split(',').collect();
        if selected.iter().any(|name| !PROPERTIES.contains(name)) {
            return Err((400, "BadRequest"));
        }
        let from: usize = parameter("$skiptoken").map_or(0, |token| token.parse().unwrap());
        let shown = found.iter().skip(from).take(top).map(|user| self.shown(user, &selected, expand.is_some()));
        let mut page = json!({ "value": shown.collect::<Vec<_>>() });
        if is_counted && from == 0 {
            page["@odata.count"] = json!(found.len());
        }
        if from + top < found.len() {
            let mut next = url.clone();
            let kept: Vec<(String, String)> =
                url.query_pairs().into_owned().filter(|(name, _)| name != "$skiptoken").collect();
            next.query_pairs_mut().clear().extend_pairs(kept).append_pair("$skiptoken", &(from + top).to_string());
            page["@odata.nextLink"] = json!(next.as_str());
        }
        Ok(page)
    }

    fn shown(&self, user: &Value, selected: &[&str], has_manager: bool) -> Value {
        let mut shown = json!({});
        for name in selected {
            shown[*name] = user[*name].clone();
        }
        let manager = self.users.iter().find(|other| has_manager && other["id"] == user["manager"]);
        if let Some(manager) = manager {
            shown["manager"] = json!({
                "@odata.type": "#microsoft.graph.user", "id": manager["id"], "displayName": manager["displayName"],
                "mail": manager["mail"], "userPrincipalName": manager["userPrincipalName"],
            });
        }
        shown
    }

    fn group(&self, filter: &str) -> Result<Value, (u16, &'static str)> {
        let name = filter.strip_prefix("displayName eq '").and_then(|rest| rest.strip_suffix('\''));
        let name = name.ok_or((400, "Request_UnsupportedQuery"))?.replace("''", "'");
        let fit = self.groups.iter().filter(|(_, own, _)| own.eq_ignore_ascii_case(&name));
        Ok(json!({ "value": fit.map(|(id, ..)| json!({ "id": id })).collect::<Vec<_>>() }))
    }

    /// The users in a group and in the groups below it, each once.
    fn members(&self, id: &str) -> Result<Vec<&Value>, (u16, &'static str)> {
        let (mut seen, mut todo) = (BTreeSet::new(), vec![id.to_owned()]);
        if !self.groups.iter().any(|(own, ..)| own == id) {
            return Err((404, "Request_ResourceNotFound"));
        }
        while let Some(id) = todo.pop() {
            if seen.insert(id.clone()) {
                let below = self.groups.iter().filter(|(own, ..)| *own == id).flat_map(|(.., members)| members.clone());
                todo.extend(below);
            }
        }
        Ok(self.users.iter().filter(|user| user["id"].as_str().is_some_and(|id| seen.contains(id))).collect())
    }
}
