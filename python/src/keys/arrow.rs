//! Columns with the Arrow C interface: pyarrow, polars, pandas, DuckDB. Their strings stay where they are.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowDictionaryKeyType, BinaryViewType, ByteArrayType, ByteViewType, GenericBinaryType,
    GenericStringType, Int8Type, Int16Type, Int32Type, Int64Type, StringViewType, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{
    Array, ArrayRef, ArrowPrimitiveType, DictionaryArray, FixedSizeBinaryArray, GenericByteArray,
    GenericByteViewArray, NullArray, PrimitiveArray, StructArray,
};
use arrow_buffer::{ArrowNativeType, BooleanBuffer, NullBuffer, ScalarBuffer};
use arrow_schema::DataType;
use malkoha::{Key, KeyHash, KeyHasher};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

use super::{CHUNK, Column, Flat, Integer};

type Columns = Vec<Box<dyn Column>>;

/// The chunks of a column. The only column of a table counts as such.
pub(super) fn columns_of(arrays: Vec<ArrayRef>, hasher: &KeyHasher) -> PyResult<Columns> {
    arrays.into_iter().map(|array| column(array, hasher)).collect()
}

fn column(array: ArrayRef, hasher: &KeyHasher) -> PyResult<Box<dyn Column>> {
    use DataType as T;
    Ok(match array.data_type() {
        T::Int8 => numbers::<Int8Type>(&array),
        T::Int16 => numbers::<Int16Type>(&array),
        T::Int32 => numbers::<Int32Type>(&array),
        T::Int64 => signed(array.as_primitive()),
        T::UInt8 => numbers::<UInt8Type>(&array),
        T::UInt16 => numbers::<UInt16Type>(&array),
        T::UInt32 => numbers::<UInt32Type>(&array),
        T::UInt64 => numbers::<UInt64Type>(&array),
        T::Utf8 => Box::new(Strings::<GenericStringType<i32>>(array.as_bytes().clone())),
        T::LargeUtf8 => Box::new(Strings::<GenericStringType<i64>>(array.as_bytes().clone())),
        T::Binary => Box::new(Strings::<GenericBinaryType<i32>>(array.as_bytes().clone())),
        T::LargeBinary => Box::new(Strings::<GenericBinaryType<i64>>(array.as_bytes().clone())),
        T::Utf8View => Box::new(Views::<StringViewType>(array.as_byte_view().clone())),
        T::BinaryView => Box::new(Views::<BinaryViewType>(array.as_byte_view().clone())),
        T::FixedSizeBinary(_) => Box::new(array.as_fixed_size_binary().clone()),
        T::Null => {
            Box::new(Missing::of(array.as_any().downcast_ref::<NullArray>().map_or(0, NullArray::len)))
        }
        T::Dictionary(index, _) => dictionary(&array, index, hasher)?,
        T::Struct(fields) if fields.len() == 1 => only_column(array.as_struct(), hasher)?,
        T::Struct(fields) => return Err(several(fields.len())),
        other => return Err(no_column(other)),
    })
}

/// The only column of a table. A row that is missing as a whole has no key, whatever lies in the column there.
fn only_column(table: &StructArray, hasher: &KeyHasher) -> PyResult<Box<dyn Column>> {
    let column = column(table.column(0).clone(), hasher)?;
    match nulls_of(table) {
        None => Ok(column),
        Some(rows) => Ok(Box::new(Within { nulls: NullBuffer::union(Some(&rows), column.nulls()), column })),
    }
}

/// Whether polars may have made these arrays of Python objects: it gives out their addresses as binary data of 8 bytes,
/// and has no other binary data of fixed width.
pub(super) fn may_be_addresses(arrays: &[ArrayRef]) -> bool {
    arrays.iter().any(|array| match array.data_type() {
        DataType::FixedSizeBinary(8) => true,
        DataType::Struct(fields) if fields.len() == 1 => {
            may_be_addresses(std::slice::from_ref(array.as_struct().column(0)))
        }
        _ => false,
    })
}

fn several(columns: usize) -> PyErr {
    PyTypeError::new_err(format!("a table of {columns} columns; give the one column with the keys"))
}

