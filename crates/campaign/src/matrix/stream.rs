//! Cells as JSON lines: a head, a line for each cell, and an end. Neither the writer nor the
//! reader holds more than a line.

use std::io::{self, BufRead, Read as _, Write};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{CellOutcome, CellRecord, CellsHead, Matrix};
use crate::protocol::MOST_MEMBERS;

/// The schema of the lines.
pub const CELLS_SCHEMA: &str = "netperf-cells-1";
/// Longest head in bytes.
const LONGEST_HEAD: u64 = 8 << 20;
/// Longest line of a cell in bytes.
const LONGEST_CELL: u64 = 64 << 10;
/// Most figures of a cell.
const MOST_FIGURES: usize = 256;
/// Most memory of all matrices, bytes.
const HEAVIEST: usize = 2 << 30;

/// The end of the cells.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CellsEnd {
    /// True if the campaign went to its end with all members.
    pub complete: bool,
    /// Number of cells.
    pub cells: u64,
    /// Names of the members that were lost.
    #[serde(default)]
    pub missing_members: Vec<String>,
}

/// Why cells cannot be read.
#[derive(Debug, Error)]
pub enum CellsError {
    /// The file cannot be read.
    #[error("{0}")]
    Read(#[from] io::Error),
    /// The first line is no head of cells.
    #[error("not the cells of a campaign: {0}")]
    Head(String),
    /// A line is no cell.
    #[error("line {line}: {why}")]
    Line {
        /// Its number, from 1.
        line: u64,
        /// Text of the error.
        why: String,
    },
}

/// A line behind the head.
#[derive(Deserialize)]
#[serde(untagged)]
enum CellsLine {
    Cell(CellRecord),
    End(CellsEnd),
}

/// Writes cells as they arrive.
#[derive(Debug)]
pub struct CellWriter<W> {
    to: W,
    cells: u64,
}

impl<W: Write> CellWriter<W> {
    /// Writes the head.
    ///
    /// # Errors
    /// If `to` fails.
    pub fn new(to: W, head: &CellsHead) -> io::Result<Self> {
        let mut writer = Self { to, cells: 0 };
        writer.line(head)?;
        Ok(writer)
    }

    fn line(&mut self, value: &impl Serialize) -> io::Result<()> {
        serde_json::to_writer(&mut self.to, value)?;
        self.to.write_all(b"\n")
    }

    /// Writes a cell.
    ///
    /// # Errors
    /// If the file fails.
    pub fn write(&mut self, cell: &CellRecord) -> io::Result<()> {
        self.cells += 1;
        self.line(cell)
    }

    /// Hands over what waits in memory.
    ///
    /// # Errors
    /// If the file fails.
    pub fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }

    /// Writes the end. Cells without one are those of a campaign that was interrupted.
    ///
    /// # Errors
    /// If the file fails.
    pub fn finish(mut self, complete: bool, missing_members: Vec<String>) -> io::Result<W> {
        let end = CellsEnd {
            complete,
            cells: self.cells,
            missing_members,
        };
        self.line(&end)?;
        self.to.flush()?;
        Ok(self.to)
    }
}

/// Reads cells one after the other.
#[derive(Debug)]
pub struct CellReader<R> {
    from: R,
    head: CellsHead,
    line: u64,
    end: Option<CellsEnd>,
    cells: u64,
    buffer: Vec<u8>,
}

