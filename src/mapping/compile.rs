//! Compiles all templates of a job.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use minijinja::Environment;
use smol_str::SmolStr;
use xxhash_rust::xxh3::xxh3_128;

use super::check::unknown;
use super::engine::environment;
use super::error::Error;
use super::joining::LookupMapping;
use super::marks::Mark;
use super::options::{LookupOptions, OnBadValue, Options, PhotoCells, Vocabulary};
use super::outcome::place_of;
use super::reach::Reach;
use super::template::Compiled;
use crate::record::{Field, FieldKind, Target};
use crate::source::{ColumnRequirement, Columns, Match, Name, RequiredColumns, bare};

/// Changes whenever the same templates could have another result: filters, trimming, kinds.
const VERSION: &str = "mapping 1";

/// The column that refers to a photo.
const PHOTO: &str = "photo";

/// A job's templates, found to be right.
pub struct Mapping {
    pub(super) environment: Environment<'static>,
    pub(super) key: Compiled,
    pub(super) include: Option<Compiled>,
    pub(super) names_leavers: bool,
    pub(super) marks: Vec<(Mark, Compiled)>,
    /// With what a bad value of each concerns.
    pub(super) fields: Vec<(Field, Reach, Compiled)>,
    pub(super) on_bad_value: OnBadValue,
    /// What its fields' names begin with in the configuration.
    pub(super) prefix: &'static str,
    /// What makes the other half of its keys, where they are made of two.
    pub(super) joined: Option<Compiled>,
    /// The second sources that the templates name.
    pub(super) lookups: Vec<LookupMapping>,
    wanted: RequiredColumns,
    photos: Vec<Name>,
    pub(super) photo_cells: PhotoCells,
    digest: u128,
}

/// The templates of a mapping, compiled.
struct Templates<'a> {
    key: Compiled,
    joined: Option<Compiled>,
    include: Option<Compiled>,
    marks: Vec<(Mark, Compiled)>,
    fields: Vec<(Field, Reach, Compiled)>,
    lookups: Vec<(&'a LookupOptions, Compiled, Compiled)>,
}

/// What is wrong with a field that a target does not have.
fn unknown_field(target: Target, name: &str, place: &str) -> Error {
    let known: Vec<_> = target.fields().map(|field| field.name).collect();
    Error::whole(place, unknown("field", name, known.iter().map(SmolStr::as_str)))
}

/// What the source of a photo's column has there.
fn photo_cells(options: &Options, name: Option<&Name>) -> PhotoCells {
    match name.map(Name::joined) {
        Some(Some(joined)) => {
            let lookup = options.lookups.iter().find(|lookup| lookup.name == joined.lookup);
            lookup.map(|lookup| lookup.photos).unwrap_or_default()
        }
        Some(None) => options.photos,
        None => PhotoCells::Base64,
    }
}

/// What is wrong with the template of a photo. A reference to one means something as it is only.
fn strange_photo(template: &Compiled, options: &Options) -> Option<Error> {
    const REASON: &str = "photos of a tenant are fetched by what `photo` says; write it alone, without filters";
    let is_reference = |name: &Name| photo_cells(options, Some(name)) == PhotoCells::References;
    let is_called_so = |name: &Name| {
        let column = name.joined().map_or(name, |joined| &joined.column);
        bare(column.as_str()) == PHOTO
    };
    let is_fine = !template.names.iter().any(is_reference) || template.lone_column().is_some_and(is_called_so);
    (!is_fine).then(|| Error::whole(&template.place, REASON))
}

