//! The manual page.

use std::fmt::Write as _;

use clap_mangen::Man;

use crate::row::Entry;
use crate::table::table;

/// The manual page of a program whose sub-command `serve` takes all [`arguments`](crate::arguments), in roff; or of
/// the sub-command that `words` name. `None` if there is none.
pub fn man_page(mut program: clap::Command, words: &[String]) -> Option<String> {
    // Names the sub-commands by the words before them.
    program.build();
    if words.is_empty() {
        return Some(of_program(program));
    }
    let mut command = &program;
    for word in words {
        command = command.find_subcommand(word)?;
    }
    let (man, mut page) = (Man::new(command.clone()), Vec::new());
    // Nothing fails to be written to memory.
    let _ = man.render(&mut page);
    Some(text_of(&page))
}

/// The page of the program: itself, and the flags of `serve`, which most people come for.
fn of_program(program: clap::Command) -> String {
    let serve = program.find_subcommand("serve").cloned();
    let (whole, mut page) = (Man::new(program), Vec::new());
    let _ = whole.render_title(&mut page);
    let _ = whole.render_name_section(&mut page);
    let _ = whole.render_synopsis_section(&mut page);
    let _ = whole.render_description_section(&mut page);
    let _ = whole.render_subcommands_section(&mut page);
    if let Some(serve) = serve {
        let _ = Man::new(serve).render_options_section(&mut page);
    }
    let mut page = text_of(&page);
    page.push_str(&after());
    page
}

/// The text of what clap wrote. Before possible values it breaks the line on both sides of an empty one, of which mandoc
/// warns: one request for vertical space is the same.
fn text_of(page: &[u8]) -> String {
    String::from_utf8_lossy(page).replace("\n.br\n\n.br\n", "\n.sp\n")
}

/// What follows the flags: the file, the environment, how it ends.
fn after() -> String {
    let mut page = String::from(".SH \"CONFIGURATION FILE\"\n");
    page.push_str(&roff(
        "`salver serve -c FILE` reads settings from FILE, in TOML. The command line wins over the environment, that \
         over the file, and that over the default. Relative paths begin in the directory of the file; ${NAME} and \
         ${NAME:default} in text are environment variables. A setting of a site stands beneath its [[site]], or at \
         the top of the file for each site that says nothing. `salver check -c FILE --print` shows what each is.",
    ));
    for entry in table().iter().filter(|entry| !entry.row.key.is_empty()) {
        let _ = write!(
            page,
            ".TP\n\\fB{}\\fR\n{}",
            escaped(entry.row.key),
            roff(&what(entry))
        );
    }
    page.push_str(".SH ENVIRONMENT\n");
    page.push_str(&roff(
        "Each flag of `salver serve` has a variable: SALVER_ and its name in capitals, with _ for -. An empty one is \
         as if it were not set.",
    ));
    page.push_str(".SH \"EXIT STATUS\"\n");
    for (status, meaning) in [
        ("0", "It did what was asked."),
        ("1", "The system said no: a port is taken, say."),
        ("2", "It was told something wrong: a value, a flag, a file."),
    ] {
        let _ = write!(page, ".TP\n\\fB{status}\\fR\n{}", roff(meaning));
    }
    page
}

fn what(entry: &Entry) -> String {
    match entry.row.flag {
        "" => format!("{}.", entry.row.help),
        _ => format!("{}. As {}.", entry.row.help, entry.row.name()),
    }
}

/// A paragraph, one sentence a line.
fn roff(text: &str) -> String {
    let sentences = escaped(text).replace(". ", ".\n");
    let mut page = String::new();
    for line in sentences.lines() {
        // A line that begins so would be taken for a request.
        if line.starts_with(['.', '\'']) {
            page.push_str("\\&");
        }
        page.push_str(line);
        page.push('\n');
    }
    page
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\e")
        .replace('-', "\\-")
        .replace('`', "\\(ga")
}
