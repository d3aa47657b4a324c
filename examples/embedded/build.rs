//! Puts `site/` into the program, each file in every coding that is worth it. Without the one call a debug build would read
//! it from disk while it runs; but the tests look at the program as it is handed on.

fn main() -> Result<(), salver_embed::Error> {
    salver_embed::Tree::new("site")
        .embed_in_debug_builds()
        .build()?;
    Ok(())
}
