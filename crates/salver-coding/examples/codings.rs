//! Codes and decodes a file, against a dictionary where the coding has one.
//!
//!   codings encode br|zstd|gzip FILE > CODED
//!   codings encode dcb|dcz FILE DICTIONARY > CODED
//!   codings decode dcb|dcz CODED DICTIONARY > FILE

use std::error::Error;
use std::io::Write;
use std::{env, fs, io};

use salver_coding::{
    ContentCoding, Dictionary, DictionaryCoding, Effort, decode_with_dictionary, encode,
    encode_with_dictionary,
};

/// The most bytes that are decoded.
const MOST: usize = 1 << 30;

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let made = match words[..] {
        ["encode", name, file] => {
            let coding = match name {
                "br" => ContentCoding::Brotli,
                "zstd" => ContentCoding::Zstd,
                "gzip" => ContentCoding::Gzip,
                _ => return Err(format!("{name} is no coding without a dictionary").into()),
            };
            encode(&fs::read(file)?, coding, Effort::Best, &|| true)?
        }
        ["encode", name, file, dictionary] => {
            let dictionary = fs::read(dictionary)?;
            let dictionary = Dictionary::new(&dictionary);
            encode_with_dictionary(&fs::read(file)?, &dictionary, coding(name)?, &|| true)?
        }
        ["decode", name, file, dictionary] => {
            let dictionary = fs::read(dictionary)?;
            let dictionary = Dictionary::new(&dictionary);
            decode_with_dictionary(&fs::read(file)?, &dictionary, coding(name)?, MOST)?
        }
        _ => return Err("usage: codings encode|decode CODING FILE [DICTIONARY]".into()),
    };
    Ok(io::stdout().write_all(&made)?)
}

fn coding(name: &str) -> Result<DictionaryCoding, String> {
    let found = DictionaryCoding::ALL
        .into_iter()
        .find(|coding| coding.name() == name);
    found.ok_or_else(|| format!("{name} is no coding with a dictionary"))
}
