//! What is done about a damaged log: nothing is opened, a copy is kept, and the administrator decides.

use std::fs::{self, File};
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use super::super::folder_lock::share_folder;
use super::look::{LogView, LostMessages, NewestMessage, put_in_place};
use super::salvage::Salvage;
use super::survey::{self, LogDamage};
use super::{FRAME_HEAD, HEADER, READ, beside, log_path};
use crate::{StoreError, StoreResult};
use smsc_domain::moment;
use smsc_host::{clock, files};

/// What the names of copies have behind that of the log, in front of the time.
const COPY: &str = ".damaged-";

/// What a start from a damaged log loses.
#[derive(Debug, PartialEq, Eq)]
enum Loss {
    /// Nothing: what is damaged is in the database, or in a later frame.
    Nothing,
    /// These messages at least.
    Messages {
        lost: LostMessages,
        left: Option<NewestMessage>,
    },
    /// It cannot be told; this is the newest message that is left, if that can be told.
    Unknown { left: Option<NewestMessage> },
}

/// For a store that is read and not changed: whether its log is damaged. Changes nothing.
///
/// # Errors
/// [`StoreError::Damaged`].
pub fn at_rest(main: &Path) -> StoreResult {
    match look(main)? {
        None => Ok(()),
        Some(damage) => Err(StoreError::Damaged(format!(
            "{}. Nothing was read or changed; `smsc serve` says what can be done (docs/day-two.md, \"A damaged \
             log\")",
            describe(main, &damage)
        ))),
    }
}

/// Refuses a damaged log for a store that a server may use, which has looked when it started.
///
/// # Errors
/// [`StoreError::Damaged`].
pub fn unless_in_use(main: &Path) -> StoreResult {
    let length = |path: &Path| fs::metadata(path).map_or(0, |about| about.len());
    if length(&log_path(main)) == 0 && length(&beside(main, "-shm")) == 0 {
        return Ok(());
    }
    let folder = main
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    match share_folder(folder.unwrap_or(Path::new("."))) {
        Ok(Some(_shared)) => at_rest(main),
        Ok(None) => Ok(()),
        Err(error) => Err(StoreError::Failed(format!(
            "cannot read {}: {error}",
            main.display()
        ))),
    }
}

/// Before a store is opened for writing: a damaged log is copied, and is an error unless its loss is accepted. Then what
/// is left of it takes its place. Blocks.
///
/// # Errors
/// [`StoreError::Damaged`]; it says where, what would be lost, and what can be done.
pub fn settle(main: &Path, accept_loss: bool) -> StoreResult {
    refuse_orphan(main)?;
    let Some(damage) = look(main)? else {
        if accept_loss {
            tracing::warn!("--accept-loss changes nothing: the log of the store is not damaged");
        }
        return make_durable(&log_path(main));
    };
    let what = describe(main, &damage);
    let copy = keep_copy(&log_path(main));
    let (loss, salvage) = match take_stock(main, &damage) {
        Ok((loss, salvage)) => (loss, Ok(salvage)),
        Err(error) => (Loss::Unknown { left: None }, Err(error)),
    };
    let until = last_written(&log_path(main));
    if !accept_loss {
        let copy = match &copy {
            Ok(Some(copy)) => format!("A copy of the log is in {}.", copy.display()),
            Ok(None) => String::new(),
            Err(error) => {
                format!("No copy of the log could be made ({error}): keep one, or make room.")
            }
        };
        return Err(damaged(format!(
            "{what}. {copy} {} Look at the disk first (docs/day-two.md, \"A damaged log\"). To start \
             with what is left: `smsc serve --accept-loss`",
            loss.would_be(&until)
        )));
    }
    let copy = copy.map_err(|error| {
        damaged(format!(
            "{what}. It was left as it is, because no copy of it could be made: {error}"
        ))
    })?;
    let unusable = |why: String| {
        damaged(format!(
            "{what}. What is left cannot be used either ({why}): restore a backup (docs/day-two.md)"
        ))
    };
    let salvage = salvage.map_err(|error| unusable(error.to_string()))?;
    let salvage = salvage.ok_or_else(|| unusable("the database is ahead of it".to_owned()))?;
    let rest = LogView::of(main, &damage, &salvage).map_err(|error| unusable(error.to_string()))?;
    if let Some(problem) = rest.problem() {
        return Err(unusable(problem));
    }
    put_in_place(&rest, main).map_err(|error| unusable(error.to_string()))?;
    tracing::warn!(
        copy = copy.map(|copy| copy.display().to_string()),
        "{what}. {}",
        loss.was(&until)
    );
    Ok(())
}

