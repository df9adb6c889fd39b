//! How a resource is described: its fields, what they hold, and what they are called on the way in and out.

/// One kind of entity.
#[derive(Debug)]
pub(super) struct Resource {
    /// Its name, such as `staff`; also that of its collection in the store.
    pub(super) name: &'static str,
    /// Its fields in the order of answers.
    pub(super) fields: &'static [Field],
    /// Fields of which no two entities may have the same value; case and outer spaces don't matter.
    pub(super) unique: &'static [&'static str],
    /// Fields without which nothing is created.
    pub(super) required: &'static [&'static str],
    /// What a new entity holds in fields that nobody sent.
    pub(super) defaults: &'static [(&'static str, &'static str)],
    /// The first id.
    pub(super) first_id: i64,
}

/// One field of a resource.
#[derive(Debug)]
pub(super) struct Field {
    /// Its name in answers, filters and `order`.
    pub(super) name: &'static str,
    /// Its names in what is sent to the service; none for what the service alone decides. The first one that is sent
    /// counts.
    pub(super) inputs: &'static [&'static str],
    /// What it holds.
    pub(super) kind: Kind,
}

/// What a field holds; decides how it is read, written, compared and rewritten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// The entity's id.
    Id,
    /// When it was made.
    Created,
    /// When it last changed.
    Modified,
    /// Another time.
    Timestamp,
    /// A number.
    Integer,
    /// Text.
    Text,
    /// A person's name: a prefix is looked for in first and last name.
    Name,
    /// An email address.
    Email,
    /// A phone number.
    Phone,
    /// Text that may be sent as an integer.
    Number,
    /// One of a few words, or nothing.
    Choice(&'static [&'static str]),
    /// The name of an entity of that resource.
    NameOf(&'static str),
    /// A flag, 1 or 0.
    Flag,
    /// True or false, decided by the service.
    Bool,
    /// Names, written as a list of lists.
    NestedNames,
    /// Ids of entities of that resource; in answers only where [`super::Options::show_roaming`] says so, with names.
    IdsOf(&'static str),
    /// Custom fields, described by the elements of that resource.
    Custom(&'static str),
    /// Tokens with their type, number, issued and expiry.
    Tokens,
    /// A list that the service alone fills.
    List,
    /// How many entities of that resource have this entity's name in that field.
    CountOf(&'static str, &'static str),
}

impl Resource {
    /// The position of a field by its name in answers.
    pub(super) fn position(&self, name: &str) -> Option<usize> {
        self.fields.iter().position(|field| field.name == name)
    }

    /// The positions of the fields in `unique`.
    pub(super) fn unique_positions(&self) -> impl Iterator<Item = usize> {
        self.unique.iter().filter_map(|name| self.position(name))
    }
}

impl Field {
    /// A field that the service alone decides.
    pub(super) const fn own(name: &'static str, kind: Kind) -> Self {
        Self { name, inputs: &[], kind }
    }

    /// A field that is sent to the service under other names.
    pub(super) const fn sent_as(name: &'static str, inputs: &'static [&'static str], kind: Kind) -> Self {
        Self { name, inputs, kind }
    }

    /// Whether it can be sent.
    pub(super) fn is_input(&self) -> bool {
        !self.inputs.is_empty()
    }
}
