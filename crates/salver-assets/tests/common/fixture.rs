//! A tree with something of everything, by every way that its content can take.

use super::{Config, Mount, Site, Tree, coded, config_of, directory};

pub fn text() -> Vec<u8> {
    b"0123456789".repeat(1000)
}

fn write_all(tree: &Tree) {
    let text = text();
    tree.write("index.html", "<p>index");
    tree.write("plain.txt", &text);
    tree.write("empty.txt", "");
    tree.write("app.js", &text);
    for (name, coding) in [
        ("app.js.br", "br"),
        ("app.js.gz", "gz"),
        ("app.js.zst", "zst"),
    ] {
        tree.write(name, coded(&text, coding));
    }
    tree.write("wrong.js", &text);
    tree.write("wrong.js.br", coded(b"another file", "br"));
    tree.write("wrong.js.gz", "not gzip at all");
    tree.write("wrong.js.zst", "");
    tree.write("short.txt", "x");
    tree.write("short.txt.gz", coded(b"x", "gz"));
    tree.write("only.txt.gz", coded(&text, "gz"));
    tree.write("assets/app.3f9a1c2b.js", "hashed");
    tree.write("sub/index.html", "<p>sub");
    tree.write("sub/a b.txt", "space");
    tree.write("bare/x", "x");
    tree.write(".env", "secret");
    tree.write(".git/config", "secret");
    tree.write("sub/.hidden", "secret");
    tree.write(".well-known/acme", "challenge");
    tree.write(".well-known/.hidden", "secret");
}

/// The same tree by every way that content can take.
pub fn everywhere(check: impl Fn(&Site)) {
    let tree = Tree::new();
    write_all(&tree);
    let long = Config::default().cache_max_file;
    for (cache, cache_max_file) in [(true, long), (true, 0), (false, long)] {
        for precompressed_first in [true, false] {
            let mut config = config_of(Mount::tree("/", directory(&tree.path(""))));
            config.cache = cache;
            config.cache_max_file = cache_max_file;
            if !precompressed_first {
                config.precompressed.reverse();
            }
            let site = Site::new(config);
            // Cold, and then known.
            check(&site);
            check(&site);
        }
    }
}
