//! CSV files: rows of values for runs to take.

use crate::builder::Builder;
use crate::fault::{Fault, Place};

/// Most rows, over which a table is too large to be a part of a plan.
const MOST_ROWS: usize = 1_000_000;

/// How a file is to be read.
pub(crate) struct Reading<'a> {
    pub(crate) file: &'a str,
    pub(crate) place: Place,
    /// Names given to the columns; none: the first line has them.
    pub(crate) columns: Option<Vec<String>>,
    /// Leave out the first line.
    pub(crate) skip_first: bool,
    pub(crate) delimiter: u8,
}

/// The columns and rows of a file.
pub(crate) fn rows(builder: &Builder<'_>, reading: &Reading<'_>) -> Result<(Vec<String>, Vec<Vec<String>>), Fault> {
    let text = builder.file(reading.file, reading.place)?;
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .delimiter(reading.delimiter)
        .flexible(true)
        .from_reader(text.trim_start_matches('\u{feff}').as_bytes());
    let mut columns = reading.columns.clone();
    let mut rows = Vec::new();
    for (n, record) in reader.records().enumerate() {
        let fault = |line: usize, what: String| Fault {
            file: reading.file.to_owned(),
            place: Some(Place { line, column: 1 }),
            what,
            hint: String::new(),
        };
        let record = record.map_err(|e| fault(e.position().map_or(n + 1, |p| p.line() as usize), e.to_string()))?;
        let line = record.position().map_or(n + 1, |p| p.line() as usize);
        let cells: Vec<String> = record.iter().map(str::to_owned).collect();
        match &columns {
            None => columns = Some(cells.iter().map(|name| name.trim().to_owned()).collect()),
            Some(_) if n == 0 && reading.skip_first => {}
            Some(columns) if cells.len() < columns.len() => {
                let what = format!(
                    "column `{}` is missing: {} values for {} columns",
                    columns[cells.len()],
                    cells.len(),
                    columns.len()
                );
                return Err(fault(line, what));
            }
            Some(columns) => rows.push(cells[..columns.len()].to_vec()),
        }
        if rows.len() > MOST_ROWS {
            return Err(fault(line, format!("more than {MOST_ROWS} rows")));
        }
    }
    match columns {
        Some(columns) if !rows.is_empty() && columns.iter().all(|name| !name.is_empty()) => Ok((columns, rows)),
        Some(columns) if !rows.is_empty() => Err(Fault::at(
            reading.place,
            format!("`{}` has a column without a name: {}", reading.file, columns.join(", ")),
            "name the columns",
        )),
        _ => Err(Fault::at(reading.place, format!("`{}` has no rows", reading.file), "")),
    }
}