impl Mapping {
    /// Compiles every template; everything that is wrong comes at once.
    pub fn compile(options: &Options) -> Result<Self, Vec<Error>> {
        let tables = Arc::new(options.tables.clone());
        let mut environment = environment(Arc::clone(&tables), options.time_zone.clone());
        let mut faults = Vec::new();
        let words = Vocabulary { tables: &tables, lookups: &options.lookups };
        let mut compile = |place: &str, text: &str| {
            let compiled = Compiled::new(&mut environment, place, text, words);
            compiled.map_err(|found| faults.extend(found)).ok()
        };
        let key = compile("key", &options.key);
        let joined = options.joined.as_ref().map(|text| compile("org_key", text));
        let include = options.include.as_ref().map(|text| compile("include", text));
        let marks = Mark::ALL.into_iter().filter_map(|mark| Some((mark, mark.template(options)?)));
        let marks: Vec<_> = marks.filter_map(|(mark, text)| Some((mark, compile(mark.place(), text)?))).collect();
        let lookups: Vec<_> = options
            .lookups
            .iter()
            .filter_map(|lookup| {
                let on = compile(&format!("lookup.{}.on", lookup.name), &lookup.on);
                let key = compile(&format!("lookup.{}.key", lookup.name), &lookup.key);
                Some((lookup, on?, key?))
            })
            .collect();
        let mut strange = Vec::new();
        let mut fields = Vec::new();
        for (name, text) in &options.fields {
            let place = place_of(&format!("{}{name}", options.prefix));
            let compiled = compile(&place, text);
            match options.target.field(name) {
                Some(field) => {
                    if field.kind == FieldKind::Photo {
                        strange.extend(compiled.as_ref().and_then(|photo| strange_photo(photo, options)));
                    }
                    let reach = Reach::of(&field, options);
                    fields.extend(compiled.map(|compiled| (field, reach, compiled)));
                }
                None => strange.push(unknown_field(options.target, name, &place)),
            }
        }
        if options.key.trim().is_empty() {
            strange.push(Error::whole("key", "it is empty; it must give what identifies a row for ever"));
        }
        let who = key.iter().chain(joined.iter().flatten()).chain(include.iter().flatten());
        let who = who.chain(marks.iter().map(|it| &it.1)).chain(lookups.iter().flat_map(|(_, on, key)| [on, key]));
        strange.extend(who.filter(|template| template.lookups().next().is_some()).map(|template| {
            Error::whole(&template.place, "it names a lookup; who is there is decided by the job's own source alone")
        }));
        faults.extend(strange);
        match key {
            Some(key) if faults.is_empty() => {
                let (include, joined) = (include.flatten(), joined.flatten());
                Ok(Self::assembled(options, environment, Templates { key, joined, include, marks, fields, lookups }))
            }
            _ => Err(faults),
        }
    }

    /// The mapping of templates without a fault.
    fn assembled(options: &Options, environment: Environment<'static>, templates: Templates<'_>) -> Self {
        let Templates { key, joined, include, marks, fields, lookups } = templates;
        let who = std::iter::once(&key).chain(&joined).chain(&include);
        let all = who.chain(marks.iter().map(|it| &it.1)).chain(fields.iter().map(|it| &it.2));
        let named = |name: &str| {
            let names = fields.iter().flat_map(|(.., template)| &template.names).filter_map(Name::joined);
            names.filter(|joined| joined.lookup == name).cloned().collect::<BTreeSet<_>>()
        };
        let lookups =
            lookups.into_iter().map(|(lookup, on, key)| LookupMapping::new(lookup, on, key, named(&lookup.name)));
        let lookups: Vec<LookupMapping> = lookups.filter(LookupMapping::is_used).collect();
        let all = all.chain(lookups.iter().map(|lookup| &lookup.on));
        let photos = fields.iter().filter(|(field, ..)| field.kind == FieldKind::Photo);
        let photos: Vec<Name> = photos.flat_map(|(.., template)| template.names.iter().cloned()).collect();
        let keys = key.names.iter().cloned().collect();
        let own = photos.iter().filter(|name| name.joined().is_none()).cloned().collect();
        let wanted = RequiredColumns { photos: own, keys, ..wanted(options, all) };
        Self {
            environment,
            names_leavers: options.names_leavers,
            on_bad_value: options.on_bad_value,
            prefix: options.prefix,
            digest: digest(options),
            key,
            joined,
            include,
            marks,
            fields,
            lookups,
            wanted,
            photo_cells: photo_cells(options, photos.first()),
            photos,
        }
    }

    /// The digest of everything that decides the result of a row: target, templates, tables, time zone, optional
    /// columns, and this program's own rules. The segment is not among them: it changes no record.
    pub fn digest(&self) -> u128 {
        self.digest
    }

    /// The columns that the templates use.
    pub fn wanted(&self) -> &RequiredColumns {
        &self.wanted
    }

    /// The columns that hold photos, those of lookups among them.
    pub fn photos(&self) -> &[Name] {
        &self.photos
    }

    /// The column of references to photos, where there is one.
    pub fn photo_reference(&self) -> Option<&Name> {
        self.photos.first().filter(|_| self.photo_cells == PhotoCells::References)
    }

    /// The second sources that the templates name.
    pub fn lookups(&self) -> &[LookupMapping] {
        &self.lookups
    }

    /// Whether any template names this lookup.
    pub fn names_lookup(&self, name: &str) -> bool {
        self.lookups.iter().any(|lookup| lookup.name == name)
    }

