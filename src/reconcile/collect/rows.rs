//! Walking the rows of a job's source with its mapping bound to their columns.

use std::ops::ControlFlow;
use std::sync::Arc;

use crate::config::Job;
use crate::lookup::{self, Join, Lookup};
use crate::mapping::{Bound, Mapping};
use crate::reconcile::model::context::Context;
use crate::reconcile::model::error::Error;
use crate::source::{self, Access, Columns, Read, RefusedLogins, Row, SourceState};

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
    let logins = RefusedLogins::of_a_run(context.store.home().spill_dir());
    let stop = || context.watch.interrupted();
    read(Access { known, clock: context.clock, logins: &logins, dir: context.store.home().spill_dir(), stop: &stop })
}

/// Visits every row of a job's source, joined with those of its lookups. The mapping is bound at the first row, where the
/// columns are known; one that does not fit them is an error for the whole source.
pub fn rows(
    job: &Job,
    mapping: &Mapping,
    access: Access<'_>,
    visit: &mut dyn FnMut(&Row, &Bound<'_>) -> ControlFlow<()>,
) -> Result<Read, Error> {
    let load =
        |lookup: &Lookup| lookup::load(&lookup.name, &lookup.source, &[mapping], Access { known: None, ..access });
    let mut join = Join::new(&job.lookups, mapping, load);
    let lost = join.lost().to_vec();
    let mut bound: Option<(Bound<'_>, Arc<Columns>)> = None;
    let mut fault: Option<Error> = None;
    let mut each = |row: &Row| {
        let (fits, columns) = match &bound {
            Some(fits) => fits,
            None => {
                let columns = join.columns(row.columns(), mapping);
                match mapping.bind_without(&columns, &lost) {
                    Ok(fits) => bound.insert((fits, columns)),
                    Err(error) => {
                        fault = Some(Error::Mapping(error));
                        return ControlFlow::Break(());
                    }
                }
            }
        };
        if join.is_empty() {
            return visit(row, fits);
        }
        match join.row(row, columns, fits) {
            Ok(joined) => visit(&joined, fits),
            Err(error) => {
                fault = Some(error.into());
                ControlFlow::Break(())
            }
        }
    };
    let read = source::read(&job.source, mapping.wanted(), access, &mut each);
    match fault {
        Some(error) => Err(error),
        None => {
            let mut read = read?;
            read.lost = lost;
            Ok(read)
        }
    }
}
