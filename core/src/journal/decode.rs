//! Values from bytes: the reading half of the journal's serialisation. The bytes may be anything.

use core::fmt;

use serde::de::value::U32Deserializer;
use serde::de::{self, DeserializeSeed, IntoDeserializer, Visitor};

use super::bytes::{take, take_array, take_varint, unzigzag};
use super::encode::Number;
use super::names::Names;
use crate::time::Timestamp;

/// Reads values off the front of a record.
pub(super) struct Decoder<'d, 'n> {
    bytes: &'d [u8],
    names: &'n mut Names,
    base: Timestamp,
    next: Number,
}

/// Why the bytes are no such value.
#[derive(Debug)]
pub(super) struct Unreadable(pub(super) String);

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unreadable {}

impl de::Error for Unreadable {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self(message.to_string())
    }
}

fn cut() -> Unreadable {
    Unreadable("the record ends too early".to_owned())
}

impl<'d, 'n> Decoder<'d, 'n> {
    pub(super) const fn new(bytes: &'d [u8], names: &'n mut Names, base: Timestamp) -> Self {
        Self { bytes, names, base, next: Number::Plain }
    }

    /// What has not been read.
    pub(super) const fn rest(&self) -> &'d [u8] {
        self.bytes
    }

    fn varint(&mut self) -> Result<u64, Unreadable> {
        take_varint(&mut self.bytes).ok_or_else(cut)
    }

    fn byte(&mut self) -> Result<u8, Unreadable> {
        take_array::<1>(&mut self.bytes).map(|[byte]| byte).ok_or_else(cut)
    }

    fn flag(&mut self) -> Result<bool, Unreadable> {
        match self.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            other => Err(Unreadable(format!("{other} is not a truth value"))),
        }
    }

    fn number(&mut self) -> Result<u64, Unreadable> {
        Ok(match core::mem::replace(&mut self.next, Number::Plain) {
            Number::Plain => self.varint()?,
            Number::Time => {
                let after = unzigzag(self.varint()?) as u64;
                self.base.as_micros().wrapping_add(after)
            }
            Number::Chance => {
                take_array(&mut self.bytes).map(u64::from_le_bytes).ok_or_else(cut)?
            }
        })
    }

    /// How many elements come. Each needs a byte at least but for those without any content, so a
    /// claim beyond what is left is false.
    fn length(&mut self) -> Result<usize, Unreadable> {
        let length = usize::try_from(self.varint()?).unwrap_or(usize::MAX);
        if length > self.bytes.len() { Err(cut()) } else { Ok(length) }
    }

    fn text<V: Visitor<'d>>(&mut self, visitor: V) -> Result<V::Value, Unreadable> {
        let place = self.varint()?;
        if let Some(place) = place.checked_sub(1) {
            let text = self.names.at(place);
            let text = text.ok_or_else(|| Unreadable("a name that was not written before".into()));
            return visitor.visit_str(text?);
        }
        let length = self.varint()?;
        let bytes = take(&mut self.bytes, length).ok_or_else(cut)?;
        let text =
            core::str::from_utf8(bytes).map_err(|_| Unreadable("text not in UTF-8".into()))?;
        self.names.place(text);
        visitor.visit_borrowed_str(text)
    }
}

macro_rules! whole {
    ($($method:ident, $visit:ident, $type:ty, $read:ident;)*) => {$(
        fn $method<V: Visitor<'d>>(self, visitor: V) -> Result<V::Value, Unreadable> {
            let value = <$type>::try_from(self.$read()?);
            visitor.$visit(value.map_err(|_| Unreadable("a number out of its range".into()))?)
        }
    )*};
}

impl Decoder<'_, '_> {
    fn signed(&mut self) -> Result<i64, Unreadable> {
        Ok(unzigzag(self.varint()?))
    }

    fn float(&mut self) -> Result<f64, Unreadable> {
        let bits = take_array(&mut self.bytes).map(u64::from_le_bytes).ok_or_else(cut)?;
        Ok(f64::from_bits(bits))
    }
}

impl<'d> de::Deserializer<'d> for &mut Decoder<'d, '_> {
    type Error = Unreadable;

    whole! {
        deserialize_i8, visit_i8, i8, signed;
        deserialize_i16, visit_i16, i16, signed;
        deserialize_i32, visit_i32, i32, signed;
        deserialize_i64, visit_i64, i64, signed;
        deserialize_u8, visit_u8, u8, byte;
        deserialize_u16, visit_u16, u16, number;
        deserialize_u32, visit_u32, u32, number;
        deserialize_u64, visit_u64, u64, number;
    }

