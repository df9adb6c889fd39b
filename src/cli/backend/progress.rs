//! Shows the progress of a run: a bar with the time left on a terminal, plain lines otherwise.

use std::fmt::{self, Write};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressState, ProgressStyle};

use super::interrupt::Interrupt;
use crate::api::Options;
use crate::cli::ui::Ui;
use crate::push::Outcome;
use crate::queue::Change;
use crate::reconcile::{RunObserver, Stage};
use crate::record::JobName;

/// Shows how runs go.
pub(crate) struct Progress {
    ui: Ui,
    interrupt: Interrupt,
    pace: Pace,
    bar: Mutex<Option<ProgressBar>>,
}

impl Progress {
    /// A push of fewer changes is over before it could be read of.
    const LINES_FROM: usize = 20;

    pub(crate) fn new(ui: Ui, interrupt: Interrupt, pace: Pace) -> Self {
        Self { ui, interrupt, pace, bar: Mutex::new(None) }
    }

    /// Takes the bar away.
    pub(crate) fn clear(&self) {
        if let Some(bar) = self.bar.lock().unwrap_or_else(PoisonError::into_inner).take() {
            bar.finish_and_clear();
        }
    }

    fn show(&self, bar: ProgressBar) {
        *self.bar.lock().unwrap_or_else(PoisonError::into_inner) = Some(bar);
    }
}

/// The time left as a person reads it. Requests go out as the rate limit lets them, so a pace measured on the way would
/// promise too much in the first minute and too little in the next.
fn time_left(least: Duration, elapsed: Duration) -> String {
    match least.saturating_sub(elapsed).as_secs() {
        0 => "a moment left".to_owned(),
        seconds @ 1..120 => format!("about {seconds} s left"),
        seconds => format!("about {} min left", seconds.div_ceil(60)),
    }
}

/// How fast requests go out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    /// So many in a minute by each credential.
    per_minute: u32,
    credentials: u32,
}

impl Pace {
    /// That of an account.
    pub(crate) fn of(options: &Options) -> Self {
        Self { per_minute: options.requests_per_minute, credentials: 1 + options.further.len() as u32 }
    }

    /// How long `requests` requests take at least: those of the first credential's first minute go at once. A further one
    /// waits for a minute where nothing is known of its last one.
    fn least(self, requests: usize) -> Duration {
        let one = self.per_minute.max(1) as usize;
        let minutes = requests.checked_sub(one + 1).map_or(0, |rest| 1 + rest / (one * self.credentials as usize));
        Duration::from_secs(60 * minutes as u64)
    }
}

impl fmt::Display for Pace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.credentials {
            1 => write!(f, "{} a minute", self.per_minute),
            several => write!(f, "{} a minute by each of {several} credentials", self.per_minute),
        }
    }
}

impl RunObserver for Progress {
    fn stage(&self, job: &JobName, stage: Stage) {
        // Before the next bar draws its first line: two at once would leave the one that is over on the terminal.
        self.clear();
        match stage {
            Stage::Pulling => tracing::info!("{job}: asking the service who is there"),
            Stage::Reading => tracing::info!("{job}: reading the source"),
            Stage::Sending { changes, .. } => tracing::info!("{job}: {changes} changes to send"),
        }
        match stage {
            Stage::Pulling | Stage::Reading if !self.ui.is_watched() => {}
            Stage::Pulling | Stage::Reading => {
                let verb = if stage == Stage::Pulling { "Pulling" } else { "Reading" };
                let bar = ProgressBar::new_spinner();
                bar.set_style(ProgressStyle::with_template("{prefix:>12} {msg} {spinner}").expect("a fixed template"));
                bar.set_prefix(verb);
                bar.set_message(job.to_string());
                bar.enable_steady_tick(Duration::from_millis(120));
                self.show(bar);
            }
            Stage::Sending { changes: 0, .. } => {}
            Stage::Sending { changes, requests } => {
                let least = self.pace.least(requests);
                if self.ui.is_watched() {
                    let bar = ProgressBar::new(changes as u64);
                    let template = "{prefix:>12} {msg} [{bar:30}] {pos}/{len}, {left}";
                    let style = ProgressStyle::with_template(template).expect("a fixed template");
                    let left = move |state: &ProgressState, out: &mut dyn Write| {
                        let _ = out.write_str(&time_left(least, state.elapsed()));
                    };
                    bar.set_style(style.with_key("left", left));
                    bar.enable_steady_tick(Duration::from_secs(1));
                    bar.set_prefix("Sending");
                    bar.set_message(job.to_string());
                    self.show(bar);
                } else if changes >= Self::LINES_FROM && !self.ui.json {
                    let minutes = least.as_secs() / 60;
                    let time = if minutes == 0 { "less than a minute".into() } else { format!("about {minutes} min") };
                    self.ui.note(format!(
                        "{job}: sending {changes} changes ({requests} requests at {}: {time})",
                        self.pace
                    ));
                }
            }
        }
    }

    fn outcome(&self, _change: &Change, _outcome: &Outcome) {
        if let Some(bar) = self.bar.lock().unwrap_or_else(PoisonError::into_inner).as_ref() {
            bar.inc(1);
        }
    }

    fn interrupted(&self) -> bool {
        self.interrupt.asked()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_is_that_of_the_rate_limit() {
        let left = |least, elapsed| time_left(Duration::from_secs(least), Duration::from_secs(elapsed));
        for (least, elapsed, expected) in [
            (0, 0, "a moment left"),
            (60, 1, "about 59 s left"),
            (600, 1, "about 10 min left"),
            (600, 700, "a moment left"),
        ] {
            assert_eq!(left(least, elapsed), expected);
        }
    }

    #[test]
    fn the_first_minute_s_requests_are_free_at_once() {
        for (requests, per_minute, credentials, seconds) in [
            (0, 100, 1, 0),
            (100, 100, 1, 0),
            (101, 100, 1, 60),
            (900, 600, 1, 60),
            (1300, 600, 1, 120),
            (100, 100, 4, 0),
            (10_000, 100, 4, 1500),
        ] {
            assert_eq!(Pace { per_minute, credentials }.least(requests).as_secs(), seconds);
        }
    }
}
