//! The view of a listing that a query asks for: order, filter and page.

use crate::text::{decode_query, encode_query};

/// The longest filter that is read, in bytes; longer ones are cut. No name is longer on common disks.
const LONGEST_FILTER: usize = 256;

/// The column that entries are sorted by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Sort {
    /// The name.
    #[default]
    Name,
    /// The length of files.
    Size,
    /// The time of the last change.
    Date,
}

/// The direction that entries are sorted in. Directories come first in both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Order {
    /// The least first.
    #[default]
    Ascending,
    /// The greatest first.
    Descending,
}

/// The part of a directory that is shown, and how.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct View {
    /// The column that entries are sorted by.
    pub sort: Sort,
    /// The direction.
    pub order: Order,
    /// The text that names hold; empty for all.
    pub filter: String,
    /// The number of the page, from 0.
    pub page: u32,
}

impl Sort {
    /// All columns.
    pub const ALL: [Sort; 3] = [Sort::Name, Sort::Size, Sort::Date];

    /// The name in a query.
    pub fn name(self) -> &'static str {
        match self {
            Sort::Name => "name",
            Sort::Size => "size",
            Sort::Date => "date",
        }
    }
}

impl Order {
    /// The name in a query.
    pub fn name(self) -> &'static str {
        match self {
            Order::Ascending => "asc",
            Order::Descending => "desc",
        }
    }

    /// The other direction.
    #[must_use]
    pub fn reversed(self) -> Self {
        match self {
            Order::Ascending => Order::Descending,
            Order::Descending => Order::Ascending,
        }
    }
}

impl View {
    /// The view that a query asks for, as a form sends it: `sort`, `order`, `filter` and `page`. What it does not
    /// know is left out, as if it were not there.
    pub fn of_query(query: &[u8]) -> Self {
        let mut view = View::default();
        for pair in query.split(|&byte| byte == b'&') {
            let mut parts = pair.splitn(2, |&byte| byte == b'=');
            let name = parts.next().unwrap_or_default();
            let value = parts.next().unwrap_or_default();
            match name {
                b"sort" => {
                    let known = Sort::ALL.into_iter();
                    let mut known = known.filter(|sort| sort.name().as_bytes() == value);
                    view.sort = known.next().unwrap_or(view.sort);
                }
                b"order" => match value {
                    b"asc" => view.order = Order::Ascending,
                    b"desc" => view.order = Order::Descending,
                    _ => {}
                },
                b"filter" => {
                    let mut filter = decode_query(value);
                    filter.truncate(filter.floor_char_boundary(LONGEST_FILTER));
                    view.filter = filter;
                }
                b"page" => {
                    let number = std::str::from_utf8(value).ok();
                    let number = number.and_then(|number| number.parse::<u32>().ok());
                    view.page = number.unwrap_or(1).saturating_sub(1);
                }
                _ => {}
            }
        }
        view
    }

    /// The query that asks for this view, `?` included: always the same for the same view.
    pub fn to_query(&self) -> String {
        let mut query = format!("?sort={}&order={}", self.sort.name(), self.order.name());
        if !self.filter.is_empty() {
            query.push_str("&filter=");
            encode_query(&self.filter, &mut query);
        }
        if self.page > 0 {
            query.push_str("&page=");
            query.push_str(&self.page.saturating_add(1).to_string());
        }
        query
    }

    /// The first page of the same entries by this column: in the other direction if they are sorted by it already.
    #[must_use]
    pub fn sorted_by(&self, sort: Sort) -> Self {
        let order = match sort == self.sort {
            true => self.order.reversed(),
            false => Order::Ascending,
        };
        View {
            sort,
            order,
            page: 0,
            filter: self.filter.clone(),
        }
    }

    /// Another page of the same entries.
    #[must_use]
    pub fn at_page(&self, page: u32) -> Self {
        View {
            page,
            ..self.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_query_is_a_view() {
        let check = |query: &str, sort, order, filter: &str, page| {
            let expected = View {
                sort,
                order,
                filter: filter.to_owned(),
                page,
            };
            assert_eq!(View::of_query(query.as_bytes()), expected, "{query}");
        };
        let (name, up, down) = (Sort::Name, Order::Ascending, Order::Descending);
        check("", name, up, "", 0);
        check("sort=size&order=desc", Sort::Size, down, "", 0);
        check("sort=date&page=3", Sort::Date, up, "", 2);
        check("sort=SIZE&order=&page=0&x=y&&=", name, up, "", 0);
        check("page=99999999999999999999", name, up, "", 0);
        check("filter=a+b%26%C3%A9%zz%ff", name, up, "a b&é%zz\u{fffd}", 0);
        let long = "é".repeat(200);
        check(&format!("filter={long}"), name, up, &"é".repeat(128), 0);
    }

    proptest! {
        #[test]
        fn a_view_survives_its_query(
            filter in "\\PC{0,20}", page in 0..9_u32, sort in 0..3_usize, down in any::<bool>()
        ) {
            let order = if down { Order::Descending } else { Order::Ascending };
            let view = View { sort: Sort::ALL[sort], order, filter, page };
            let query = view.to_query();
            prop_assert!(query.is_ascii());
            prop_assert_eq!(View::of_query(&query.as_bytes()[1..]), view);
        }

        #[test]
        fn no_query_is_too_odd(query in proptest::collection::vec(any::<u8>(), 0..80)) {
            let view = View::of_query(&query);
            prop_assert_eq!(View::of_query(&view.to_query().as_bytes()[1..]), view);
        }
    }
}
