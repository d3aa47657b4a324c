//! The tree that the guide calls `dist`.

fn main() -> Result<(), salver_embed::Error> {
    let site = salver_embed::Tree::new("../examples/embedded/site");
    site.name("dist").build()?;
    Ok(())
}
