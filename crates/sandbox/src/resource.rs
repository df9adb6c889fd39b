//! How a resource is described: its fields, what they hold, and what they are called on the way in and out.

/// One kind of entity.
#[derive(Debug)]
pub(crate) struct Resource {
    /// Its name, such as `staff`; also that of its collection in the store.
    pub(crate) name: &'static str,
    /// Its fields in the order of answers.
    pub(crate) fields: &'static [Field],
    /// The field that holds the id of the entity it belongs to, and the resource of that one.
    pub(crate) parent: Option<(&'static str, &'static str)>,
    /// Groups of fields of which no two entities may have the same values; case and outer spaces don't matter.
    pub(crate) unique: &'static [&'static [&'static str]],
    /// Fields without which nothing is created or replaced.
    pub(crate) required: &'static [&'static str],
    /// The values of a new entity for fields that were not sent.
    pub(crate) defaults: &'static [(&'static str, &'static str)],
    /// What must hold beyond single fields.
    pub(crate) rules: &'static [Rule],
    /// The most entities in a list (specification, Limits), where it has one of its own.
    pub(crate) list_max: Option<u32>,
    /// Whether a body of nothing but an id and custom fields changes these only.
    pub(crate) is_partial_by_custom: bool,
    /// The first id.
    pub(crate) first_id: i64,
}

/// What most resources have in common; the others say what differs.
pub(crate) const PLAIN: Resource = Resource {
    name: "",
    fields: &[],
    parent: None,
    unique: &[],
    required: &[],
    defaults: &[],
    rules: &[],
    list_max: None,
    is_partial_by_custom: false,
    first_id: 1,
};

/// One field of a resource.
#[derive(Debug)]
pub(crate) struct Field {
    /// Its name in answers, filters and `order`.
    pub(crate) name: &'static str,
    /// Its names in what is sent to the service; none for what the service alone decides. The first one that is sent
    /// counts.
    pub(crate) inputs: &'static [&'static str],
    /// When it can be sent.
    pub(crate) sent: Sent,
    /// When it is in answers.
    pub(crate) shown: Visibility,
    /// What it holds.
    pub(crate) kind: FieldKind,
}

/// When a field can be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sent {
    Always,
    OnCreate,
    OnUpdate,
}

/// When a field is in answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Visibility {
    Always,
    /// Empty in lists.
    Whole,
    /// Where [`super::Options::show_roaming`] says so.
    Roaming,
    /// Never: the service keeps it for itself.
    Never,
}

/// What a field holds; decides how it is read, written, compared and rewritten.
#[derive(Clone, Copy, Debug)]
pub(crate) enum FieldKind {
    /// The entity's id.
    Id,
    /// When it was made.
    Created,
    /// The same, without an offset (specification, Conventions).
    LocalCreated,
    /// When it last changed.
    Modified,
    /// Another time.
    Timestamp,
    /// Another time, without an offset (specification, Conventions).
    LocalTime,
    /// A day, the same in every zone.
    Date,
    /// A whole number.
    Integer,
    /// A number.
    Decimal,
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
    /// Text that may be sent as a number, or as true or false.
    Loose,
    /// One of a few words, or nothing.
    Choice(&'static [&'static str]),
    /// The name of an entity of that resource.
    NameOf(&'static str),
    /// The id of an entity of that resource; 0 means none.
    IdOf(&'static str),
    /// Ids of entities of that resource; with names in answers.
    IdsOf(&'static str),
    /// The id of an access point of a location.
    AccessPoint,
    /// Locations with the days from and until which they count; with names in answers. Where there are none, those of
    /// the organization in that field count.
    Places(Option<&'static str>),
    /// A flag, 1 or 0.
    Flag,
    /// True or false.
    Bool,
    /// Whether there is one; it is sent as a number of minutes.
    Minutes,
    /// Names, written as a list of lists.
    NestedNames,
    /// Custom fields, described by the elements of that resource where the service lists them.
    Custom(Option<&'static str>),
    /// Tokens with their type, number, issued and expiry.
    Tokens,
    /// A list that the service alone fills; the named members of its objects are times.
    List(&'static [&'static str]),
    /// What the service alone fills, whatever its form.
    Any,
    /// A list of objects with fields of their own, which the service numbers.
    Parts(&'static [Field]),
    /// What follows from other fields or entities. What is sent in it shows where nothing follows.
    Derived(Derived),
}

/// What a field shows that follows from elsewhere.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Derived {
    /// A field of the entity that another field refers to: (that field, its resource); the first one that leads
    /// somewhere counts.
    Of(&'static [(&'static str, &'static str)], &'static str),
    /// A field of the employee or contractor member in `record_id`, as `record_type` says.
    OfRecord(&'static str),
    /// How many entities of that resource have this entity's id, or its name, in that field.
    Count(&'static str, &'static str),
    /// The name of the access point whose id is in that field.
    AccessPointName(&'static str),
    /// These texts together.
    Joined(&'static [&'static str]),
    /// How long a visit lasted, or lasts, in words.
    Duration,
    /// The members of an organization.
    Members,
    /// The organizations of a contractor member.
    Organizations,
    /// The name of the first organization of the contractor member in that field, or of the employee's location.
    LearnerFrom,
    /// Whether a membership counts at the same locations as its organization.
    SameAsOrganization,
}

impl Resource {
    /// The position of a field by its name in answers.
    pub(crate) fn position(&self, name: &str) -> Option<usize> {
        self.fields.iter().position(|field| field.name == name)
    }

    /// The position of a field that the tables name.
    pub(crate) fn at(&self, name: &str) -> usize {
        self.position(name).expect("a test checks that tables name only fields that exist")
    }
}

impl Field {
    /// A field that the service alone decides.
    pub(crate) const fn own(name: &'static str, kind: FieldKind) -> Self {
        Self::sent_as(name, &[], kind)
    }

    /// A field that is sent to the service under other names.
    pub(crate) const fn sent_as(name: &'static str, inputs: &'static [&'static str], kind: FieldKind) -> Self {
        Self { name, inputs, sent: Sent::Always, shown: Visibility::Always, kind }
    }

    /// The same, sent at that time only.
    pub(crate) const fn sent_only(self, sent: Sent) -> Self {
        Self { sent, ..self }
    }

    /// The same, in those answers only.
    pub(crate) const fn shown(self, shown: Visibility) -> Self {
        Self { shown, ..self }
    }

    /// Whether it can be sent.
    pub(crate) fn is_input(&self) -> bool {
        !self.inputs.is_empty()
    }
}

/// One rule of a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    /// An induction is taken by an employee or a contractor member of its audience, and by one of them only.
    Learner,
    /// A certification is held by an employee or a contractor member who exists.
    Record,
    /// A group goes only when no organization is in it.
    Unattached,
}
