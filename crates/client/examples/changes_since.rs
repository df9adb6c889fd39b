//! Shows which members of contractors were created or changed since a time (UTC where it has no zone), as a stream:
//!
//! ```sh
//! BASE_URL=http://127.0.0.1:4711/v1 API_KEY=sandbox-key cargo run -p rosterd-client --example changes_since -- 2026-01-31T12:00:00Z
//! ```
//!
//! Beside `rosterd` and `tokio` it needs `futures-util`, which makes a stream of the walk.
//!
//! Removals are invisible to such a read: for those, list everyone now and then and compare.

#![expect(clippy::print_stdout, reason = "an example shows what it found")]

use std::env;
use std::error::Error;
use std::pin::pin;

use futures_util::TryStreamExt as _;
use rosterd_client::clock::Clock;
use rosterd_client::{Client, Credential, Member, Options, Pages, Query, SecretSource};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let credential = Credential::ApiKey(SecretSource::Text(env::var("API_KEY")?.into()));
    let client = Client::new(&Options::new(env::var("BASE_URL")?, credential), &Clock::system())?;

    let since = env::args().nth(1).ok_or("give a time, such as 2026-01-31T12:00:00Z")?.parse()?;
    let mut pages = pin!(Pages::new(&client, Query::<Member>::default().since(since)).stream());
    while let Some(page) = pages.try_next().await? {
        for member in page {
            let changed = member.modified.as_deref().unwrap_or("(unknown)");
            println!("{changed}  {}  {}", member.id.get(), member.name.as_deref().unwrap_or("(no name)"));
        }
    }
    Ok(())
}
