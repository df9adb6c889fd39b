//! Walking the rows of a job's source with its mapping bound to their columns.

use std::ops::ControlFlow;

use super::error::Error;
use crate::clock::Clock;
use crate::config::Job;
use crate::mapping::{Bound, Mapping};
use crate::source::{self, Found, Read, Row};

/// The mapping of a job, which the configuration was checked with.
pub fn mapping(job: &Job) -> Mapping {
    Mapping::compile(&job.mapping).expect("the configuration was checked with this very mapping")
}

/// Visits every row of a job's source. The mapping is bound at the first row, where the columns are known; one that does
/// not fit them is an error for the whole source.
pub fn rows(
    job: &Job,
    mapping: &Mapping,
    found: Option<&Found>,
    clock: &Clock,
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
    let read = source::read(&job.source, mapping.wanted(), found, clock, &mut each);
    match misfit {
        Some(error) => Err(Error::Mapping(error)),
        None => Ok(read?),
    }
}