fn no_column(data_type: &DataType) -> PyErr {
    let how = match data_type {
        DataType::Float16 | DataType::Float32 | DataType::Float64 | DataType::Boolean => {
            "cast it to integers or strings"
        }
        data_type if data_type.is_temporal() => "cast it to integers or strings",
        DataType::RunEndEncoded(..) => "decode it, or encode it as a dictionary",
        _ => "make one column of strings, binary data or integers of it",
    };
    PyTypeError::new_err(format!("a column of {data_type} has no keys; {how}"))
}

/// Integers by value.
struct Numbers<T: ArrowPrimitiveType> {
    values: ScalarBuffer<T::Native>,
    nulls: Option<NullBuffer>,
}

fn numbers<T>(array: &ArrayRef) -> Box<dyn Column>
where
    T: ArrowPrimitiveType,
    T::Native: Integer,
{
    let array: &PrimitiveArray<T> = array.as_primitive();
    Box::new(Numbers::<T> { values: array.values().clone(), nulls: nulls_of(array) })
}

/// Integers of 64 bits. If none is negative they are read as numbers without a sign, which filters hash in vectors.
fn signed(array: &PrimitiveArray<Int64Type>) -> Box<dyn Column> {
    let (values, nulls) = (array.values().clone(), nulls_of(array));
    if values.iter().fold(0, |all, value| all | value) < 0 {
        return Box::new(Numbers::<Int64Type> { values, nulls });
    }
    let len = values.len();
    Box::new(Numbers::<UInt64Type> { values: ScalarBuffer::new(values.into_inner(), 0, len), nulls })
}

impl<T: ArrowPrimitiveType> Column for Numbers<T>
where
    T::Native: Integer,
{
    fn len(&self) -> usize {
        self.values.len()
    }

    fn hash(&self, from: usize, hasher: &KeyHasher, hashes: &mut [KeyHash]) {
        for (hash, key) in hashes.iter_mut().zip(&self.values[from..]) {
            *hash = key.key_hash(hasher);
        }
    }

    fn slice(&self) -> Option<Flat<'_>> {
        T::Native::flat(&self.values)
    }

    fn nulls(&self) -> Option<&NullBuffer> {
        self.nulls.as_ref()
    }
}

/// Strings or bytes behind each other, with offsets.
struct Strings<T: ByteArrayType>(GenericByteArray<T>);

impl<T: ByteArrayType> Column for Strings<T> {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn hash(&self, from: usize, hasher: &KeyHasher, hashes: &mut [KeyHash]) {
        let data = self.0.value_data();
        let offsets = &self.0.value_offsets()[from..=from + hashes.len()];
        for (hash, ends) in hashes.iter_mut().zip(offsets.windows(2)) {
            *hash = hasher.bytes(&data[ends[0].as_usize()..ends[1].as_usize()]);
        }
    }

    fn nulls(&self) -> Option<&NullBuffer> {
        self.0.nulls().filter(|nulls| nulls.null_count() > 0)
    }
}

/// Strings or bytes as views: short ones in place, others in one of several buffers.
struct Views<T: ByteViewType>(GenericByteViewArray<T>);

impl<T: ByteViewType> Column for Views<T> {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn hash(&self, from: usize, hasher: &KeyHasher, hashes: &mut [KeyHash]) {
        let native = |row| -> &[u8] { self.0.value(row).as_ref() };
        for (hash, row) in hashes.iter_mut().zip(from..) {
            // What a missing row points to is undefined.
            let missing = self.0.is_null(row);
            *hash = hasher.bytes(if missing { &[] } else { native(row) });
        }
    }

    fn nulls(&self) -> Option<&NullBuffer> {
        self.0.nulls().filter(|nulls| nulls.null_count() > 0)
    }
}

impl Column for FixedSizeBinaryArray {
    fn len(&self) -> usize {
        Array::len(self)
    }

    fn hash(&self, from: usize, hasher: &KeyHasher, hashes: &mut [KeyHash]) {
        for (hash, row) in hashes.iter_mut().zip(from..) {
            *hash = hasher.bytes(self.value(row));
        }
    }

    fn nulls(&self) -> Option<&NullBuffer> {
        Array::nulls(self).filter(|nulls| nulls.null_count() > 0)
    }
}

/// A column in a table of which some rows are missing.
struct Within {
    column: Box<dyn Column>,
    nulls: Option<NullBuffer>,
}

