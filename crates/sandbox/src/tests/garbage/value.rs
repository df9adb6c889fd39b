//! Values that are nearly right, or nothing of the kind.

use serde_json::Value;

use super::super::super::chance;
use super::super::super::tables::RESOURCES;
use super::World;

/// Texts that readers stumble over.
const AWKWARD: &[&str] = &[
    "",
    " ",
    "0",
    "-1",
    "1",
    "1.5",
    "+7",
    "1e9",
    "NaN",
    "true",
    "null",
    "2147483648",
    "9223372036854775808",
    "99999999999999999999999999",
    "-0",
    "é",
    "名",
    "😀",
    "\u{0}",
    "\u{7f}",
    "\u{FFFE}",
    "\u{202E}x",
    "a\r\nb: c",
    "'",
    "\"",
    "\\",
    "..",
    "../..",
    "/",
    "//",
    "%",
    "%%",
    "%zz",
    "&",
    "<",
    ">",
    "]]>",
    ":",
    ",",
    ";",
    "~",
    "=",
    "[]",
    "{}",
    "onsite",
    "offsite",
    "2026-02-30",
    "2026-02-28",
    "9999-12-31",
    "-009999-01-01",
    "2026-02-28T25:61:61",
    "2026-02-28T23:59:59",
    "2026-02-28T23:59:59+99:99",
    "9999-12-30T22:00:00Z",
    "Pacific/Auckland",
    "UTC",
    "ana@example.com",
    "+64 (0)",
    "00000000000",
    "staff",
    "sp",
    "add",
    "__proto__",
    "_x0000_",
];

/// Pieces of filters.
const FILTERS: &[&str] = &[
    "id",
    ">",
    "<",
    ":",
    "~",
    "%",
    ",",
    "name",
    "created",
    "token",
    "cf",
    "customfields",
    "modified",
    "tokens",
    "7",
    "x",
    " ",
    "''",
    "2026-01-01",
    "%%%%%%%%%%%%a",
    "onsite_status",
    "location_id",
    "-",
    "1e308",
    "\u{0}",
];

/// Chance that is the same in every run.
pub(super) struct Dice {
    seed: u64,
    thrown: u64,
}

impl Dice {
    pub(super) fn new(seed: u64) -> Self {
        Self { seed, thrown: 0 }
    }

    pub(super) fn below(&mut self, limit: usize) -> usize {
        self.thrown += 1;
        usize::try_from(chance::bits(self.seed, self.thrown) % limit as u64).unwrap()
    }

    pub(super) fn one_in(&mut self, number: usize) -> bool {
        self.below(number) == 0
    }

    pub(super) fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())]
    }

    pub(super) fn byte(&mut self) -> u8 {
        u8::try_from(self.below(256)).unwrap()
    }

    pub(super) fn bytes(&mut self, most: usize) -> Vec<u8> {
        (0..self.below(most)).map(|_| self.byte()).collect()
    }

    /// A text that is awkward, long or arbitrary.
    pub(super) fn text(&mut self) -> String {
        match self.below(12) {
            0 => self.pick(AWKWARD).repeat(2000),
            1 => String::from_utf8_lossy(&self.bytes(40)).into_owned(),
            _ => self.pick(AWKWARD).to_owned(),
        }
    }

    /// The same without what would end a line of the head.
    pub(super) fn line(&mut self) -> String {
        self.text().replace(['\0', '\r', '\n'], "")
    }

    pub(super) fn filter(&mut self) -> String {
        (0..self.below(8)).map(|_| self.pick(FILTERS)).collect()
    }

    /// Any value.
    pub(super) fn value(&mut self, depth: usize, world: &World) -> Value {
        match self.below(if depth == 0 { 8 } else { 10 }) {
            0 => Value::Null,
            1 => self.one_in(2).into(),
            2 => self.pick(&world.ids).into(),
            3 => self.pick(&[0, 1, -1, i64::MAX, i64::MIN, 1 << 31, 1 << 53]).into(),
            4 => self.pick(&[0.5, -0.0, 1e300, 1e-300]).into(),
            5 => self.pick(&world.ids).to_string().into(),
            6 | 7 => self.text().into(),
            8 => (0..self.below(4)).map(|_| self.value(depth - 1, world)).collect::<Vec<_>>().into(),
            _ => self.object(depth - 1, world),
        }
    }

    /// An object whose keys are names of fields, most often.
    pub(super) fn object(&mut self, depth: usize, world: &World) -> Value {
        let members = (0..self.below(8)).map(|_| {
            let fields = self.pick(RESOURCES).fields;
            let field = &fields[self.below(fields.len())];
            let key = match self.below(8) {
                0 => self.text(),
                1 => self.pick(&["3", "31", "id", "groups", "function", "cf", "customfields", "item"]).to_owned(),
                _ => (*field.inputs.first().unwrap_or(&field.name)).to_owned(),
            };
            (key, self.value(depth, world))
        });
        Value::Object(members.collect())
    }

    /// A value that fits a schema, most often: what is nearly right comes further than what is all wrong.
    pub(super) fn fitting(&mut self, schema: &Value, world: &World) -> Value {
        if self.one_in(60) {
            return self.value(2, world);
        }
        if let Some(way) = schema["$ref"].as_str() {
            return self.fitting(world.description.pointer(way.trim_start_matches('#')).unwrap(), world);
        }
        if let Some(choices) = schema["anyOf"].as_array() {
            let choice = self.below(choices.len());
            return self.fitting(&choices[choice], world);
        }
        if let Some(choices) = schema["examples"].as_array().or(schema["enum"].as_array()) {
            return choices[self.below(choices.len())].clone();
        }
        let types = &schema["type"];
        match types.as_str().or_else(|| types[0].as_str()).unwrap_or_default() {
            "array" => (0..self.below(3)).map(|_| self.fitting(&schema["items"], world)).collect::<Vec<_>>().into(),
            "object" => {
                let is_needed = |name: &str| {
                    schema["required"].as_array().is_some_and(|names| names.iter().any(|needed| needed == name))
                };
                let mut object = serde_json::Map::new();
                for (name, schema) in schema["properties"].as_object().into_iter().flatten() {
                    // What only answers have says nothing about itself.
                    let is_known = schema.as_object().is_some_and(|schema| !schema.is_empty());
                    if is_needed(name) || is_known && self.one_in(2) || self.one_in(30) {
                        object.insert(name.clone(), self.fitting(schema, world));
                    }
                }
                Value::Object(object)
            }
            "integer" => self.pick(&world.ids).into(),
            "string" if schema["format"] == "date" => "2026-02-28".into(),
            "string" if schema["format"] == "date-time" => "2026-02-28T23:59:59+13:00".into(),
            "string" if schema["pattern"] == "^$|@" => format!("{}@example.com", self.below(1000)).into(),
            "string" => self.pick(&["Ana", "Auckland Office", "x", "\u{1}é]]>"]).into(),
            _ => self.value(1, world),
        }
    }
}
