//! Tables of fields become types: what is read, what is sent, and the way from the one to the other.

/// A type that answers carry, from the table of its fields: `shown` are read only, `both` are sent under the same name,
/// `renamed` under another or in another form, `hidden` can be sent and are in no answer. What stands behind `=>` is
/// the input of a replacing PUT.
macro_rules! entity {
    ($(#[$about:meta])* $name:ident
        shown { $($shown:ident: $shown_type:ty),* $(,)? }
        $(=> $(#[$input_about:meta])* $input:ident $(if $check:ident)?
            both { $($both:ident: $both_type:ty),* $(,)? }
            $(renamed { $($field:ident: $type:ty => $sent:ident as $form:path),* $(,)? })?
            $(hidden { $($hidden:ident: $hidden_type:ty),* $(,)? })?
        )?
    ) => {
        wire! {
            $(#[$about])* $name { id }
            $($shown: $shown_type,)* $($($both: $both_type,)* $($($field / $sent: $type,)*)?)?
        }

        $(
            input! {
                $(#[$input_about])* $input {
                    $($both: $both_type as $crate::wire::sent::plain,)*
                    $($($sent: $type as $form,)*)?
                    $($($hidden: $hidden_type as $crate::wire::sent::plain,)*)?
                }
                $(if $check)?
                hidden { $($($hidden),*)? }
            }

            impl $crate::wire::Carry for $name {
                type Sent = $input;

                const REBUILT: &'static [(&'static str, &'static str)] = &[
                    $((wire!(@name $both), wire!(@name $both)),)*
                    $($((wire!(@name $field), wire!(@name $sent)),)*)?
                ];

                fn rebuilt(&self) -> $input {
                    let extra = self.extra.iter().filter(|(name, _)| !<$input as $crate::wire::RequestInput>::FIELDS.contains(&name.as_str()));
                    $input {
                        $($both: self.$both.clone(),)*
                        $($($sent: self.$field.clone(),)*)?
                        extra: extra.map(|(name, value)| (name.clone(), value.clone())).collect(),
                        $($($hidden: Default::default(),)*)?
                    }
                }
            }
        )?
    };
}

/// A type that answers carry, with an id of its own (`{ id }`) or as a part of another (`{}`).
macro_rules! wire {
    (@name $field:ident) => { $crate::wire::wire_name(stringify!($field)) };
    (@take $reader:ident $field:ident) => { $reader.take(wire!(@name $field)) };
    (@take $reader:ident $field:ident $sent:ident) => { $reader.take_either(wire!(@name $field), wire!(@name $sent)) };
    ($(#[$about:meta])* $name:ident { $($id:ident)? } $($field:ident $(/ $sent:ident)?: $type:ty,)*) => {
        $(#[$about])*
        #[derive(Clone, PartialEq)]
        pub struct $name {
            $(
                /// Its id.
                pub $id: $crate::RemoteId,
            )?
            $(
                #[doc = concat!("The field `", stringify!($field), "`.")]
                pub $field: $type,
            )*
            /// Fields that the specification does not name.
            pub extra: $crate::wire::Fields,
            /// The names of fields that hold something other than the specification says.
            pub unreadable: Vec<&'static str>,
            /// The names of fields that the answer does not have: an answer of another operation may show them.
            pub unshown: Vec<&'static str>,
        }

        impl $crate::wire::Wire for $name {
            const FIELDS: &'static [&'static str] = &[$(stringify!($id),)? $(wire!(@name $field)),*];

            fn take(reader: &mut $crate::wire::reader::Reader) -> Result<Self, &'static str> {
                let mut read = Self {
                    $($id: reader.id()?,)?
                    $($field: wire!(@take reader $field $($sent)?),)*
                    extra: $crate::wire::Fields::new(),
                    unreadable: Vec::new(),
                    unshown: Vec::new(),
                };
                (read.extra, read.unreadable, read.unshown) = reader.finish();
                Ok(read)
            }

            fn complete(&mut self, other: Self) {
                let unshown = std::mem::take(&mut self.unshown);
                $(if unshown.contains(&wire!(@name $field)) && !other.unshown.contains(&wire!(@name $field)) {
                    self.$field = other.$field;
                })*
                self.unreadable.extend(other.unreadable.into_iter().filter(|name| unshown.contains(name)));
                self.unshown.extend(unshown.into_iter().filter(|name| other.unshown.contains(name)));
                for (name, value) in other.extra {
                    self.extra.entry(name).or_insert(value);
                }
            }

            fn unreadable(&self) -> &[&'static str] {
                &self.unreadable
            }

            fn unshown(&self) -> &[&'static str] {
                &self.unshown
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let fields = [
                    $((stringify!($id), $crate::wire::sent::plain(&self.$id)),)?
                    $((wire!(@name $field), $crate::wire::sent::plain(&self.$field)),)*
                ];
                $crate::wire::sent::object(&self.extra, fields).serialize(serializer)
            }
        }

        $(
            impl $crate::wire::Entity for $name {
                fn id(&self) -> $crate::RemoteId {
                    self.$id
                }
            }
        )?

        /// Shows the id only (law 11).
        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct(stringify!($name))$(.field("id", &self.$id))?.finish_non_exhaustive()
            }
        }
    };
}

/// What is sent, from the table of its fields and the form of each. All of it is sent: what is empty becomes empty at
/// the service, knowingly.
macro_rules! input {
    ($(#[$about:meta])* $name:ident { $($field:ident: $type:ty as $form:path),* $(,)? }
        $(if $check:ident)?
        $(hidden { $($hidden:ident),* })?
    ) => {
        $(#[$about])*
        #[derive(Clone, Default, PartialEq)]
        pub struct $name {
            $(
                #[doc = concat!("The field `", stringify!($field), "`.")]
                pub $field: $type,
            )*
            /// Fields that the specification does not name, as they were read (law 2).
            pub extra: $crate::wire::Fields,
        }

        impl $crate::wire::RequestInput for $name {
            const FIELDS: &'static [&'static str] = &[$(wire!(@name $field)),*];
            const HIDDEN: &'static [&'static str] = &[$($(wire!(@name $hidden)),*)?];

            fn undecided(&self) -> Option<&'static str> {
                $($(if self.$hidden == Default::default() {
                    return Some(wire!(@name $hidden));
                })*)?
                let checks: &[fn(&Self) -> Option<&'static str>] = &[$($check)?];
                checks.iter().find_map(|check| check(self))
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let fields = [$((wire!(@name $field), $form(&self.$field)),)*];
                $crate::wire::sent::object(&self.extra, fields).serialize(serializer)
            }
        }

        /// Shows nothing of it (law 11).
        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct(stringify!($name)).finish_non_exhaustive()
            }
        }
    };
}