impl Column for Within {
    fn len(&self) -> usize {
        self.column.len()
    }

    fn hash(&self, from: usize, hasher: &KeyHasher, hashes: &mut [KeyHash]) {
        self.column.hash(from, hasher, hashes);
    }

    fn slice(&self) -> Option<Flat<'_>> {
        self.column.slice()
    }

    fn nulls(&self) -> Option<&NullBuffer> {
        self.nulls.as_ref()
    }
}

/// Rows without keys.
struct Missing(NullBuffer);

impl Missing {
    fn of(rows: usize) -> Self {
        Self(NullBuffer::new_null(rows))
    }
}

impl Column for Missing {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn hash(&self, _: usize, _: &KeyHasher, _: &mut [KeyHash]) {}

    fn nulls(&self) -> Option<&NullBuffer> {
        Some(&self.0).filter(|nulls| !nulls.is_empty())
    }
}

/// Rows that refer to different keys, each of which is hashed once.
struct Dictionary<T: ArrowDictionaryKeyType> {
    hashes: Vec<KeyHash>,
    rows: PrimitiveArray<T>,
    nulls: Option<NullBuffer>,
}

fn dictionary(array: &ArrayRef, index: &DataType, hasher: &KeyHasher) -> PyResult<Box<dyn Column>> {
    match index {
        DataType::Int8 => entries::<Int8Type>(array.as_dictionary(), hasher),
        DataType::Int16 => entries::<Int16Type>(array.as_dictionary(), hasher),
        DataType::Int32 => entries::<Int32Type>(array.as_dictionary(), hasher),
        DataType::Int64 => entries::<Int64Type>(array.as_dictionary(), hasher),
        DataType::UInt8 => entries::<UInt8Type>(array.as_dictionary(), hasher),
        DataType::UInt16 => entries::<UInt16Type>(array.as_dictionary(), hasher),
        DataType::UInt32 => entries::<UInt32Type>(array.as_dictionary(), hasher),
        DataType::UInt64 => entries::<UInt64Type>(array.as_dictionary(), hasher),
        other => Err(no_column(other)),
    }
}

fn entries<T: ArrowDictionaryKeyType>(
    array: &DictionaryArray<T>,
    hasher: &KeyHasher,
) -> PyResult<Box<dyn Column>> {
    let values = column(array.values().clone(), hasher)?;
    let mut hashes = vec![KeyHash::from_raw(0); values.len()];
    for (hashes, from) in hashes.chunks_mut(CHUNK).zip((0..).step_by(CHUNK)) {
        values.hash(from, hasher, hashes);
    }
    let rows = array.keys().clone();
    let beyond = |row: &usize| rows.is_valid(*row) && rows.value(*row).as_usize() >= hashes.len();
    if let Some(row) = (0..rows.len()).find(beyond) {
        return Err(PyValueError::new_err(format!("row {row} refers to no entry of its dictionary")));
    }
    // A row is missing if it refers to nothing, or to an entry that is missing.
    let nulls = match values.nulls() {
        None => nulls_of(&rows),
        Some(entries) => {
            let valid =
                (0..rows.len()).map(|row| rows.is_valid(row) && entries.is_valid(rows.value(row).as_usize()));
            Some(NullBuffer::new(valid.collect::<BooleanBuffer>())).filter(|nulls| nulls.null_count() > 0)
        }
    };
    Ok(Box::new(Dictionary { hashes, rows, nulls }))
}

impl<T: ArrowDictionaryKeyType> Column for Dictionary<T> {
    fn len(&self) -> usize {
        self.rows.len()
    }

    fn hash(&self, from: usize, _: &KeyHasher, hashes: &mut [KeyHash]) {
        for (hash, entry) in hashes.iter_mut().zip(&self.rows.values()[from..]) {
            // What a missing row refers to is undefined.
            *hash = self.hashes.get(entry.as_usize()).copied().unwrap_or(KeyHash::from_raw(0));
        }
    }

    fn nulls(&self) -> Option<&NullBuffer> {
        self.nulls.as_ref()
    }
}

/// Which rows are missing, if any is.
fn nulls_of(array: &dyn Array) -> Option<NullBuffer> {
    array.nulls().filter(|nulls| nulls.null_count() > 0).cloned()
}
