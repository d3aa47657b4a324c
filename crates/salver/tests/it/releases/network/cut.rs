//! Deploys that are cut: the connection, the server, the disk.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use rustix::process::Signal;
use salver_test::cannot_be_shown;

use super::api::{Api, VERSIONS, files, piece};
use super::{Deployment, Taking, deploy_to, fail_to_deploy, names};
use crate::common::stop;

/// What is done when so many bytes have gone to the server.
type AtCut = Box<dyn Fn(&State, usize) + Send + Sync>;

/// A proxy that ends a connection each time that so many bytes have gone to the server.
struct Cutting {
    addr: SocketAddr,
    state: Arc<State>,
}

struct State {
    /// Where the server is by now.
    to: Mutex<SocketAddr>,
    /// The bytes until the next cut.
    left: AtomicUsize,
    every: usize,
    cuts: AtomicUsize,
    at_cut: AtCut,
}

impl Cutting {
    fn start(to: SocketAddr, every: usize, at_cut: AtCut) -> Cutting {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let addr = listener.local_addr().unwrap();
        let state = Arc::new(State {
            to: Mutex::new(to),
            left: AtomicUsize::new(every),
            every,
            cuts: AtomicUsize::new(0),
            at_cut,
        });
        let shared = Arc::clone(&state);
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let to = *shared.to.lock().unwrap();
                // Nobody listens there for a moment.
                let Ok(server) = TcpStream::connect(to) else {
                    continue;
                };
                let pair = (client.try_clone().unwrap(), server.try_clone().unwrap());
                let counted = Arc::clone(&shared);
                std::thread::spawn(move || forward(client, server, Some(&counted)));
                std::thread::spawn(move || forward(pair.1, pair.0, None));
            }
        });
        Cutting { addr, state }
    }
}

fn forward(mut from: TcpStream, mut to: TcpStream, counted: Option<&State>) {
    let mut buffer = vec![0; 16 * 1024];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        if let Some(state) = counted {
            let before = state
                .left
                .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| {
                    Some(left.checked_sub(count).unwrap_or(state.every))
                });
            if before.unwrap() < count {
                (state.at_cut)(state, state.cuts.fetch_add(1, Ordering::SeqCst));
                break;
            }
        }
        if to.write_all(&buffer[..count]).is_err() {
            break;
        }
    }
    let _ = (
        from.shutdown(std::net::Shutdown::Both),
        to.shutdown(std::net::Shutdown::Both),
    );
}

#[test]
fn a_deploy_whose_connection_is_cut_goes_on() {
    let site = Deployment::new(&[("index.html", "one")]);
    for number in 0..40 {
        site.put(&format!("{number}.txt"), format!("file {number}"));
    }
    site.put("long.bin", "0123456789abcdef".repeat(300_000));
    let taking = Taking::start(&site);
    let cutting = Cutting::start(taking.admin, 1_300_000, Box::new(|_, _| {}));
    let url = format!("http://{}/", cutting.addr);
    let deployed = deploy_to(&site, &url, &[]);
    assert_eq!(site.current().as_deref(), deployed["release"].as_str());
    let cuts = cutting.state.cuts.load(Ordering::SeqCst);
    assert!(cuts >= 2, "cut {cuts} times");
    site.assert_sound();
    assert_eq!(site.deploy()["unchanged"], true);
    stop(taking.server);
}

#[test]
fn a_server_that_is_killed_leaves_the_old_release_and_goes_on_with_what_has_come() {
    let long = "0123456789abcdef".repeat(4000);
    let site = Deployment::new(&[("index.html", "one")]);
    let taking = Taking::start(&site);
    let first = deploy_to(&site, &taking.url(), &[]);
    site.put("long.txt", &long);
    let api = Api::new(&taking, VERSIONS[0]);
    let deploy = api.begin(&files(&site));
    assert_eq!(api.send(&deploy, &piece(long.as_bytes(), 0, 20_000)).0, 200);
    taking.server.signal(Signal::KILL);
    drop(taking);
    assert_eq!(site.current().as_deref(), first["release"].as_str());
    site.assert_sound();
    let taking = Taking::start(&site);
    let api = Api::new(&taking, VERSIONS[1]);
    assert_eq!(
        api.send(&deploy, &piece(long.as_bytes(), 20_000, 30_000)).0,
        404
    );
    let deploy = api.begin(&files(&site));
    assert_eq!(api.missing(&deploy)[0]["received"], 20_000);
    let second = deploy_to(&site, &taking.url(), &[]);
    assert_eq!(second["previous"], first["release"]);
    site.assert_sound();
    stop(taking.server);
}

#[test]
fn a_client_outlives_servers_that_are_killed_under_it() {
    let site = Deployment::new(&[("index.html", "one"), ("b.txt", "two")]);
    site.put("long.bin", "0123456789abcdef".repeat(300_000));
    let servers = Arc::new(Mutex::new(vec![Taking::start(&site)]));
    let admin = servers.lock().unwrap()[0].admin;
    let (killed, path) = (Arc::clone(&servers), site.store());
    let cutting = Cutting::start(
        admin,
        1_500_000,
        Box::new(move |state, cut| {
            if cut > 1 {
                return;
            }
            let mut servers = killed.lock().unwrap();
            servers[cut].server.signal(Signal::KILL);
            let again = Taking::start_at(&path, &["--metrics", "0"]);
            *state.to.lock().unwrap() = again.admin;
            servers.push(again);
        }),
    );
    let url = format!("http://{}/", cutting.addr);
    let deployed = deploy_to(&site, &url, &[]);
    assert_eq!(site.current().as_deref(), deployed["release"].as_str());
    // Who cuts has them too, and is there until the tests end.
    let servers = std::mem::take(&mut *servers.lock().unwrap());
    assert_eq!(servers.len(), 3);
    drop(servers);
    site.assert_sound();
    assert_eq!(site.deploy()["unchanged"], true);
}

#[test]
fn on_a_full_disk_the_server_says_so_and_the_old_release_stays() {
    let site = Deployment::new(&[("index.html", "one")]);
    let store = site.store();
    fs::create_dir(&store).unwrap();
    let mounted = Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=512k", "tmpfs"])
        .arg(&store)
        .output();
    if !mounted.is_ok_and(|mounted| mounted.status.success()) {
        return cannot_be_shown("a full disk", "this takes root, who may mount one");
    }
    let outcome = std::panic::catch_unwind(|| {
        let taking = Taking::start(&site);
        let first = deploy_to(&site, &taking.url(), &[]);
        site.put("long.bin", vec![b'x'; 700_000]);
        let said = fail_to_deploy(&site, &taking.url(), &[]);
        assert!(
            said.contains("No space left") && said.contains("salver prune"),
            "{said}"
        );
        assert_eq!(site.current().as_deref(), first["release"].as_str());
        site.assert_sound();
        // What has come of it is not what others have no room for.
        assert!(names(&store.join("incoming")).is_empty());
        site.put("long.bin", vec![b'x'; 200_000]);
        let second = deploy_to(&site, &taking.url(), &[]);
        assert_eq!(second["previous"], first["release"]);
        site.assert_sound();
        stop(taking.server);
    });
    let unmounted = Command::new("umount").arg(&store).status().unwrap();
    assert!(unmounted.success());
    outcome.unwrap();
}
