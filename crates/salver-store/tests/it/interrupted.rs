//! Changes that do not come to their end: what is current is the old release or the new one, whole.
//!
//! Here they are ended by who waits, at each event. `releases` among the tests of `salver` kills the program at each of
//! its system calls.

use std::fs;

use salver_store::{Action, Error, Event, Writer};

use crate::site::Site;

#[test]
fn ended_at_any_event_nothing_was_switched() {
    let mut site = Site::new(&[("a.txt", "alpha"), ("b.txt", "beta"), ("c.txt", "gamma")]);
    let first = site.deploy().id;
    site.now += 60;
    for name in ["a.txt", "b.txt", "d.txt"] {
        site.put(name, format!("new {name}"));
    }
    let mut stops = 0_usize;
    loop {
        let mut left = stops;
        let mut writer = Writer::lock(&site.store(), "deploy").unwrap();
        let deployed = writer.deploy(&site.directory(), &site.options(), &mut |event| {
            let ends = left == 0 && matches!(event, Event::Done(_));
            left = left.saturating_sub(usize::from(matches!(event, Event::Done(_))));
            !ends
        });
        drop(writer);
        assert!(site.fsck().is_sound());
        match deployed {
            Ok(deployed) => {
                assert_eq!(site.store().current().unwrap(), Some(deployed.id.clone()));
                assert_eq!(deployed.files, 4);
                break;
            }
            Err(error) => {
                assert!(matches!(error, Error::Stopped), "{error}");
                assert_eq!(site.store().current().unwrap().as_ref(), Some(&first));
            }
        }
        stops += 1;
    }
    assert!(stops > 10, "{stops}");
    assert_eq!(fs::read_dir(site.path().join("new")).unwrap().count(), 0);
}

#[test]
fn what_the_journal_says_and_nobody_saw_is_undone() {
    let mut site = Site::new(&[("a.txt", "alpha")]);
    let first = site.deploy().id;
    let current = fs::read(site.path().join("current")).unwrap();
    site.now += 60;
    site.put("a.txt", "beta");
    let second = site.deploy().id;
    // As if the power had failed just before the switch.
    fs::write(site.path().join("current"), &current).unwrap();
    assert!(site.fsck().is_sound());
    drop(Writer::lock(&site.store(), "deploy").unwrap());
    assert_eq!(site.store().ids().unwrap(), [first]);
    let last = site.store().journal().unwrap().pop().unwrap();
    assert_eq!(
        (last.action, last.change, last.release),
        (Action::Interrupted, 2, second)
    );
    // It is said once.
    let length = site.store().journal().unwrap().len();
    drop(Writer::lock(&site.store(), "deploy").unwrap());
    assert_eq!(site.store().journal().unwrap().len(), length);
    site.now += 60;
    let third = site.deploy();
    assert_eq!(third.sent.0, 0, "what it had brought is used");
    assert_eq!(site.store().journal().unwrap().pop().unwrap().change, 3);
    assert_eq!(site.store().current().unwrap(), Some(third.id));
}