    /// The fields whose templates name a lookup.
    pub fn fields_of_lookup(&self, lookup: &str) -> impl Iterator<Item = &Field> {
        self.fields
            .iter()
            .filter(move |(.., template)| template.lookups().any(|name| name == lookup))
            .map(|(field, ..)| field)
    }

    /// The mapped fields.
    pub fn fields(&self) -> impl Iterator<Item = &Field> {
        self.fields.iter().map(|(field, ..)| field)
    }

    /// By what a rejected row says is wrong with it, key or field: the heading of the column that it is made of, where that is
    /// one column alone.
    pub fn headings(&self, columns: &Columns) -> BTreeMap<String, String> {
        let key = std::iter::once(("key".to_owned(), &self.key));
        let joined = self.joined.iter().map(|template| ("org_key".to_owned(), template));
        let marks = self.marks.iter().map(|(mark, template)| (mark.place().to_owned(), template));
        let field = |field: &Field| format!("{}{}", self.prefix, field.name);
        let fields = self.fields.iter().map(|(one, _, template)| (field(one), template));
        let heading = |(name, template): (String, &Compiled)| {
            let mut names = template.names.iter();
            let (Some(only), None) = (names.next(), names.next()) else { return None };
            match columns.find(only) {
                Match::One(at) => Some((name, columns.names()[at].clone())),
                Match::Missing | Match::Several(_) => None,
            }
        };
        key.chain(joined).chain(marks).chain(fields).filter_map(heading).collect()
    }

    pub(super) fn templates(&self) -> impl Iterator<Item = &Compiled> {
        let marks = self.marks.iter().map(|(_, template)| template);
        let fields = self.fields.iter().map(|(.., template)| template);
        let on = self.lookups.iter().map(|lookup| &lookup.on);
        std::iter::once(&self.key).chain(&self.joined).chain(&self.include).chain(marks).chain(fields).chain(on)
    }

    pub(super) fn optional(&self, name: &Name) -> bool {
        self.wanted.needs.iter().any(|need| need.optional && need.name == *name)
    }
}

/// Shows the fields' names.
impl fmt::Debug for Mapping {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.fields().map(|field| field.name.as_str()).collect();
        f.debug_struct("Mapping").field("fields", &names).finish_non_exhaustive()
    }
}

fn wanted<'c>(options: &Options, templates: impl Iterator<Item = &'c Compiled>) -> RequiredColumns {
    let names = templates.flat_map(|template| &template.names);
    let mut names: Vec<&Name> = names.filter(|name| name.joined().is_none()).collect();
    names.sort();
    names.dedup();
    let need = |name: &Name| ColumnRequirement {
        name: name.clone(),
        optional: options.optional.iter().any(|column| name.means(column)),
    };
    RequiredColumns { needs: names.into_iter().map(need).collect(), ..RequiredColumns::default() }
}

/// Every part with its length before it, every list with its number of parts.
fn digest(options: &Options) -> u128 {
    let mut framed = Vec::new();
    let mut part = |text: &str| {
        framed.extend_from_slice(&(text.len() as u64).to_le_bytes());
        framed.extend_from_slice(text.as_bytes());
    };
    part(VERSION);
    part(options.target.name());
    // The filter `last_day` goes by it.
    part(options.time_zone.iana_name().unwrap_or_default());
    part(&options.key);
    part(if options.joined.is_some() { "joined" } else { "" });
    part(options.joined.as_deref().unwrap_or(""));
    part(if options.include.is_some() { "include" } else { "" });
    part(options.include.as_deref().unwrap_or(""));
    part(&options.fields.len().to_string());
    for (name, text) in &options.fields {
        part(name);
        part(text);
    }
    part(&options.tables.len().to_string());
    for (name, table) in &options.tables {
        part(name);
        part(&table.len().to_string());
        for (from, to) in table {
            part(from);
            part(to);
        }
    }
    for mark in Mark::ALL.into_iter().filter(|mark| *mark != Mark::Segment) {
        if let Some(text) = mark.template(options) {
            part(mark.place());
            part(text);
        }
    }
    for lookup in &options.lookups {
        part(&lookup.name);
        part(&lookup.on);
        part(&lookup.key);
        lookup.optional.iter().for_each(|column| part(column));
    }
    let mut optional = options.optional.clone();
    optional.sort();
    optional.iter().for_each(|column| part(column));
    xxh3_128(&framed)
}
