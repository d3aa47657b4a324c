//! Puts `site/` into the program, each file in every coding that is worth it.

fn main() -> Result<(), salver_embed::Error> {
    salver_embed::Tree::new("site").build()?;
    Ok(())
}
