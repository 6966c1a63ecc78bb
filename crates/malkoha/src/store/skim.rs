//! Checking a file in pieces, before there is memory for its content.

use crate::error::Error;

use super::compound::read_outline;
use super::elastic::Outline;
use super::format::Form;
use super::record::Opening;
use super::section::Input;

/// Verifies every header and every checksum of a file of any form, and keeps nothing of its tables.
pub(super) fn skim(input: &mut Input<'_>) -> Result<(), Error> {
    let records = match input.form()? {
        Form::Single | Form::Elastic => 1,
        Form::Chain | Form::Generations | Form::Sharded => read_outline(input)?.parts,
    };
    (0..records).try_for_each(|_| skim_record(input))
}

fn skim_record(input: &mut Input<'_>) -> Result<(), Error> {
    if input.form()? == Form::Elastic {
        let outline = Outline::read(input)?;
        let mut checksum = outline.checksum;
        for region in &outline.regions {
            checksum = input.section("table", (region.table_bytes(), checksum), |_| ())?;
        }
        return Ok(());
    }
    input.expect(Form::Single)?;
    let opening = Opening::read(input)?;
    input.section("table", (opening.table_bytes(), opening.checksum), |_| ()).map(|_| ())
}
