//! Where a message goes and under which addresses: routes, number look-ups, rewriting, policy.

pub mod explain;
pub mod policy;
pub mod resolver;
pub mod rewrite;
