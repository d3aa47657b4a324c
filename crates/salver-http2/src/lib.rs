//! HTTP/2 (RFC 9113) and HPACK (RFC 7541) for a server, without I/O.
#![forbid(unsafe_code)]