/// A log without its database is refused: SQLite would delete it.
fn refuse_orphan(main: &Path) -> StoreResult {
    let length = |path: &Path| fs::metadata(path).map_or(0, |file| file.len());
    let (log, main_file) = (log_path(main), main.display());
    if length(main) > 0 || length(&log) <= HEADER as u64 {
        return Ok(());
    }
    let log_file = log.display();
    Err(damaged(format!(
        "{main_file} is missing or empty, but its log {log_file} is there, and a start would delete it. Put {main_file} \
         back; or, to begin with an empty store, move {log_file} away"
    )))
}

fn damaged(text: String) -> StoreError {
    StoreError::Damaged(text)
}

fn look(main: &Path) -> StoreResult<Option<LogDamage>> {
    survey::look(main).map_err(|error| {
        StoreError::Failed(format!("cannot read {}: {error}", log_path(main).display()))
    })
}

/// What a process that was killed has not synced must not be acted on and then be lost.
fn make_durable(log: &Path) -> StoreResult {
    let synced = match File::open(log) {
        Ok(file) => file.sync_data(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => Err(error),
    };
    synced.map_err(|error| StoreError::Failed(format!("cannot sync {}: {error}", log.display())))
}

/// What was found, and where.
pub fn describe(main: &Path, damage: &LogDamage) -> String {
    let log = log_path(main);
    let log = log.display();
    let behind = damage.last.saturating_sub(damage.frame);
    let octets = u64::from(behind) * (FRAME_HEAD + damage.survey.layout.page_size) as u64;
    let where_it_is = match (damage.frame, damage.is_missing()) {
        (0, true) => "it is empty or missing".to_owned(),
        (0, false) => "its header, at offset 0, is not what was written".to_owned(),
        (frame, true) => format!(
            "it ends in front of frame {frame}, at offset {}",
            damage.offset()
        ),
        (frame, false) => {
            format!(
                "frame {frame}, at offset {}, is not what was written",
                damage.offset()
            )
        }
    };
    let committed = format!("{behind} more frames ({octets} octets) were committed behind it");
    format!("the log of the store {log} is damaged: {where_it_is}, and {committed}")
}

/// When a file was last written, for people.
fn last_written(path: &Path) -> String {
    let modified = fs::metadata(path).and_then(|about| about.modified());
    let since = modified
        .ok()
        .and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    since.map_or_else(
        || "an unknown time".to_owned(),
        |since| moment::text(since.as_millis() as i64),
    )
}

/// What would be lost, and what can be had.
fn take_stock(main: &Path, damage: &LogDamage) -> io::Result<(Loss, Option<Salvage>)> {
    let salvage = Salvage::find(main, damage)?;
    let left = match &salvage {
        Some(salvage) if salvage.upto == damage.last => {
            return Ok((Loss::Nothing, Some(salvage.clone())));
        }
        Some(salvage) => LogView::of(main, damage, salvage)?.newest().ok(),
        None => None,
    };
    let lost = match left {
        Some(left) => LogView::as_it_is(main, damage)?.beyond(left).ok().flatten(),
        None => None,
    };
    let left = left.flatten().map(|(newest, _)| newest);
    let loss = match lost {
        Some(lost) => Loss::Messages { lost, left },
        None => Loss::Unknown { left },
    };
    Ok((loss, salvage))
}

/// Copies a log beside itself, unless that was done before; `None` for one that is not there.
fn keep_copy(log: &Path) -> io::Result<Option<PathBuf>> {
    if !log.exists() {
        return Ok(None);
    }
    let head = format!(
        "{}{COPY}",
        log.file_name().unwrap_or_default().to_string_lossy()
    );
    let folder = log.parent().filter(|folder| !folder.as_os_str().is_empty());
    for entry in fs::read_dir(folder.unwrap_or(Path::new(".")))? {
        let entry = entry?;
        // A service manager starts it again and again.
        if entry.file_name().to_string_lossy().starts_with(&head) && is_same(log, &entry.path())? {
            return Ok(Some(entry.path()));
        }
    }
    let now = moment::text(clock::now_ms());
    let now = now.split('.').next().unwrap_or_default();
    let now: String = now.chars().filter(|sign| !"-:".contains(*sign)).collect();
    let mut copy = beside(log, &format!("{COPY}{now}Z"));
    let mut another = 1;
    while copy.exists() {
        another += 1;
        copy = beside(log, &format!("{COPY}{now}Z-{another}"));
    }
    let written = write_copy(log, &copy);
    if written.is_err() {
        let _ = fs::remove_file(&copy);
    }
    written.map(|()| Some(copy))
}

fn write_copy(log: &Path, copy: &Path) -> io::Result<()> {
    let mut target = files::create_new(copy)?;
    io::copy(&mut File::open(log)?, &mut target)?;
    target.sync_all()
}

/// Whether two files have the same content.
fn is_same(one: &Path, other: &Path) -> io::Result<bool> {
    if fs::metadata(one)?.len() != fs::metadata(other)?.len() {
        return Ok(false);
    }
    let read = |path: &Path| File::open(path).map(|file| BufReader::with_capacity(READ, file));
    let (one, other) = (read(one)?.bytes(), read(other)?.bytes());
    for (one, other) in one.zip(other) {
        if one? != other? {
            return Ok(false);
        }
    }
    Ok(true)
}

// === impl Loss ===

impl Loss {
    /// Before it is accepted. `until` is when the log was last written.
    fn would_be(&self, until: &str) -> String {
        match self {
            Self::Nothing => {
                "A start loses nothing: what is damaged is in the database, or in a later frame."
                    .to_owned()
            }
            Self::Messages { .. } => format!("A start would lose {}.", self.what(until)),
            Self::Unknown { .. } => format!(
                "A start would lose what was committed then: {}.",
                self.what(until)
            ),
        }
    }

    /// After it was accepted.
    fn was(&self, until: &str) -> String {
        match self {
            Self::Nothing => {
                "Nothing is lost: what is damaged was in the database, or in a later frame"
                    .to_owned()
            }
            Self::Messages { .. } => format!("Lost: {}; run `smsc fsck`", self.what(until)),
            Self::Unknown { .. } => {
                format!(
                    "What was committed then is lost: {}; run `smsc fsck`",
                    self.what(until)
                )
            }
        }
    }

    fn what(&self, until: &str) -> String {
        let newest = |left: &Option<NewestMessage>, none: &str| match left {
            Some(NewestMessage { id, at }) => format!(
                "the newest message that is left is {id}, accepted at {}",
                moment::text(*at)
            ),
            None => none.to_owned(),
        };
        match self {
            Self::Nothing => String::new(),
            Self::Messages { lost, left } => format!(
                "{} messages or more that were acknowledged, with ids from {} to {}, accepted from {} to {}, and what \
                 became of others in that time, which may be sent again ({}; the log was last written at {until})",
                lost.count.max(1),
                lost.first.id,
                lost.last.id,
                moment::text(lost.first.at),
                moment::text(lost.last.at),
                newest(left, "no message is left")
            ),
            Self::Unknown { left } => {
                let left = newest(left, "what is left cannot be told");
                format!("{left}, and the log was last written at {until}")
            }
        }
    }
}
