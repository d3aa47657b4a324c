//! `salver hash-password`: a password as rules have it. It is never an argument, which others on the machine can see.

use std::io::{self, IsTerminal as _, Read as _, Write as _};

use clap::Args;
use salver_passwords::{PasswordHashError, PasswordHashing, hash_password};

use crate::commands::terminal;
use crate::failure::Failure;

/// The bytes that are read of standard input at most; a password is shorter.
const MOST: u64 = 4096;

/// Hash a password, for who may see a site.
///
/// Asks for it twice at a terminal, without showing it, or reads it from standard input; never takes it as an argument.
#[derive(Args, Clone, Debug)]
pub struct HashPasswordFlags {
    /// The user's name: then the line that belongs beneath users of basic-auth is printed, and without it the hash
    /// alone
    pub user: Option<String>,

    /// Hash by bcrypt instead of argon2id
    #[arg(long)]
    pub bcrypt: bool,
}

/// Prints the hash of a password.
///
/// # Errors
/// There is no password, or none that could be used.
pub fn run(flags: &HashPasswordFlags) -> Result<(), Failure> {
    if let Some(user) = &flags.user {
        check_name(user)?;
    }
    let password = match io::stdin().is_terminal() {
        true => typed_twice()?,
        false => piped()?,
    };
    let hashing = match flags.bcrypt {
        true => PasswordHashing::Bcrypt,
        false => PasswordHashing::Argon2id,
    };
    let hash = hash_password(&password, hashing).map_err(|error| match error {
        PasswordHashError::Failed => Failure::Failed(error.to_string()),
        _ => Failure::Misused(error.to_string()),
    })?;
    let line = match &flags.user {
        Some(user) => format!("{} = \"{hash}\"\n", key(user)),
        None => format!("{hash}\n"),
    };
    io::stdout()
        .write_all(line.as_bytes())
        .map_err(|error| Failure::Failed(format!("standard output failed: {error}")))
}

/// Looks whether a browser could send this name (RFC 7617 section 2).
fn check_name(user: &str) -> Result<(), Failure> {
    if user.is_empty() || user.contains(':') || user.chars().any(char::is_control) {
        return Err(Failure::Misused(format!(
            "{user:?} is not a user's name: give one without colons and control characters"
        )));
    }
    Ok(())
}

/// A key of TOML.
fn key(user: &str) -> String {
    let is_bare = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    match user.bytes().all(is_bare) {
        true => user.to_owned(),
        false => format!("\"{}\"", user.replace('\\', "\\\\").replace('"', "\\\"")),
    }
}

/// The password that is typed twice alike.
fn typed_twice() -> Result<String, Failure> {
    let ask = |prompt: &str| {
        terminal::read_hidden(prompt).map_err(|error| match error.kind() {
            io::ErrorKind::Interrupted => Failure::Failed("interrupted".to_owned()),
            io::ErrorKind::InvalidData => not_text(),
            _ => Failure::Failed(format!("the terminal cannot be read: {error}")),
        })
    };
    let password = ask("Password: ")?;
    if password != ask("The same again: ")? {
        return Err(Failure::Misused("the two differ: begin again".to_owned()));
    }
    Ok(password)
}

/// The one line of standard input.
fn piped() -> Result<String, Failure> {
    let mut bytes = Vec::new();
    io::stdin()
        .lock()
        .take(MOST)
        .read_to_end(&mut bytes)
        .map_err(|error| Failure::Failed(format!("standard input failed: {error}")))?;
    let text = String::from_utf8(bytes).map_err(|_| not_text())?;
    let line = text.strip_suffix('\n').unwrap_or(&text);
    let line = line.strip_suffix('\r').unwrap_or(line);
    if line.contains('\n') {
        return Err(Failure::Misused(
            "standard input has more than one line: give the password alone".to_owned(),
        ));
    }
    Ok(line.to_owned())
}

fn not_text() -> Failure {
    Failure::Misused("the password is not UTF-8: give it as text".to_owned())
}
