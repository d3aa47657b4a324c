use std::net::Ipv4Addr;

use salver_assets::rules::User;

use super::*;
use crate::hash::{PasswordHashError, PasswordHashing, hash_password};

/// `open sesame` by libargon2 and libxcrypt, at the least cost that there is.
const ARGON2: &str = "$argon2id$v=19$m=64,t=1,p=1$MDEyMzQ1Njc4OWFiY2RlZg$zl7V9C596JtSXWShZ2Tfc7QVGFpgGIXeJjaZ2scNEC0";
const BCRYPT: &str = "$2b$04$abcdefghijklmnopqrstuu/LVz6MZlItEy42I2juLihZ66HnQx/cy";
/// `pässword` by libargon2.
const UMLAUT: &str = "$argon2id$v=19$m=64,t=1,p=1$MDEyMzQ1Njc4OWFiY2RlZg$UDkXHjQauoZeY+k4DmMnK5kw55NftyebQldnBWc4f5Q";

fn users(all: &[(&str, &str)]) -> Arc<BasicAuth> {
    let users = all.iter().map(|(name, hash)| User {
        name: (*name).to_owned(),
        hash: (*hash).to_owned(),
    });
    Arc::new(BasicAuth {
        realm: "Staff".to_owned(),
        users: users.collect(),
    })
}

#[test]
fn hashes_of_other_programs() {
    let all = users(&[
        ("alice", ARGON2),
        ("bob", BCRYPT),
        ("eve", UMLAUT),
        ("broken", "$2b$"),
    ]);
    let check = |name: &str, password: &str, expected: bool| {
        let credentials = Credentials {
            name: name.into(),
            password: password.into(),
        };
        let found = verify::is_right(&credentials, &all);
        assert_eq!(found, expected, "{name} {password}");
    };
    check("alice", "open sesame", true);
    check("bob", "open sesame", true);
    check("eve", "pässword", true);
    for (name, password) in [
        ("alice", "open sesam"),
        ("alice", ""),
        ("bob", "Open sesame"),
        ("eve", "password"),
        ("broken", ""),
        ("nobody", "open sesame"),
        ("", "open sesame"),
    ] {
        check(name, password, false);
    }
}

fn client(number: u32) -> ClientKey {
    ClientKey::of(Ipv4Addr::from_bits(number).into())
}

/// The verdict once it is known.
fn verdict(passwords: &Arc<Passwords>, of: u32, users: &Arc<BasicAuth>, value: &str) -> Access {
    match passwords.check(client(of), users, Some(value.as_bytes()), Instant::now()) {
        Verdict::Known(access) => access,
        Verdict::Pending(verdict) => verdict.blocking_recv().unwrap(),
    }
}

/// `alice:open sesame`, `alice:x` and `mallory:x`.
const RIGHT: &str = "Basic YWxpY2U6b3BlbiBzZXNhbWU=";
const WRONG: &str = "Basic YWxpY2U6eA==";
const UNKNOWN: &str = "Basic bWFsbG9yeTp4";

#[test]
fn what_was_right_is_remembered_and_what_is_wrong_is_limited() {
    let passwords = Passwords::new();
    let users = users(&[("alice", ARGON2)]);
    let granted = Access::Granted(Arc::clone(&users));
    let is_known = |value: &str| {
        let verdict = passwords.check(client(1), &users, Some(value.as_bytes()), Instant::now());
        matches!(verdict, Verdict::Known(_))
    };
    assert_eq!(verdict(&passwords, 1, &users, RIGHT), granted);
    assert!(is_known(RIGHT));
    for number in 0..10 {
        let value = if number % 2 == 0 { WRONG } else { UNKNOWN };
        assert_eq!(verdict(&passwords, 1, &users, value), Access::Denied);
    }
    let limited = verdict(&passwords, 1, &users, WRONG);
    assert!(
        matches!(limited, Access::Limited { seconds: 1..=61 }),
        "{limited:?}"
    );
    // What is remembered is no attempt, and others have their own.
    assert_eq!(verdict(&passwords, 1, &users, RIGHT), granted);
    assert_eq!(verdict(&passwords, 2, &users, WRONG), Access::Denied);
    assert_eq!(verdict(&passwords, 1, &users, "Bearer x"), Access::Denied);
}

