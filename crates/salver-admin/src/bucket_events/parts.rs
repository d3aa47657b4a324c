//! Parts of JSON that are read by what is wanted of them: what is something else is as if it was not there.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// A part of JSON; by default it is not there.
pub(super) trait Part: Default {
    /// That of a text.
    fn of_text(_: &str) -> Self {
        Self::default()
    }

    /// That of an object.
    fn of_object<'de, A: MapAccess<'de>>(mut object: A) -> Result<Self, A::Error> {
        while object.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Self::default())
    }

    /// That of an array.
    fn of_array<'de, A: SeqAccess<'de>>(mut array: A) -> Result<Self, A::Error> {
        while array.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Self::default())
    }
}

/// A text.
#[derive(Default)]
pub(super) struct Text(pub(super) Option<String>);

impl Part for Text {
    fn of_text(text: &str) -> Self {
        Text(Some(text.to_owned()))
    }
}

/// An object with the fields of `T`.
pub(super) struct Object<T>(pub(super) Option<T>);

impl<T> Default for Object<T> {
    fn default() -> Self {
        Object(None)
    }
}

impl<T: for<'a> Deserialize<'a>> Part for Object<T> {
    fn of_object<'de, A: MapAccess<'de>>(object: A) -> Result<Self, A::Error> {
        let fields = serde::de::value::MapAccessDeserializer::new(object);
        T::deserialize(fields).map(|fields| Object(Some(fields)))
    }
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        part(deserializer)
    }
}

impl<'de, T: for<'a> Deserialize<'a>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        part(deserializer)
    }
}

/// Reads a part, whatever it is.
pub(super) fn part<'de, P: Part, D: Deserializer<'de>>(deserializer: D) -> Result<P, D::Error> {
    deserializer.deserialize_any(PartVisitor(PhantomData))
}

struct PartVisitor<P>(PhantomData<P>);

impl<'de, P: Part> Visitor<'de> for PartVisitor<P> {
    type Value = P;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<P, E> {
        Ok(P::default())
    }

    fn visit_bool<E>(self, _: bool) -> Result<P, E> {
        Ok(P::default())
    }

    fn visit_i64<E>(self, _: i64) -> Result<P, E> {
        Ok(P::default())
    }

    fn visit_u64<E>(self, _: u64) -> Result<P, E> {
        Ok(P::default())
    }

    fn visit_f64<E>(self, _: f64) -> Result<P, E> {
        Ok(P::default())
    }

    fn visit_str<E>(self, text: &str) -> Result<P, E> {
        Ok(P::of_text(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, array: A) -> Result<P, A::Error> {
        P::of_array(array)
    }

    fn visit_map<A: MapAccess<'de>>(self, object: A) -> Result<P, A::Error> {
        P::of_object(object)
    }
}
