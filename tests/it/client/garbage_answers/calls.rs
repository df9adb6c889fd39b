//! One call of every kind, and how each of them ends.

use std::pin::Pin;

use rosterd::api::{
    Answer, Api, Asset, Call, Client, Error, ErrorKind, Filter, Grant, GroupFunction, Issue, Organization, Part, Photo,
    Query, Staff, StaffInput, StaffMovement, StaffMovementInput, Zone, walk,
};

use crate::support::caller::id;

/// How a call ended.
#[derive(Debug)]
pub(super) enum Outcome {
    /// It is an error.
    Refused(ErrorKind),
    /// It is no error, and there is nothing.
    Nothing,
    /// So many were read.
    Read(usize),
}

/// What an answer to a call is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Due {
    /// One entity, which may be left out of the answer to a write.
    Entity,
    List,
    /// A list, which may be left out of the answer to a write.
    ListOfWrite,
    /// Nothing: the status says it all.
    Nothing,
    /// An image, or the head of one.
    Image,
    Token,
}

/// A call of one kind.
#[derive(Clone, Copy)]
pub(super) struct Asked {
    pub(super) name: &'static str,
    pub(super) due: Due,
    /// Whether it changes something, so that it may be confirmed by no more than a status.
    pub(super) is_write: bool,
    pub(super) ask: for<'c> fn(&'c Client) -> Asking<'c>,
}

/// A call on its way.
pub(super) type Asking<'c> = Pin<Box<dyn Future<Output = Outcome> + 'c>>;

fn read(name: &'static str, due: Due, ask: for<'c> fn(&'c Client) -> Asking<'c>) -> Asked {
    Asked { name, due, is_write: false, ask }
}

fn write(name: &'static str, due: Due, ask: for<'c> fn(&'c Client) -> Asking<'c>) -> Asked {
    Asked { name, due, is_write: true, ask }
}

/// One of every kind.
pub(super) fn calls() -> Vec<Asked> {
    vec![
        read("get", Due::Entity, |client| one(client, Api::<Staff>::root().get(id(7)))),
        read("list", Due::List, |client| many(client, Api::<Staff>::root().list(&Query::default()))),
        read("walk", Due::List, |client| Box::pin(walked(client))),
        read("groups", Due::List, |client| many(client, Api::<Organization>::root().groups(id(7), &Filter::default()))),
        read("photo", Due::Image, |client| one(client, Api::<Staff>::root().photo(id(7)))),
        read("photo head", Due::Image, |client| one(client, Api::<Staff>::root().photo_head(id(7)))),
        read("token", Due::Token, |client| Box::pin(token(client))),
        write("create", Due::Entity, |client| one(client, Api::<Staff>::root().create(&StaffInput::default()))),
        write("replace", Due::Entity, |client| {
            one(client, Api::<Staff>::root().replace(id(7), &StaffInput::default()))
        }),
        write("movement", Due::Entity, |client| {
            one(client, Api::<StaffMovement>::root().put(&StaffMovementInput::default()))
        }),
        write("issue", Due::Entity, |client| one(client, Api::<Asset>::root().issue(id(7), &Issue::default()))),
        write("bulk", Due::ListOfWrite, |client| several(client, Api::<Staff>::root().bulk(&[], &Part::Account))),
        write("change groups", Due::ListOfWrite, |client| {
            several(client, Api::<Organization>::root().change_groups(id(7), &[], GroupFunction::Add))
        }),
        write("delete", Due::Nothing, |client| done(client, Api::<Staff>::root().delete(id(7)))),
        write("link", Due::Nothing, |client| done(client, Api::<Zone>::root().link(id(7), id(8)))),
        write("replace photo", Due::Nothing, |client| {
            done(client, Api::<Staff>::root().replace_photo(id(7), &photo()))
        }),
    ]
}

fn photo() -> Photo {
    Photo::new(b"\xff\xd8\xff".to_vec()).unwrap()
}

async fn sent<T: Answer>(client: &Client, call: Call<T>, read: impl FnOnce(T) -> Outcome) -> Outcome {
    ended(client.send(call).await.map(|answered| read(answered.value)))
}

fn ended(result: Result<Outcome, Error>) -> Outcome {
    result.unwrap_or_else(|error| Outcome::Refused(error.kind))
}

fn one<'c, T: 'c>(client: &'c Client, call: Call<Option<T>>) -> Asking<'c>
where
    Option<T>: Answer,
{
    Box::pin(sent(client, call, |value| value.map_or(Outcome::Nothing, |_| Outcome::Read(1))))
}

fn many<'c, T: 'c>(client: &'c Client, call: Call<Vec<T>>) -> Asking<'c>
where
    Vec<T>: Answer,
{
    Box::pin(sent(client, call, |value| Outcome::Read(value.len())))
}

fn several<'c, T: 'c>(client: &'c Client, call: Call<Option<Vec<T>>>) -> Asking<'c>
where
    Option<Vec<T>>: Answer,
{
    Box::pin(sent(client, call, |value| value.map_or(Outcome::Nothing, |value| Outcome::Read(value.len()))))
}

fn done<'c, T: Answer + 'c>(client: &'c Client, call: Call<T>) -> Asking<'c> {
    Box::pin(sent(client, call, |_| Outcome::Nothing))
}

async fn walked(client: &Client) -> Outcome {
    let mut count = 0;
    let walked = walk::<Staff>(client, None, |page| count += page.len()).await;
    ended(walked.map(|_| Outcome::Read(count)))
}

async fn token(client: &Client) -> Outcome {
    let granted = client.token(&Grant::ClientCredentials { scopes: Vec::new() }).await;
    ended(granted.map(|_| Outcome::Read(1)))
}
