//! `rosterd rebuild`.

use serde_json::json;

use super::args::RebuildArgs;
use super::failure::{Exit, Failure};
use super::host::Host;
use super::open;
use super::ui::{Ui, tame};
use crate::clock::Clock;
use crate::config::Needs;
use crate::run::{self, RebuildError, Rebuilt};
use crate::store::Dropped;

pub(super) async fn run(ui: &Ui, host: &Host, args: &RebuildArgs) -> Result<Exit, Failure> {
    let config = open::configuration_for(ui, host, Needs::Local)?;
    let mut sole = host.alone(&config).await;
    sole.close();
    let dropped = run::rebuild(&config, &Clock::system(), args.damaged).map_err(|error| match error {
        RebuildError::Store(error) => Failure::from(error),
        error => Failure::failed(error),
    })?;
    drop(sole);
    if ui.json {
        let (whole, damage) = match &dropped {
            Dropped::Nothing => (None, None),
            Dropped::Whole(seen) => (Some(seen), None),
            Dropped::Unusable(error) => (None, Some(error.kind.to_string())),
        };
        ui.document(&json!({
            "version": 1,
            "state_dir": config.state.dir,
            "rebuilt": damage.is_some() || whole.is_some() && !args.damaged,
            "damage": damage,
            "known": whole.map(|seen| seen.known),
            "queued": whole.map(|seen| seen.queued),
            "held": whole.map(|seen| seen.held),
            "kept_rejections": whole.map_or(0, |seen| seen.rejections),
            "kept_unknown": whole.map_or(0, |seen| seen.unknown),
        }));
        return Ok(Exit::Done);
    }
    match dropped {
        Dropped::Nothing => ui.line("there was nothing to drop"),
        Dropped::Whole(_) if args.damaged => ui.line("the store is whole; nothing was dropped"),
        Dropped::Whole(seen) => {
            let Rebuilt { known, queued, held, rejections, unknown } = seen;
            ui.line(format!("dropped: {known} people known, {queued} changes queued or parked, {held} held"));
            ui.line(format!("kept: audit files, pauses, {rejections} rejections, {unknown} creates of unknown fate"));
        }
        Dropped::Unusable(error) => {
            ui.line(format!("dropped whole: {}", tame(&error.kind.to_string())));
            ui.line("kept: audit files and pauses; what was rejected before is decided on anew");
        }
    }
    ui.line("the next `rosterd sync` matches people by match_on: nobody is made twice, and nobody leaves by it");
    Ok(Exit::Done)
}
