//! The table as Apache Parquet.

use std::sync::Arc;

use parquet::basic::{LogicalType, Repetition, TimeUnit, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::Type;

use super::{ExportCells, ExportColumn, ExportTable};
use crate::error::HistoryError;

impl ExportTable {
    /// An Apache Parquet file with one row group.
    ///
    /// # Errors If the format does not allow the table, for example two columns with one
    /// name.
    pub fn parquet(&self) -> Result<Vec<u8>, HistoryError> {
        self.written().map_err(|error| {
            HistoryError::Document(format!("no Parquet can be made of it: {error}"))
        })
    }

    fn written(&self) -> Result<Vec<u8>, ParquetError> {
        let columns = self.columns.iter().map(ExportColumn::described);
        let columns = columns.collect::<Result<Vec<_>, _>>()?;
        let schema = Type::group_type_builder("results")
            .with_fields(columns.into_iter().map(Arc::new).collect())
            .build()?;
        let properties = Arc::new(WriterProperties::builder().build());
        let mut file = SerializedFileWriter::new(Vec::new(), Arc::new(schema), properties)?;
        let mut group = file.next_row_group()?;
        for column in &self.columns {
            if let Some(mut writer) = group.next_column()? {
                column.cells.write(&mut writer)?;
                writer.close()?;
            }
        }
        group.close()?;
        file.into_inner()
    }
}

impl ExportColumn {
    fn described(&self) -> Result<Type, ParquetError> {
        let (physical, logical, repetition) = match self.cells {
            ExportCells::Whole(_) => (Physical::INT64, None, Repetition::REQUIRED),
            ExportCells::Times(_) => (
                Physical::INT64,
                Some(LogicalType::timestamp(true, TimeUnit::MICROS)),
                Repetition::REQUIRED,
            ),
            ExportCells::Texts(_) => (
                Physical::BYTE_ARRAY,
                Some(LogicalType::String),
                Repetition::REQUIRED,
            ),
            ExportCells::Figures(_) => (Physical::DOUBLE, None, Repetition::OPTIONAL),
        };
        Type::primitive_type_builder(&self.name, physical)
            .with_logical_type(logical)
            .with_repetition(repetition)
            .build()
    }
}

impl ExportCells {
    fn write(&self, to: &mut SerializedColumnWriter<'_>) -> Result<(), ParquetError> {
        match self {
            Self::Whole(cells) | Self::Times(cells) => put::<Int64Type>(to, cells, None),
            Self::Texts(cells) => {
                let cells: Vec<ByteArray> = cells.iter().map(|text| text.as_str().into()).collect();
                put::<ByteArrayType>(to, &cells, None)
            }
            Self::Figures(cells) => {
                let there: Vec<i16> = cells.iter().map(|cell| cell.is_some().into()).collect();
                let cells: Vec<f64> = cells.iter().copied().flatten().collect();
                put::<DoubleType>(to, &cells, Some(&there))
            }
        }
    }
}

/// Writes a column; `there` marks the cells that are not empty, for an optional column.
fn put<T: DataType>(
    to: &mut SerializedColumnWriter<'_>,
    cells: &[T::T],
    there: Option<&[i16]>,
) -> Result<(), ParquetError> {
    to.typed::<T>().write_batch(cells, there, None)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::Field;

    fn column(name: &str, cells: ExportCells) -> ExportColumn {
        ExportColumn {
            name: name.to_owned(),
            cells,
        }
    }

    #[test]
    fn what_was_written_is_read_back_with_its_kinds() {
        let texts = ["a,b", "\u{fc}"].map(str::to_owned).to_vec();
        let table = ExportTable {
            columns: vec![
                column("id", ExportCells::Whole(vec![7, 8])),
                column(
                    "started",
                    ExportCells::Times(vec![1_700_000_000_000_001, 2]),
                ),
                column("test", ExportCells::Texts(texts)),
                column(
                    "rate (trans/s)",
                    ExportCells::Figures(vec![None, Some(0.5)]),
                ),
            ],
            rows: 2,
        };
        let bytes = bytes::Bytes::from(table.parquet().unwrap());
        let reader = SerializedFileReader::new(bytes).unwrap();
        let rows: Vec<Vec<(String, Field)>> = reader
            .get_row_iter(None)
            .unwrap()
            .map(|row| row.unwrap().into_columns())
            .collect();
        let row = |id, started, test: &str, rate| {
            [
                ("id", Field::Long(id)),
                ("started", Field::TimestampMicros(started)),
                ("test", Field::Str(test.to_owned())),
                ("rate (trans/s)", rate),
            ]
            .map(|(name, field)| (name.to_owned(), field))
            .to_vec()
        };
        let first = row(7, 1_700_000_000_000_001, "a,b", Field::Null);
        assert_eq!(rows, [first, row(8, 2, "\u{fc}", Field::Double(0.5))]);
    }

    #[test]
    fn a_table_without_rows_is_a_file() {
        let empty = ExportTable {
            columns: vec![column("id", ExportCells::Whole(Vec::new()))],
            rows: 0,
        };
        let bytes = bytes::Bytes::from(empty.parquet().unwrap());
        let reader = SerializedFileReader::new(bytes).unwrap();
        assert_eq!(reader.metadata().file_metadata().num_rows(), 0);
    }
}
