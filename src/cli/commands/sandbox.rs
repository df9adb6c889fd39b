//! `rosterd sandbox`.

use std::time::Duration;

use jiff::SignedDuration;
use serde_json::json;

use crate::cli::args::SandboxArgs;
use crate::cli::backend::interrupt::Interrupt;
use crate::cli::ui::{Exit, Failure, Ui};
use crate::sandbox::{Options, Sandbox};

pub(crate) async fn run(ui: &Ui, args: SandboxArgs) -> Result<Exit, Failure> {
    if !args.listen.ip().is_loopback() {
        ui.warn(format!(
            "{} can be reached from other machines, and /control, which changes keys, faults and people, has no \
             login: listen on 127.0.0.1, unless you trust everyone in that network",
            args.listen
        ));
    }
    let options = Options {
        listen: args.listen,
        data: args.data,
        seed_staff: args.seed_staff,
        seed_contractors: args.seed_contractors,
        rate: args.rate,
        window: args.window,
        faults: args.faults,
        delay: Duration::from_millis(args.delay),
        clock_offset: SignedDuration::from_secs(args.clock_offset),
        page_max: args.page_max,
        empty_as_404: args.empty_404,
        accept_duplicates: args.accept_duplicates,
        put_without_body: args.put_without_body,
        normalize: args.normalize,
        token_lifetime: Duration::from_secs(args.token_lifetime),
        api_key: args.api_key,
        api_key_restrictions: args.api_key_restrictions,
        client_id: args.client_id,
        client_secret: args.client_secret,
        ..Options::default()
    };
    let sandbox = Sandbox::start(options).await.map_err(Failure::failed)?;
    let options = sandbox.options().clone();
    if ui.json {
        ui.document(&json!({
            "version": 1,
            "base_url": sandbox.url(),
            "auth_url": sandbox.auth_url(),
            "api_key": options.api_key,
            "client_id": options.client_id,
            "client_secret": options.client_secret,
        }));
    } else {
        ui.line(format!("listening on {}", sandbox.url()));
        ui.line(format!("api_key {}", options.api_key));
        ui.line(format!("auth_url {}", sandbox.auth_url()));
        ui.line(format!("client_id {}", options.client_id));
        ui.line(format!("client_secret {}", options.client_secret));
        ui.note("a stand-in for rehearsals: nothing here is a secret; end it with Ctrl-C");
    }
    if !sandbox.takes_its_options() {
        ui.note("the key or the client was changed since, at /control: what is printed here is not taken any more");
    }
    ui.note(format!("clients, keys and faults are changed at {}/control", sandbox.auth_url()));
    ui.note(format!("the API is described at {}/openapi.json", sandbox.auth_url()));
    Interrupt::wait().await?;
    sandbox.stop().await;
    Ok(Exit::Done)
}
