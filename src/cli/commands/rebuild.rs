//! `rosterd rebuild`.

use serde_json::json;

use crate::cli::args::RebuildArgs;
use crate::cli::backend::{Backend, session};
use crate::cli::ui::{Exit, Failure, Ui, sanitize};
use crate::clock::Clock;
use crate::config::{Config, Mode, Needs};
use crate::operator::{self, RebuildError, Rebuilt, Which};
use crate::text::counted;

pub(crate) async fn run(ui: &Ui, host: &Backend, args: &RebuildArgs) -> Result<Exit, Failure> {
    let config = session::configuration_for(ui, host, Needs::Local)?;
    let mut sole = host.alone(&config).await;
    sole.close();
    let which = if args.damaged { Which::Damaged } else { Which::Whole };
    let renewed = operator::rebuild(&config, &Clock::system(), which).map_err(|error| match error {
        RebuildError::Store(error) => Failure::from(error),
        error => Failure::failed(error),
    })?;
    drop(sole);
    let (mut seen, mut damage, mut is_dropped) = (None, None, false);
    if let Some(renewed) = renewed {
        (seen, is_dropped) = (Some(renewed.seen), renewed.is_dropped);
        damage = renewed.damage;
    }
    // It can't be known what a damaged store has lost, so it is dropped only for a user who asks for that.
    if let Some(error) = damage.take_if(|_| !is_dropped) {
        let Rebuilt { leaving, rejections, .. } = seen.unwrap_or_default();
        return Err(Failure::failed(error)
            .hint(format!(
                "what people rejected and who was leaving may be lost with it: {} and {} can still be read, and it is unknown \
                 what can't; `rosterd history` shows what was decided",
                counted(rejections, "rejection", "rejections"),
                people(leaving)
            ))
            .hint("`rosterd rebuild --damaged` keeps what can be read and drops the rest; nothing was dropped now"));
    }
    let Rebuilt { leaving, rejections, approvals, unknown, .. } = seen.unwrap_or_default();
    if ui.json {
        ui.document(&json!({
            "version": 1,
            "state_dir": config.state.home.folder(),
            "rebuilt": is_dropped,
            "damage": damage.map(|error| error.kind.to_string()),
            "known": seen.map(|seen| seen.known),
            "queued": seen.map(|seen| seen.queued),
            "held": seen.map(|seen| seen.held),
            "kept_rejections": rejections,
            "kept_leaving": leaving,
            "kept_unknown": unknown,
            "dropped_approvals": approvals,
        }));
        return Ok(Exit::Done);
    }
    if seen.is_none() {
        ui.line("there was nothing to drop");
    } else if !is_dropped {
        ui.line("the store is whole; nothing was dropped");
        return Ok(Exit::Done);
    } else {
        if let Some(error) = &damage {
            ui.line(format!("dropped: {}; what could be read of it:", sanitize(&error.kind.to_string())));
        }
        say(ui, &config, seen.unwrap_or_default());
    }
    let gone = if leaving > 0 { "; those who are gone leave as they would have" } else { "" };
    ui.line(format!(
        "the next `rosterd sync` matches people by match_on: this creates no duplicates and removes no one{gone}"
    ));
    Ok(Exit::Done)
}

/// Says what was dropped and what was kept.
fn say(ui: &Ui, config: &Config, seen: Rebuilt) {
    let Rebuilt { known, kept, leaving, unsettled, queued, carried, held, waiting, rejections, approvals, unknown } =
        seen;
    ui.line(format!(
        "dropped: {} people known, {} changes queued or parked, {} held, {}",
        known - kept,
        queued - carried - unknown,
        held - waiting,
        counted(approvals, "approval", "approvals")
    ));
    ui.line(format!(
        "kept: audit files, pauses, {}, {} who are gone from the source, {} with a change that is not settled, {} \
             that wait for a decision, {} of unknown fate",
        counted(rejections, "rejection", "rejections"),
        people(leaving),
        people(unsettled),
        counted(waiting, "change", "changes"),
        counted(unknown, "create", "creates")
    ));
    if config.jobs.iter().any(|job| job.mode == Mode::Changes) {
        ui.line(format!(
            "kept of jobs that read files of changes, since no file says it again: {}, {} that are queued",
            people(kept - leaving - unsettled),
            counted(carried, "change", "changes")
        ));
    }
}

fn people(number: u64) -> String {
    counted(number, "person", "people")
}
