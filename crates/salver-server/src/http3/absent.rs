//! HTTP/3 where it is left out: the names that the rest of the server uses. Of its sockets there are none.

use std::io;
use std::net::UdpSocket;

use crate::context::Generation;
use crate::inherited_sockets::InheritedSockets;
use crate::listener::{BindError, Listener, ListenerId};
use crate::settings::Settings;

/// The sockets of a worker.
pub(crate) enum QuicSockets {}

impl QuicSockets {
    /// None for any worker.
    pub(crate) fn bind(
        _: &[Listener],
        settings: &Settings,
        _: &mut InheritedSockets,
        _: &[ListenerId],
    ) -> Result<Vec<Option<Self>>, BindError> {
        Ok((0..settings.workers).map(|_| None).collect())
    }

    pub(crate) fn port(&self) -> u16 {
        match *self {}
    }

    pub(crate) fn listeners(&self) -> &[ListenerId] {
        match *self {}
    }
}

/// HTTP/3 of a generation that is to come.
pub(crate) struct NextHttp3;

impl NextHttp3 {
    pub(crate) fn open(sockets: Option<QuicSockets>, _: bool) -> io::Result<Self> {
        match sockets {
            None => Ok(NextHttp3),
            Some(sockets) => match sockets {},
        }
    }
}

/// HTTP/3 on one loop.
#[derive(Default)]
pub(crate) struct Http3Endpoints {}

impl Http3Endpoints {
    pub(crate) fn serve(&mut self, _: NextHttp3, _: &Generation) {}

    pub(crate) fn take_datagrams(&mut self) -> io::Result<()> {
        Ok(())
    }

    pub(crate) fn sockets(&self) -> io::Result<Vec<(ListenerId, UdpSocket)>> {
        Ok(Vec::new())
    }

    pub(crate) fn leave_new_connections(&self) {}

    pub(crate) fn are_idle(&self) -> bool {
        true
    }

    pub(crate) async fn end(&mut self) {}
}