    fn deserialize_any<V: Visitor<'d>>(self, _: V) -> Result<V::Value, Unreadable> {
        Err(Unreadable("a value that does not say what it is".to_owned()))
    }

    fn deserialize_bool<V: Visitor<'d>>(self, visitor: V) -> Result<V::Value, Unreadable> {
        visitor.visit_bool(self.flag()?)
    }

    fn deserialize_f32<V: Visitor<'d>>(self, visitor: V) -> Result<V::Value, Unreadable> {
        visitor.visit_f64(self.float()?)
    }

    fn deserialize_f64<V: Visitor<'d>>(self, visitor: V) -> Result<V::Value, Unreadable> {
        visitor.visit_f64(self.float()?)
    }

    fn deserialize_char<V: Visitor<'d>>(self, visitor: V) -> Result<V::Value, Unreadable> {
        let value = u32::try_from(self.varint()?).ok().and_then(char::from_u32);
        visitor.visit_char(value.ok_or_else(|| Unreadable("not a character".to_owned()))?)
    }

    fn deserialize_str<V: Visitor<'d>>(self, visitor: V) -> Result<V::Value, Unreadable> {
        self.text(visitor)
    }

    fn deserialize_string<V: Visitor<'d>>(self, visitor: V) -> Result<V::Value, Unreadable> {
        self.text(visitor)
    }

    fn deserialize_bytes<V: Visitor<'d>>(self, visitor: V) -> Result<V::Value, Unreadable> {
        let length = self.varint()?;
        visitor.visit_borrowed_bytes(take(&mut self.bytes, length).ok_or_else(cut)?)
    }

    fn deserialize_byte_buf<V: Visitor<'d>>(self, visitor: V) -> Result<V::Value, Unreadable> {
        self.deserialize_bytes(visitor)
    }

    fn deserialize_option<V: Visitor<'d>>(self, visitor: V) -> Result<V::Value, Unreadable> {
        if self.flag()? { visitor.visit_some(self) } else { visitor.visit_none() }
    }

    fn deserialize_unit<V: Visitor<'d>>(self, visitor: V) -> Result<V::Value, Unreadable> {
        visitor.visit_unit()
    }

    fn deserialize_unit_struct<V: Visitor<'d>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Unreadable> {
        visitor.visit_unit()
    }

    fn deserialize_newtype_struct<V: Visitor<'d>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Unreadable> {
        self.next = Number::of(name);
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'d>>(self, visitor: V) -> Result<V::Value, Unreadable> {
        let left = self.length()?;
        visitor.visit_seq(Elements { decoder: self, left })
    }

    fn deserialize_tuple<V: Visitor<'d>>(
        self,
        left: usize,
        visitor: V,
    ) -> Result<V::Value, Unreadable> {
        visitor.visit_seq(Elements { decoder: self, left })
    }

    fn deserialize_tuple_struct<V: Visitor<'d>>(
        self,
        _: &'static str,
        left: usize,
        visitor: V,
    ) -> Result<V::Value, Unreadable> {
        self.deserialize_tuple(left, visitor)
    }

    fn deserialize_map<V: Visitor<'d>>(self, visitor: V) -> Result<V::Value, Unreadable> {
        let left = self.length()?;
        visitor.visit_map(Elements { decoder: self, left })
    }

    fn deserialize_struct<V: Visitor<'d>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Unreadable> {
        self.deserialize_tuple(fields.len(), visitor)
    }

    fn deserialize_enum<V: Visitor<'d>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Unreadable> {
        visitor.visit_enum(self)
    }

    fn deserialize_identifier<V: Visitor<'d>>(self, visitor: V) -> Result<V::Value, Unreadable> {
        self.deserialize_u32(visitor)
    }

    fn deserialize_ignored_any<V: Visitor<'d>>(self, visitor: V) -> Result<V::Value, Unreadable> {
        self.deserialize_any(visitor)
    }

    fn is_human_readable(&self) -> bool {
        false
    }
}

struct Elements<'a, 'd, 'n> {
    decoder: &'a mut Decoder<'d, 'n>,
    left: usize,
}

impl<'d> de::SeqAccess<'d> for Elements<'_, 'd, '_> {
    type Error = Unreadable;

    fn next_element_seed<T: DeserializeSeed<'d>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Unreadable> {
        let Some(left) = self.left.checked_sub(1) else { return Ok(None) };
        self.left = left;
        seed.deserialize(&mut *self.decoder).map(Some)
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.left)
    }
}

impl<'d> de::MapAccess<'d> for Elements<'_, 'd, '_> {
    type Error = Unreadable;

    fn next_key_seed<K: DeserializeSeed<'d>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Unreadable> {
        de::SeqAccess::next_element_seed(self, seed)
    }

    fn next_value_seed<V: DeserializeSeed<'d>>(&mut self, seed: V) -> Result<V::Value, Unreadable> {
        seed.deserialize(&mut *self.decoder)
    }
}

impl<'d> de::EnumAccess<'d> for &mut Decoder<'d, '_> {
    type Error = Unreadable;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'d>>(self, seed: V) -> Result<(V::Value, Self), Unreadable> {
        let index = u32::try_from(self.varint()?);
        let index = index.map_err(|_| Unreadable("a variant that does not exist".to_owned()))?;
        let index: U32Deserializer<Unreadable> = index.into_deserializer();
        Ok((seed.deserialize(index)?, self))
    }
}

impl<'d> de::VariantAccess<'d> for &mut Decoder<'d, '_> {
    type Error = Unreadable;

    fn unit_variant(self) -> Result<(), Unreadable> {
        Ok(())
    }

    fn newtype_variant_seed<T: DeserializeSeed<'d>>(self, seed: T) -> Result<T::Value, Unreadable> {
        seed.deserialize(self)
    }

    fn tuple_variant<V: Visitor<'d>>(
        self,
        left: usize,
        visitor: V,
    ) -> Result<V::Value, Unreadable> {
        visitor.visit_seq(Elements { decoder: self, left })
    }

    fn struct_variant<V: Visitor<'d>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Unreadable> {
        visitor.visit_seq(Elements { decoder: self, left: fields.len() })
    }
}
