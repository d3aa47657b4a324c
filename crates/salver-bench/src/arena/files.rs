//! A set of files like that of the profile, made from a seed.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use rand::rngs::StdRng;
use rand::{Rng, RngExt, SeedableRng};

/// Names and lengths of the profile's files, in bytes. What is text has siblings; pictures and
/// fonts, which are compressed already, have none.
pub const FILES: [(&str, usize); 20] = [
    ("analytics.js", 12_288),
    ("app.js", 204_800),
    ("bold.woff2", 22_528),
    ("components.css", 204_800),
    ("footer.html", 56_320),
    ("header.html", 122_880),
    ("helpers.js", 22_528),
    ("hero.webp", 46_080),
    ("icon-sprite.svg", 71_680),
    ("layout.css", 25_600),
    ("logo.svg", 15_344),
    ("manifest.json", 2_883),
    ("regular.woff2", 18_432),
    ("reset.css", 8_192),
    ("router.js", 35_840),
    ("theme.css", 18_432),
    ("thumb1.webp", 8_192),
    ("thumb2.webp", 6_144),
    ("utilities.css", 61_440),
    ("vendor.js", 307_200),
];

/// Makes the files and their siblings (Brotli at 11, gzip at 9) in `directory`, the same for the
/// same seed.
///
/// # Errors
/// What could not be written.
pub fn generate(directory: &Path, seed: u64) -> io::Result<()> {
    fs::create_dir_all(directory)?;
    let mut rng = StdRng::seed_from_u64(seed);
    for (name, length) in FILES {
        let mut content = Vec::with_capacity(length);
        let is_text = !(name.ends_with(".webp") || name.ends_with(".woff2"));
        if is_text {
            write_text(&mut content, length, &mut rng);
        } else {
            content.resize(length, 0);
            rng.fill_bytes(&mut content);
        }
        let path = directory.join(name);
        fs::write(&path, &content)?;
        if is_text {
            fs::write(directory.join(format!("{name}.br")), brotli(&content)?)?;
            fs::write(directory.join(format!("{name}.gz")), gzip(&content)?)?;
        }
    }
    Ok(())
}

/// Words of few letters in lines, some far more often than others: it compresses to about a fifth,
/// as a site's text does.
fn write_text(content: &mut Vec<u8>, length: usize, rng: &mut StdRng) {
    let words: Vec<Vec<u8>> = (0..600)
        .map(|_| {
            let letters = rng.random_range(2..11);
            (0..letters)
                .map(|_| rng.random_range(b'a'..=b'z'))
                .collect()
        })
        .collect();
    while content.len() < length {
        // The square of a chance: the first words come often.
        let chance: f64 = rng.random();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "from 0 to 600"
        )]
        let word = words.get((chance * chance * 600.0) as usize);
        content.extend_from_slice(word.map_or(b"", |word| word));
        content.extend_from_slice(match rng.random_range(0..12_u8) {
            0 => b";\n  ",
            1 => b"(",
            2 => b") ",
            3 => b" = ",
            _ => b" ",
        });
    }
    content.truncate(length);
}

/// What Brotli makes of `content` at its highest quality.
pub(super) fn brotli(content: &[u8]) -> io::Result<Vec<u8>> {
    let mut coded = Vec::new();
    brotli::BrotliCompress(
        &mut &*content,
        &mut coded,
        &brotli::enc::BrotliEncoderParams::default(),
    )?;
    Ok(coded)
}

/// What gzip makes of `content` at its highest level.
pub(super) fn gzip(content: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(content)?;
    encoder.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_makes_the_same_files() {
        let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        generate(one.path(), 7).unwrap();
        generate(other.path(), 7).unwrap();
        for (name, length) in FILES {
            let content = fs::read(one.path().join(name)).unwrap();
            assert_eq!(content.len(), length, "{name}");
            assert_eq!(
                content,
                fs::read(other.path().join(name)).unwrap(),
                "{name}"
            );
            let coded = fs::read(one.path().join(format!("{name}.br")));
            assert_eq!(coded.is_ok(), !name.contains(".w"), "{name}");
            if let Ok(coded) = coded {
                let ratio = coded.len() * 100 / length;
                assert!((8..60).contains(&ratio), "{name}: {ratio} %");
            }
        }
    }
}