impl<R: BufRead> CellReader<R> {
    /// Reads the head.
    ///
    /// # Errors
    /// If the file cannot be read, or the first line is something else.
    pub fn new(mut from: R) -> Result<Self, CellsError> {
        let mut buffer = Vec::new();
        if !next_line(&mut from, &mut buffer, LONGEST_HEAD)? {
            return Err(CellsError::Head(
                "the first line is not complete".to_owned(),
            ));
        }
        let head: CellsHead =
            serde_json::from_slice(&buffer).map_err(|error| CellsError::Head(error.to_string()))?;
        if head.schema != CELLS_SCHEMA {
            let schema = netperf_web::escape::line(&head.schema);
            return Err(CellsError::Head(format!("the schema is {schema}")));
        }
        let (members, figures) = (head.members.len(), head.figures.len());
        let is_large = Matrix::memory(members).saturating_mul(figures) > HEAVIEST;
        if members > MOST_MEMBERS || figures > MOST_FIGURES || is_large {
            let why = format!(
                "{members} members and {figures} metrics are too many: at most {MOST_MEMBERS}, \
                 {MOST_FIGURES}, and {} GiB of memory",
                HEAVIEST >> 30
            );
            return Err(CellsError::Head(why));
        }
        Ok(Self {
            from,
            head,
            line: 1,
            end: None,
            cells: 0,
            buffer,
        })
    }

    /// The head.
    pub const fn head(&self) -> &CellsHead {
        &self.head
    }

    /// The end, once all cells were read. Cells of an interrupted campaign have none: what is
    /// said of them is that they are not complete.
    #[must_use]
    pub fn end(&self) -> CellsEnd {
        let interrupted = CellsEnd {
            complete: false,
            cells: self.cells,
            missing_members: Vec::new(),
        };
        self.end.clone().unwrap_or(interrupted)
    }

    /// The matrices of the figures that have values, from all cells.
    ///
    /// # Errors
    /// If a line is no cell.
    pub fn matrices(&mut self) -> Result<Vec<Matrix>, CellsError> {
        let mut matrices = Matrix::of_head(&self.head);
        for record in self.by_ref() {
            let record = record?;
            for (figure, matrix) in matrices.iter_mut().enumerate() {
                matrix.add(&record, figure);
            }
        }
        matrices.retain(Matrix::has_values);
        Ok(matrices)
    }

    fn parsed(&mut self) -> Result<Option<CellRecord>, String> {
        let line: CellsLine = serde_json::from_slice(&self.buffer)
            .map_err(|_| "neither a cell nor the end".to_owned())?;
        let record = match line {
            CellsLine::End(end) => {
                self.end = Some(end);
                return Ok(None);
            }
            CellsLine::Cell(record) => record,
        };
        let members = self.head.members.len();
        let cell = record.cell;
        if cell.from >= members || cell.to >= members {
            return Err(format!("there is no member {}", cell.from.max(cell.to)));
        }
        let figures = self.head.figures.len();
        match &record.outcome {
            CellOutcome::Values(values) if values.len() != figures => {
                Err(format!("{} values of {figures} metrics", values.len()))
            }
            CellOutcome::Values(_) | CellOutcome::Missing(_) => Ok(Some(record)),
        }
    }
}

impl<R: BufRead> Iterator for CellReader<R> {
    type Item = Result<CellRecord, CellsError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.end.is_some() {
            return None;
        }
        self.line += 1;
        match next_line(&mut self.from, &mut self.buffer, LONGEST_CELL) {
            // A line without an end is one of a writer that was killed.
            Ok(false) => return None,
            Ok(true) => {}
            Err(error) => return Some(Err(error)),
        }
        let line = self.line;
        match self.parsed() {
            Ok(record) => {
                let record = record?;
                self.cells += 1;
                Some(Ok(record))
            }
            Err(why) => Some(Err(CellsError::Line { line, why })),
        }
    }
}

/// Reads a line of at most so many bytes; false if there is no complete one.
fn next_line(from: &mut impl BufRead, buffer: &mut Vec<u8>, most: u64) -> Result<bool, CellsError> {
    buffer.clear();
    let read = from.take(most).read_until(b'\n', buffer)?;
    let is_complete = buffer.last() == Some(&b'\n');
    if !is_complete && u64::try_from(read).is_ok_and(|read| read == most) {
        return Err(CellsError::Head(format!(
            "a line has more than {most} bytes"
        )));
    }
    Ok(is_complete)
}
