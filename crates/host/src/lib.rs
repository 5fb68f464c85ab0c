//! What a process asks of its machine: the wall clock, files and folders, users, sockets at a path.

pub mod clock;
pub mod files;
pub mod socket;
pub mod users;
