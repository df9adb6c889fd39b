//! Gives one person another title, and nothing else another value, although the service only knows how to replace people:
//!
//! ```sh
//! BASE_URL=http://127.0.0.1:4711/v1 API_KEY=sandbox-key cargo run -p rosterd-client --example update_person -- 1001 "Fire warden"
//! ```

#![expect(clippy::print_stdout, reason = "an example shows what it found")]

use std::env;
use std::error::Error;

use rosterd_client::clock::Clock;
use rosterd_client::{Client, Credential, Options, RemoteId, SecretSource, Staff};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let credential = Credential::ApiKey(SecretSource::Text(env::var("API_KEY")?.into()));
    let client = Client::new(&Options::new(env::var("BASE_URL")?, credential), &Clock::system())?;

    let mut arguments = env::args().skip(1);
    let (id, title) = arguments.next().zip(arguments.next()).ok_or("give a person's id and the new title")?;
    let id = RemoteId::new(id.parse()?).ok_or("an id is a whole number above zero")?;
    let answer = client.modify::<Staff>(id, |input| input.title = Some(title)).await?;
    match answer.value {
        Some(person) => println!("{} is {} now", person.id.get(), person.title.as_deref().unwrap_or("nothing")),
        None => println!("the service confirmed it without showing it"),
    }
    Ok(())
}
