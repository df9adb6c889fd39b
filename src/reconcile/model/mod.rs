//! The types that the steps of a run hand on, and what is remembered of a job between its runs.
//!
//! They have no steps of their own, and import nothing of `reconcile` except each other.

pub(crate) mod candidate;
pub(crate) mod change_spill;
pub(crate) mod context;
pub(crate) mod counts;
pub(crate) mod doubtful_rows;
pub(crate) mod due_pairs;
pub(crate) mod error;
pub(crate) mod inbox_state;
pub(crate) mod job_fields;
pub(crate) mod job_plan;
pub(crate) mod job_state;
pub(crate) mod kept_record;
pub(crate) mod missing_people;
pub(crate) mod part_draft;
pub(crate) mod plan_file_error;
pub(crate) mod read_in_place;
pub(crate) mod reason;
pub(crate) mod recent_runs;
pub(crate) mod replicas;
pub(crate) mod row_segments;
pub(crate) mod spoilt_keys;
pub(crate) mod state_updates;
pub(crate) mod waiting_files;

#[cfg(test)]
pub(crate) mod testing;
