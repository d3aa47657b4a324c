//! A disk that is full.

use std::fs;
use std::process::Command;

use salver_test::cannot_be_shown;

use super::Deployment;
use crate::common::run;

#[test]
fn on_a_full_disk_the_old_release_stays_and_the_next_deploy_succeeds() {
    let site = Deployment::new(&[("a.txt", "alpha"), ("b.txt", "beta")]);
    let store = site.store();
    fs::create_dir(&store).unwrap();
    let mounted = Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=512k", "tmpfs"])
        .arg(&store)
        .output();
    if !mounted.is_ok_and(|mounted| mounted.status.success()) {
        return cannot_be_shown("a full disk", "this takes root, who may mount one");
    }
    let outcome = std::panic::catch_unwind(|| fill_and_deploy(&site));
    let unmounted = Command::new("umount").arg(&store).status().unwrap();
    assert!(unmounted.success());
    outcome.unwrap();
}

/// Deploys where so much is left that it ends sooner or later, and once more with room.
fn fill_and_deploy(site: &Deployment) {
    const PAGE: usize = 4096;
    let filler = site.store().join("filler");
    let mut old = site.deploy()["release"].as_str().unwrap().to_owned();
    let (mut failed, mut succeeded) = (0, 0);
    for pages in 0..24_usize {
        site.put("a.txt", format!("version {pages}"));
        site.put("b.txt", format!("{pages}").repeat(2 * PAGE));
        // All that is free, but for so many pages.
        let mut length = 0;
        let chunk = vec![b'x'; PAGE];
        let mut file = fs::File::create(&filler).unwrap();
        while std::io::Write::write_all(&mut file, &chunk).is_ok() {
            length += PAGE;
        }
        let left = length.saturating_sub(pages * PAGE);
        file.set_len(u64::try_from(left).unwrap()).unwrap();
        drop(file);
        let (code, _, said) = run(&site.words());
        fs::remove_file(&filler).unwrap();
        match code {
            0 => succeeded += 1,
            _ => {
                failed += 1;
                assert_eq!((code, site.current().as_ref()), (1, Some(&old)), "{said}");
                assert!(
                    said.contains("No space left") && said.contains("salver prune"),
                    "{said}"
                );
            }
        }
        site.assert_sound();
        old = site.deploy()["release"].as_str().unwrap().to_owned();
        assert_eq!(site.current().as_ref(), Some(&old));
        let (code, _, said) = site.command(&["prune", "--keep", "1", "--for", "0s"], &[]);
        assert_eq!(code, 0, "{said}");
    }
    println!("{failed} deploys had no room, {succeeded} had");
    assert!(
        failed >= 3 && succeeded >= 3,
        "{failed} failed, {succeeded} succeeded"
    );
}
