//! The file of the cells (`--cells`): a line for each, as it comes.

use std::fs::File;
use std::io::{BufReader, BufWriter, Write as _};
use std::path::{Path, PathBuf};

use netperf_campaign::matrix::{CellReader, CellWriter, CellsHead, Matrix};
use netperf_campaign::outcome::CampaignCell;

use crate::files;

/// The file.
pub(super) struct CellFile {
    path: PathBuf,
    file: Option<BufWriter<File>>,
    writer: Option<CellWriter<BufWriter<File>>>,
}

impl CellFile {
    /// Makes the file, or empties it.
    ///
    /// # Errors
    /// One line.
    pub(super) fn new(path: &Path) -> Result<Self, String> {
        let file = File::create(path).map_err(|why| files::unwritten(path, &why))?;
        Ok(Self {
            path: path.to_owned(),
            file: Some(BufWriter::new(file)),
            writer: None,
        })
    }

    fn told<T>(&self, done: std::io::Result<T>) -> Result<T, String> {
        done.map_err(|why| files::unwritten(&self.path, &why))
    }

    /// Its name, for a document.
    pub(super) fn name(&self) -> String {
        self.path.to_string_lossy().into_owned()
    }

    /// Writes the head, unless it is there.
    ///
    /// # Errors
    /// One line.
    pub(super) fn begin(&mut self, head: impl FnOnce() -> CellsHead) -> Result<(), String> {
        if let Some(file) = self.file.take() {
            let writer = CellWriter::new(file, &head());
            self.writer = Some(self.told(writer)?);
        }
        Ok(())
    }

    /// Writes a cell.
    ///
    /// # Errors
    /// One line.
    pub(super) fn write(&mut self, cell: &CampaignCell, again: bool) -> Result<(), String> {
        let written = self
            .writer
            .as_mut()
            .map(|writer| writer.write(&cell.record(again)));
        self.told(written.unwrap_or(Ok(())))
    }

    /// Hands over what waits in memory.
    ///
    /// # Errors
    /// One line.
    pub(super) fn flush(&mut self) -> Result<(), String> {
        let flushed = self.writer.as_mut().map(CellWriter::flush);
        self.told(flushed.unwrap_or(Ok(())))
    }

    /// Writes the end.
    ///
    /// # Errors
    /// One line.
    pub(super) fn finish(&mut self, complete: bool, lost: Vec<String>) -> Result<(), String> {
        let finished = self
            .writer
            .take()
            .map(|writer| writer.finish(complete, lost)?.flush());
        self.told(finished.unwrap_or(Ok(())))
    }

    /// The matrices of what was written.
    ///
    /// # Errors
    /// One line.
    pub(super) fn matrices(&mut self) -> Result<Vec<Matrix>, String> {
        self.flush()?;
        let file = self.told(File::open(&self.path))?;
        let name = netperf_web::escape::line(&self.name());
        let mut reader =
            CellReader::new(BufReader::new(file)).map_err(|why| format!("{name}: {why}"))?;
        reader.matrices().map_err(|why| format!("{name}: {why}"))
    }
}
