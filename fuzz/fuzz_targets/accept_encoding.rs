//! Accept-Encoding: what is selected is accepted, a refusal always holds, and order does not matter.
#![no_main]

use libfuzzer_sys::fuzz_target;
use salver_semantics::{AcceptEncoding, ContentCoding};

fuzz_target!(|data: &[u8]| {
    let (lengths, value) = data.split_first_chunk::<4>().unwrap_or((&[0; 4], data));
    let accept = AcceptEncoding::parse(Some(value));
    let offered: Vec<_> = ContentCoding::ALL
        .into_iter()
        .zip(lengths.iter().map(|&length| u64::from(length)))
        .collect();

    // The best of all is acceptable, and the best of every set that it is in.
    let best = accept.select(offered.iter().copied());
    match best {
        None => assert!(
            ContentCoding::ALL
                .iter()
                .all(|&coding| !accept.accepts(coding))
        ),
        Some(index) => {
            assert!(accept.accepts(offered[index].0));
            for (other, _) in offered
                .iter()
                .enumerate()
                .filter(|&(other, _)| other != index)
            {
                let pair = [offered[index.min(other)], offered[index.max(other)]];
                let expected = usize::from(other < index);
                assert_eq!(accept.select(pair), Some(expected));
            }
        }
    }
    for &(coding, length) in &offered {
        // Alone, a coding is sent exactly if it may be.
        assert_eq!(
            accept.select([(coding, length)]).is_some(),
            accept.accepts(coding)
        );
        // A refusal that is added holds, in front or behind, whatever else the field says.
        let refusal = format!("{};q=0", coding.name()).into_bytes();
        for refused in [join(&refusal, value), join(value, &refusal)] {
            // A quoted string that does not end swallows what follows.
            let refused_now = AcceptEncoding::parse(Some(&refused));
            if !value.contains(&b'"') {
                assert!(!refused_now.accepts(coding), "{:?}", refused.escape_ascii());
            }
        }
    }

    if !value.contains(&b'"') {
        // Neither the order of the members nor their case matters, nor empty members.
        let mut members: Vec<_> = value.split(|&byte| byte == b',').collect();
        members.reverse();
        let reversed = members.join(&b", ,"[..]);
        assert_eq!(AcceptEncoding::parse(Some(&reversed)), accept);
        assert_eq!(AcceptEncoding::parse(Some(&join(value, value))), accept);
    }
    assert_eq!(
        AcceptEncoding::parse(Some(&value.to_ascii_uppercase())),
        accept
    );
});

fn join(one: &[u8], other: &[u8]) -> Vec<u8> {
    [one, other].join(&b","[..])
}
