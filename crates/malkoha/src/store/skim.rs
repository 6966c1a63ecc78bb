//! Checking a file in pieces, before there is memory for its content.

use crate::error::Error;

use super::compound::read_outline;
use super::format::Form;
use super::record::Opening;
use super::section::Input;

/// Verifies every header and every checksum of a file of any form, and keeps nothing of its tables.
pub(super) fn skim(input: &mut Input<'_>) -> Result<(), Error> {
    let records = if input.form()? == Form::Single { 1 } else { read_outline(input)?.parts };
    for _ in 0..records {
        input.expect(Form::Single)?;
        let opening = Opening::read(input)?;
        input.section("table", (opening.table_bytes(), opening.checksum), |_| ())?;
    }
    Ok(())
}