#[test]
fn a_pair_is_verified_for_its_users_alone() {
    let passwords = Passwords::new();
    let (one, other) = (users(&[("alice", ARGON2)]), users(&[("alice", UMLAUT)]));
    assert_eq!(
        verdict(&passwords, 1, &one, RIGHT),
        Access::Granted(Arc::clone(&one))
    );
    assert_eq!(verdict(&passwords, 1, &other, RIGHT), Access::Denied);
}

#[test]
fn many_at_once_are_one_attempt_and_the_queue_is_bounded() {
    let passwords = Passwords::new();
    let users = users(&[("alice", ARGON2)]);
    // No thread runs yet, so that all wait for the same.
    let idle = passwords.idle.lock().unwrap().take();
    let ask = |of: u32, value: &str| {
        passwords.check(client(of), &users, Some(value.as_bytes()), Instant::now())
    };
    let mut waiting = Vec::new();
    for _ in 0..100 {
        match ask(1, RIGHT) {
            Verdict::Pending(verdict) => waiting.push(verdict),
            Verdict::Known(access) => panic!("{access:?}"),
        }
    }
    let mut refused = 0;
    for number in 0..2 * u32::try_from(QUEUE).unwrap() {
        let value = format!("Basic {}", ["YTp4", "YTp5", "YTp6"][number as usize % 3]);
        let value = format!("{value}{}", ["", "eHh4", "eXl5"][number as usize % 3]);
        let value = value + &"eHh4".repeat(number as usize / 3);
        match ask(number, &value) {
            Verdict::Known(Access::Overloaded) => refused += 1,
            Verdict::Pending(_) => {}
            Verdict::Known(access) => panic!("{access:?}"),
        }
    }
    assert_eq!(refused, QUEUE + 1);
    *passwords.idle.lock().unwrap() = idle;
    passwords.start_threads().unwrap();
    for verdict in waiting {
        assert_eq!(
            verdict.blocking_recv().unwrap(),
            Access::Granted(Arc::clone(&users))
        );
    }
    assert!(
        passwords
            .hold()
            .attempts
            .begin(client(1), Instant::now())
            .is_ok()
    );
}

#[test]
fn what_is_remembered_is_bounded() {
    let mut state = State::default();
    let now = Instant::now();
    for number in 0..5000_u32 {
        let mut key = [0; 32];
        key[..4].copy_from_slice(&number.to_le_bytes());
        state.remember(key, now + Duration::from_millis(number.into()));
        assert!(state.right.len() <= REMEMBERED);
        assert!(state.right.contains_key(&key));
    }
}

#[test]
fn what_is_hashed_is_verified_and_may_stand_in_a_rule() {
    use salver_assets::rules::{Action, BasicAuth, Rule, RuleSet, User};

    for hashing in [PasswordHashing::Argon2id, PasswordHashing::Bcrypt] {
        let hash = hash_password("pässword", hashing).unwrap();
        assert_ne!(
            hash,
            hash_password("pässword", hashing).unwrap(),
            "a salt of its own"
        );
        let users = BasicAuth {
            realm: "r".to_owned(),
            users: vec![User {
                name: "jo".to_owned(),
                hash,
            }],
        };
        let right = |password: &str| {
            let credentials = Credentials {
                name: b"jo".to_vec(),
                password: password.into(),
            };
            verify::is_right(&credentials, &users)
        };
        assert!(right("pässword") && !right("password"));
        let rule = Rule {
            actions: vec![Action::BasicAuth(users.clone())],
            ..Rule::default()
        };
        RuleSet::compile(&[rule]).unwrap();
    }
}

#[test]
fn passwords_that_nobody_could_use_are_refused() {
    let check = |password: &str, hashing, expected| {
        assert_eq!(
            hash_password(password, hashing),
            Err(expected),
            "{password:?}"
        );
    };
    let argon2id = PasswordHashing::Argon2id;
    check("", argon2id, PasswordHashError::Empty);
    check("a\nb", argon2id, PasswordHashError::Control);
    check("a\0", PasswordHashing::Bcrypt, PasswordHashError::Control);
    check(&"x".repeat(513), argon2id, PasswordHashError::TooLong(512));
    check(
        &"x".repeat(73),
        PasswordHashing::Bcrypt,
        PasswordHashError::TooLong(72),
    );
}
