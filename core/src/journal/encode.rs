//! Values as bytes: the writing half of the journal's serialisation.
//!
//! Nothing describes itself: a struct is its fields in order, an enum the number of its variant and
//! then its fields. Numbers are [varints](super::bytes::put_varint), signed ones zigzagged; a
//! `Timestamp` is the difference from the record's own time, a `Seed` its eight bytes; a text is the
//! place of one met before plus one, or zero, its length and its bytes.

use core::fmt;

use serde::ser::{self, Serialize};

use super::bytes::{put_varint, zigzag};
use super::names::Names;
use crate::time::Timestamp;

/// Writes values at the end of a buffer.
pub(super) struct Encoder<'a> {
    out: &'a mut Vec<u8>,
    /// Texts met before; without, every text is written in full.
    names: Option<&'a mut Names>,
    /// What times are differences from.
    base: Timestamp,
    next: Number,
}

/// How the next whole number is written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Number {
    Plain,
    Time,
    Chance,
}

impl Number {
    /// By the name of the type around it.
    pub(super) fn of(name: &str) -> Self {
        match name {
            "Timestamp" => Self::Time,
            "Seed" => Self::Chance,
            _ => Self::Plain,
        }
    }
}

/// A value that this serialisation has no bytes for: a map of unknown length, or a variant that is
/// not written.
#[derive(Debug)]
pub(super) struct Unwritable;

impl fmt::Display for Unwritable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value that a journal cannot hold")
    }
}

impl std::error::Error for Unwritable {}

impl ser::Error for Unwritable {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self
    }
}

type Written = Result<(), Unwritable>;

impl<'a> Encoder<'a> {
    pub(super) const fn new(
        out: &'a mut Vec<u8>,
        names: Option<&'a mut Names>,
        base: Timestamp,
    ) -> Self {
        Self { out, names, base, next: Number::Plain }
    }

    fn number(&mut self, value: u64) {
        match core::mem::replace(&mut self.next, Number::Plain) {
            Number::Plain => put_varint(self.out, value),
            Number::Time => {
                let after = value.wrapping_sub(self.base.as_micros());
                put_varint(self.out, zigzag(after as i64));
            }
            Number::Chance => self.out.extend_from_slice(&value.to_le_bytes()),
        }
    }

    fn text(&mut self, text: &str) {
        match self.names.as_mut().and_then(|names| names.place(text)) {
            Some(place) => put_varint(self.out, place.saturating_add(1)),
            None => {
                self.out.push(0);
                put_varint(self.out, text.len() as u64);
                self.out.extend_from_slice(text.as_bytes());
            }
        }
    }
}

impl ser::Serializer for &mut Encoder<'_> {
    type Ok = ();
    type Error = Unwritable;
    type SerializeSeq = Self;
    type SerializeTuple = Self;
    type SerializeTupleStruct = Self;
    type SerializeTupleVariant = Self;
    type SerializeMap = Self;
    type SerializeStruct = Self;
    type SerializeStructVariant = Self;

    fn serialize_bool(self, value: bool) -> Written {
        self.out.push(u8::from(value));
        Ok(())
    }

    fn serialize_i8(self, value: i8) -> Written {
        self.serialize_i64(value.into())
    }

    fn serialize_i16(self, value: i16) -> Written {
        self.serialize_i64(value.into())
    }

    fn serialize_i32(self, value: i32) -> Written {
        self.serialize_i64(value.into())
    }

    fn serialize_i64(self, value: i64) -> Written {
        put_varint(self.out, zigzag(value));
        Ok(())
    }

    fn serialize_u8(self, value: u8) -> Written {
        self.out.push(value);
        Ok(())
    }

    fn serialize_u16(self, value: u16) -> Written {
        self.serialize_u64(value.into())
    }

    fn serialize_u32(self, value: u32) -> Written {
        self.serialize_u64(value.into())
    }

    fn serialize_u64(self, value: u64) -> Written {
        self.number(value);
        Ok(())
    }

    fn serialize_f32(self, value: f32) -> Written {
        self.serialize_f64(value.into())
    }

    fn serialize_f64(self, value: f64) -> Written {
        self.out.extend_from_slice(&value.to_bits().to_le_bytes());
        Ok(())
    }

    fn serialize_char(self, value: char) -> Written {
        self.serialize_u32(value.into())
    }

    fn serialize_str(self, value: &str) -> Written {
        self.text(value);
        Ok(())
    }

    fn serialize_bytes(self, value: &[u8]) -> Written {
        put_varint(self.out, value.len() as u64);
        self.out.extend_from_slice(value);
        Ok(())
    }

    fn serialize_none(self) -> Written {
        self.serialize_bool(false)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Written {
        self.out.push(1);
        value.serialize(self)
    }

    fn serialize_unit(self) -> Written {
        Ok(())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Written {
        Ok(())
    }

    fn serialize_unit_variant(self, _: &'static str, index: u32, _: &'static str) -> Written {
        self.serialize_u32(index)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        value: &T,
    ) -> Written {
        self.next = Number::of(name);
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        index: u32,
        _: &'static str,
        value: &T,
    ) -> Written {
        put_varint(self.out, index.into());
        value.serialize(self)
    }

    fn serialize_seq(self, length: Option<usize>) -> Result<Self, Unwritable> {
        put_varint(self.out, length.ok_or(Unwritable)? as u64);
        Ok(self)
    }

    fn serialize_tuple(self, _: usize) -> Result<Self, Unwritable> {
        Ok(self)
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Self, Unwritable> {
        Ok(self)
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        index: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self, Unwritable> {
        put_varint(self.out, index.into());
        Ok(self)
    }

    fn serialize_map(self, length: Option<usize>) -> Result<Self, Unwritable> {
        self.serialize_seq(length)
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self, Unwritable> {
        Ok(self)
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        index: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self, Unwritable> {
        put_varint(self.out, index.into());
        Ok(self)
    }

    fn is_human_readable(&self) -> bool {
        false
    }
}

macro_rules! elements {
    ($($kind:ident, $method:ident;)*) => {$(
        impl ser::$kind for &mut Encoder<'_> {
            type Ok = ();
            type Error = Unwritable;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Written {
                value.serialize(&mut **self)
            }

            fn end(self) -> Written {
                Ok(())
            }
        }
    )*};
}

elements! {
    SerializeSeq, serialize_element;
    SerializeTuple, serialize_element;
    SerializeTupleStruct, serialize_field;
    SerializeTupleVariant, serialize_field;
}

macro_rules! fields {
    ($($kind:ident)*) => {$(
        impl ser::$kind for &mut Encoder<'_> {
            type Ok = ();
            type Error = Unwritable;

            fn serialize_field<T: Serialize + ?Sized>(
                &mut self,
                _: &'static str,
                value: &T,
            ) -> Written {
                value.serialize(&mut **self)
            }

            /// A field that is left out could not be told from the next one.
            fn skip_field(&mut self, _: &'static str) -> Written {
                Err(Unwritable)
            }

            fn end(self) -> Written {
                Ok(())
            }
        }
    )*};
}

fields! { SerializeStruct SerializeStructVariant }

impl ser::SerializeMap for &mut Encoder<'_> {
    type Ok = ();
    type Error = Unwritable;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Written {
        key.serialize(&mut **self)
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Written {
        value.serialize(&mut **self)
    }

    fn end(self) -> Written {
        Ok(())
    }
}
