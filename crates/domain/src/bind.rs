//! A bind as stored with an attempt: node and session in one number, 0 for none.
//!
//! Written with every attempt by Correlation and the queues, shown by the admin API. The log line of a
//! bind (`bound`) and `GET /v1/binds` show the same number; session numbers restart when a node starts,
//! so for two attempts with equal binds the times tell whether it is the same one.

/// Bits below the node.
const NODE_SHIFT: u32 = 48;

/// The number of a session of a node; 0 when there is no session.
pub fn number(node: u8, session: u64) -> u64 {
    match session {
        0 => 0,
        _ => u64::from(node) << NODE_SHIFT | session & ((1 << NODE_SHIFT) - 1),
    }
}

/// As people read it: `node/session`, empty for none.
pub fn display(bind: u64) -> String {
    match bind {
        0 => String::new(),
        _ => format!("{}/{}", bind >> NODE_SHIFT, bind & ((1 << NODE_SHIFT) - 1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_node_and_session() {
        assert_eq!(display(number(0, 17)), "0/17");
        assert_eq!(display(number(255, 1)), "255/1");
        assert_eq!(display(number(3, 0)), "", "no session, no bind");
        assert!(i64::try_from(number(255, u64::MAX)).is_ok(), "as a column");
    }
}
