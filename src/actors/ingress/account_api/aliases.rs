//! Ids of the Redis SMS platform for messages that come over XML-RPC: numbers of its counter, which every program of the
//! platform draws from (docs/coming-from.md, "Ids").
//!
//! A message carries its own in the store. Which message an id stands for is in Redis, as all the platform knows of it.

use std::collections::HashMap;
use std::sync::Arc;

use super::AccountApi;
use crate::pb::{Message, Refusal};
use crate::store::redis::{Redis, RedisError};

/// Digits of the ids that we make; those of the platform have fewer, unless a build before has raised its counter.
const OWN_DIGITS: usize = 17;
/// The longest id of a platform, in octets.
const LONGEST: usize = 40;

// === impl AccountApi ===

impl AccountApi {
    /// Answers over XML-RPC name messages by ids of the platform in this Redis.
    #[must_use]
    pub fn with_aliases(self, aliases: Option<Arc<Redis>>) -> Self {
        Self { aliases, ..self }
    }

    /// Gives each of these messages an id of the platform. Without an answer of Redis none gets one, and goes by ours.
    pub async fn give_aliases(&self, messages: Vec<&mut Message>) {
        let Some(redis) = self.aliases.as_ref().filter(|_| !messages.is_empty()) else {
            return;
        };
        let last = match redis.take_platform_ids(messages.len()).await {
            Ok(last) => last,
            Err(RedisError::Down) => return,
            Err(error) => {
                tracing::warn!(%error, "MT-gid gives no ids: messages over XML-RPC have ours");
                return;
            }
        };
        let before = last - messages.len() as u64;
        for (id, message) in (before + 1..).zip(messages) {
            message.client_data.get_or_insert_default().platform_id = id.to_string();
        }
    }

    /// The ids by which the senders of these messages know them, where those are of the platform. It can be asked for them from
    /// now on.
    ///
    /// # Errors
    /// The store does not answer.
    pub async fn aliases_of(&self, ids: &[u64]) -> Result<HashMap<u64, String>, Refusal> {
        let Some(redis) = self.aliases.as_ref().filter(|_| !ids.is_empty()) else {
            return Ok(HashMap::new());
        };
        let found = self.node().store.read_ended(ids.to_vec()).await?;
        let messages = found.into_iter().flatten().map(|stored| stored.message);
        let named =
            messages.filter_map(|message| Some((message.id, message.client_data?.platform_id)));
        let named: HashMap<u64, String> = named.filter(|(_, id)| !id.is_empty()).collect();
        let pairs: Vec<(String, u64)> =
            named.iter().map(|(id, name)| (name.clone(), *id)).collect();
        let life = self.node().config().store.retention;
        if !pairs.is_empty()
            && let Err(error) = redis.note_platform_ids(&pairs, life).await
        {
            // The mirror does so, too, a moment later.
            tracing::debug!(%error, "ids of the platform could not be noted");
        }
        Ok(named)
    }

    /// The message that an id of the platform stands for; `None` if it is none of these.
    ///
    /// # Errors
    /// Redis does not answer.
    pub async fn message_of_alias(&self, id: &str) -> Result<Option<u64>, Refusal> {
        let Some(redis) = self.aliases.as_ref().filter(|_| id.len() <= LONGEST) else {
            return Ok(None);
        };
        match redis.message_of_platform_id(id).await {
            Err(_) if id.len() < OWN_DIGITS => Err(Refusal::unavailable(
                "which message this id stands for is in Redis, which does not answer",
            )),
            found => Ok(found.unwrap_or_default()),
        }
    }
}
