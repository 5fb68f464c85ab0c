//! What a process asks of its machine: the wall clock, files and folders.

pub mod clock;
pub mod files;
