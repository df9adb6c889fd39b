//! Walking the rows of a job's source with its mapping bound to their columns.

use std::ops::ControlFlow;

use crate::config::Job;
use crate::mapping::{Bound, Mapping};
use crate::reconcile::model::context::Context;
use crate::reconcile::model::error::Error;
use crate::source::{self, Access, Read, RefusedLogins, Row, SourceState};

/// The mapping of a job, which the configuration was checked with.
pub fn mapping(job: &Job) -> Mapping {
    Mapping::compile(&job.mapping).expect("the configuration was checked with this very mapping")
}

/// The same as [`rows`] for a run, which ends when it is asked to and tries no account that was refused.
pub(crate) fn read(
    context: &Context<'_>,
    job: &Job,
    mapping: &Mapping,
    known: Option<&SourceState>,
    visit: &mut dyn FnMut(&Row, &Bound<'_>) -> ControlFlow<()>,
) -> Result<Read, Error> {
    accessed(context, known, |access| rows(job, mapping, access, visit))
}

/// Reads as a run does.
pub(crate) fn accessed<T>(context: &Context<'_>, known: Option<&SourceState>, read: impl FnOnce(Access<'_>) -> T) -> T {
    let logins = RefusedLogins::of_a_run(context.store.dir());
    let stop = || context.watch.interrupted();
    read(Access { known, clock: context.clock, logins: &logins, dir: context.store.dir(), stop: &stop })
}

/// Visits every row of a job's source. The mapping is bound at the first row, where the columns are known; one that does
/// not fit them is an error for the whole source.
pub fn rows(
    job: &Job,
    mapping: &Mapping,
    access: Access<'_>,
    visit: &mut dyn FnMut(&Row, &Bound<'_>) -> ControlFlow<()>,
) -> Result<Read, Error> {
    let mut bound: Option<Bound<'_>> = None;
    let mut misfit = None;
    let mut each = |row: &Row| {
        let fits = match &bound {
            Some(fits) => fits,
            None => match mapping.bind(row.columns()) {
                Ok(fits) => bound.insert(fits),
                Err(error) => {
                    misfit = Some(error);
                    return ControlFlow::Break(());
                }
            },
        };
        visit(row, fits)
    };
    let read = source::read(&job.source, mapping.wanted(), access, &mut each);
    match misfit {
        Some(error) => Err(Error::Mapping(error)),
        None => Ok(read?),
    }
}
