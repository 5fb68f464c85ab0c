//! The newest version of each page that the log has, for `smsc salvage`.
//!
//! Of a log that is as it was written these are the frames that SQLite would read. Of a damaged one they are those of the
//! newest state of which every page is there; if there is none, all frames that are what was written, up to the last commit.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use super::accept::describe;
use super::salvage::Salvage;
use super::survey::{Survey, look};
use super::{FRAME_HEAD, USUAL_PAGE, log_path, offset_of};

/// Pages of a store that are in its log.
pub struct LogPages {
    /// The number of the frame of each page.
    frames: HashMap<u32, u32>,
    file: Option<File>,
    /// Octets of a page, as the log tells it.
    pub page_size: usize,
    /// What is wrong with the log, if anything that was committed is lost with it.
    pub lost: Option<String>,
}

// === impl LogPages ===

impl LogPages {
    /// Of a database that no process uses.
    pub fn read(main: &Path) -> Self {
        Self::try_read(main).unwrap_or_else(|error| {
            let log = log_path(main);
            Self {
                lost: Some(format!("the log {} cannot be read: {error}", log.display())),
                ..Self::none()
            }
        })
    }

    fn none() -> Self {
        Self {
            frames: HashMap::new(),
            file: None,
            page_size: USUAL_PAGE,
            lost: None,
        }
    }

    fn try_read(main: &Path) -> io::Result<Self> {
        let mut pages = Self::none();
        let Some(damage) = look(main)? else {
            let survey = Survey::read(&log_path(main))?;
            pages.take(
                main,
                &survey,
                survey.intact(survey.kept),
                survey.layout.page_size,
            )?;
            return Ok(pages);
        };
        let size = damage.survey.layout.page_size;
        match Salvage::find(main, &damage) {
            Ok(Some(whole)) if whole.upto == damage.last => {
                let frames = whole.frames.iter().map(|frame| (frame.page, frame.number));
                pages.take(main, &damage.survey, frames, size)?;
            }
            // The database may be unreadable itself.
            _ => {
                pages.lost = Some(describe(main, &damage));
                let intact = damage.survey.intact(damage.last);
                pages.take(main, &damage.survey, intact, size)?;
            }
        }
        Ok(pages)
    }

    fn take(
        &mut self,
        main: &Path,
        survey: &Survey,
        frames: impl Iterator<Item = (u32, u32)>,
        page_size: usize,
    ) -> io::Result<()> {
        if survey.is_absent() {
            return Ok(());
        }
        // Later frames replace earlier ones.
        self.frames.extend(frames);
        self.page_size = page_size;
        self.file = Some(File::open(log_path(main))?);
        Ok(())
    }

    /// The highest page that is in it; 0 for none.
    pub fn highest(&self) -> u32 {
        self.frames.keys().copied().max().unwrap_or(0)
    }

    /// A page; `None` for one that only the database has.
    ///
    /// # Errors
    /// The disk.
    pub fn page(&self, page: u32) -> io::Result<Option<Vec<u8>>> {
        let (Some(frame), Some(file)) = (self.frames.get(&page), &self.file) else {
            return Ok(None);
        };
        let mut content = vec![0; self.page_size];
        let at = offset_of(*frame, self.page_size) + FRAME_HEAD as u64;
        file.read_exact_at(&mut content, at)?;
        Ok(Some(content))
    }
}
