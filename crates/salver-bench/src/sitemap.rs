//! URLs from a sitemap (sitemaps.org protocol 0.9), asked of the server that serves it.

use std::time::Duration;

use http::Uri;
use quick_xml::Reader;
use quick_xml::events::Event;

use crate::error::BenchError;
use crate::probe_client::ProbeClient;
use crate::target::{Target, origin_form, parse};
use crate::transport::Transport;
use crate::workload::Workload;

/// A sitemap index names at most so many sitemaps that are read.
const MOST_SITEMAPS: usize = 1000;

impl Workload {
    /// Of the URLs that the sitemap at `url` lists; those of a sitemap index are read too. A
    /// sitemap names the public host of a site: its URLs are asked of the server at `url` instead.
    ///
    /// # Errors
    /// The sitemap cannot be had, or is none.
    pub fn of_sitemap(
        url: &str,
        transport: &Transport,
        timeout: Duration,
    ) -> Result<Workload, BenchError> {
        let first = parse(url)?;
        let target = Target::of(std::slice::from_ref(&first))?;
        let mut client = ProbeClient::new(transport.dialer(&target)?, timeout);
        let mut to_read = vec![here(&target, &first)];
        let mut urls = Vec::new();
        let mut at = 0;
        while let Some(next) = to_read.get(at).cloned() {
            at += 1;
            let request = format!(
                "GET {} HTTP/1.1\r\nHost: {}\r\n\r\n",
                origin_form(&parse(&next)?),
                target.authority
            );
            let answer = client.call(request.as_bytes())?;
            let wrong = |why: &str| BenchError::Failed(format!("{next} is no sitemap: {why}"));
            if answer.status != 200 {
                return Err(wrong(&format!("its status is {}", answer.status)));
            }
            let text = std::str::from_utf8(&answer.content);
            let text = text.map_err(|_| wrong("it is not UTF-8"))?;
            let found = locations(text).map_err(|error| wrong(&error))?;
            let here = found.urls.iter().map(|url| here(&target, url));
            if found.is_index {
                to_read.extend(here.take(MOST_SITEMAPS - to_read.len().min(MOST_SITEMAPS)));
            } else {
                urls.extend(here);
            }
        }
        if urls.is_empty() {
            return Err(BenchError::Failed(format!("{url} lists no URL")));
        }
        let mut workload = Workload::of_urls(&urls)?;
        workload.transport = transport.clone();
        Ok(workload)
    }
}

/// What a sitemap lists.
#[derive(Debug, Default, PartialEq, Eq)]
struct Locations {
    /// They are sitemaps themselves.
    is_index: bool,
    urls: Vec<Uri>,
}

fn locations(xml: &str) -> Result<Locations, String> {
    let mut reader = Reader::from_str(xml);
    let mut found = Locations::default();
    let mut is_sitemap = false;
    let mut location: Option<String> = None;
    loop {
        match reader.read_event().map_err(|error| error.to_string())? {
            Event::Start(start) => match start.local_name().as_ref() {
                "urlset" => is_sitemap = true,
                "sitemapindex" => (is_sitemap, found.is_index) = (true, true),
                "loc" => location = Some(String::new()),
                _ => {}
            },
            Event::Text(text) => {
                if let Some(location) = &mut location {
                    location.push_str(&text);
                }
            }
            Event::CData(data) => {
                if let Some(location) = &mut location {
                    location.push_str(&data);
                }
            }
            Event::GeneralRef(reference) => {
                if let Some(location) = &mut location {
                    let escaped = format!("&{};", &*reference);
                    let text = quick_xml::escape::unescape(&escaped);
                    location.push_str(&text.map_err(|error| error.to_string())?);
                }
            }
            Event::End(end) if end.local_name().as_ref() == "loc" => {
                let text = location.take().unwrap_or_default();
                let url = parse(text.trim()).map_err(|error| error.to_string())?;
                found.urls.push(url);
            }
            Event::Eof => break,
            _ => {}
        }
    }
    match is_sitemap {
        true => Ok(found),
        false => Err("it has neither urlset nor sitemapindex".to_owned()),
    }
}

/// The same path on the server that is measured.
fn here(server: &Target, url: &Uri) -> String {
    format!("{}{}", server.origin(), origin_form(url))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locations_are_found() {
        let check = |xml: &str, is_index, expected: &[&str]| {
            let found = locations(xml).unwrap();
            assert_eq!(found.is_index, is_index, "{xml}");
            let urls: Vec<String> = found.urls.iter().map(Uri::to_string).collect();
            assert_eq!(urls, expected, "{xml}");
        };
        check(
            "<?xml version='1.0'?><urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>\
             <url><loc> https://a.example/x?a=1&amp;b=2 </loc><lastmod>2026-01-01</lastmod></url>\
             <url><loc><![CDATA[https://a.example/y]]></loc></url></urlset>",
            false,
            &["https://a.example/x?a=1&b=2", "https://a.example/y"],
        );
        check(
            "<sitemapindex><sitemap><loc>https://a.example/s.xml</loc></sitemap></sitemapindex>",
            true,
            &["https://a.example/s.xml"],
        );
        let server = Target::of(&[parse("http://127.0.0.1:8080/sitemap.xml").unwrap()]).unwrap();
        let url = parse("https://a.example/x?y").unwrap();
        assert_eq!(here(&server, &url), "http://127.0.0.1:8080/x?y");
    }

    #[test]
    fn what_is_no_sitemap_is_refused() {
        let check = |xml: &str| assert!(locations(xml).is_err(), "{xml}");
        check("");
        check("<html></html>");
        check("<urlset><url><loc>nonsense</loc></url></urlset>");
        check("<urlset><url></loc></urlset>");
    }
}
