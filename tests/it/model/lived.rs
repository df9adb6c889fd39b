//! What lives through a history: the loop over its steps, and how it comes to rest.

use std::fmt::Debug;

use jiff::SignedDuration;

use super::machine::Machine;

/// The runs in which everything must come to rest.
const SETTLING_RUNS_MAX: usize = 8;

/// A machine to which things happen, and the laws that hold for it. The error is always the law that broke.
pub(super) trait Lived: Sized {
    /// One thing that happens.
    type Step: Debug;

    fn machine(&mut self) -> &mut Machine;

    /// Has it happen, with the laws about what it may do.
    async fn step(&mut self, step: &Self::Step) -> Result<(), String>;

    /// The laws that hold at any time.
    fn check(&self) -> Result<(), String>;

    /// Brings all to rest, and looks at how it is then.
    async fn settle(&mut self) -> Result<(), String>;

    /// Lives through a history to its end; the error says after which step, too.
    async fn live(mut self, steps: &[Self::Step]) -> Result<(), String> {
        let result = self.all(steps).await;
        self.machine().site.stop().await;
        result
    }

    async fn all(&mut self, steps: &[Self::Step]) -> Result<(), String> {
        for (at, step) in steps.iter().enumerate() {
            // A second passes, so that the service's times tell one step from the next.
            self.machine().clock.advance(SignedDuration::from_secs(1));
            let after = |law: String| format!("after step {at} ({step:?}): {law}");
            self.step(step).await.map_err(after)?;
            self.check().map_err(after)?;
        }
        self.settle().await.map_err(|law| format!("in the end: {law}"))
    }
}

/// One in which a user decides about what is held.
pub(super) trait Decided: Lived {
    /// A run without faults.
    async fn calm_run(&mut self) -> Result<(), String>;

    /// Releases all that is held; tells whether there was any.
    fn release_all(&mut self) -> bool;

    /// With a whole file, a service without faults and every release given, all comes to rest.
    async fn rest(&mut self) -> Result<(), String> {
        for _ in 0..SETTLING_RUNS_MAX {
            // A day and more, so that what counts for a day does not count.
            self.machine().clock.advance(SignedDuration::from_hours(25));
            let writes = self.machine().service().writes();
            self.calm_run().await?;
            self.check()?;
            let rests = self.machine().service().writes() == writes;
            if !self.release_all() && rests {
                return Ok(());
            }
        }
        Err("law 4: runs on unchanged input go on writing, or holding".to_owned())
    }
}
