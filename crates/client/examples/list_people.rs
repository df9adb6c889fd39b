//! Lists the people whose name begins with a text, page by page:
//!
//! ```sh
//! BASE_URL=http://127.0.0.1:4711/v1 API_KEY=sandbox-key cargo run -p rosterd-client --example list_people -- An
//! ```

#![expect(clippy::print_stdout, reason = "an example shows what it found")]

use std::env;
use std::error::Error;

use rosterd_client::clock::Clock;
use rosterd_client::{Client, Credential, Filter, Operator, Options, Pages, Query, SecretSource, Staff, TimeZone};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let credential = Credential::ApiKey(SecretSource::Text(env::var("API_KEY")?.into()));
    let client = Client::new(&Options::new(env::var("BASE_URL")?, credential), &Clock::system())?;

    let mut query = Query::<Staff>::default().limit(200).zone(TimeZone::PacificAuckland);
    if let Some(begin) = env::args().nth(1) {
        query = query.filter(Filter::default().and("name", Operator::StartsWith, &begin)?);
    }
    // The walk goes on until the service has nothing more to show; only then has everyone been seen.
    let mut pages = Pages::new(&client, query);
    while let Some(page) = pages.next().await? {
        for person in page {
            let name = person.name.as_deref().unwrap_or("(no name)");
            println!("{:>8}  {name}  {}", person.id.get(), person.modified.as_deref().unwrap_or_default());
        }
    }
    println!("{} people in {} requests", pages.walked().entities, pages.walked().requests);
    Ok(())
}
