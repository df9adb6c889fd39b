//! Names of entries of a directory (RFC 4514), as far as they tell where an entry lies.

/// The parts of a name, the entry's own first.
pub fn parts(dn: &str) -> Vec<&str> {
    let (mut parts, mut start) = (Vec::new(), 0);
    for end in ends(dn) {
        parts.push(dn[start..end].trim());
        start = end + 1;
    }
    parts.push(dn[start..].trim());
    parts
}

/// The positions of the commas that end a part.
fn ends(dn: &str) -> impl Iterator<Item = usize> {
    let (mut is_escaped, mut is_quoted) = (false, false);
    dn.bytes().enumerate().filter_map(move |(at, byte)| {
        let was_escaped = std::mem::take(&mut is_escaped);
        match byte {
            _ if was_escaped => return None,
            b'\\' => is_escaped = true,
            b'"' => is_quoted = !is_quoted,
            _ => {}
        }
        (byte == b',' && !is_quoted).then_some(at)
    })
}

/// The name of what an entry lies right in.
pub fn parent(dn: &str) -> &str {
    ends(dn).next().map_or("", |at| dn[at + 1..].trim())
}

/// An entry as people call the place that it is, the outermost part first, without the domain: `Auckland/Sales`. Empty for
/// the domain itself, and for what is no name of an entry.
pub fn place(dn: &str) -> String {
    let parts: Option<Vec<(&str, &str)>> = parts(dn).into_iter().map(|part| part.split_once('=')).collect();
    let parts = parts.unwrap_or_default().into_iter().rev();
    let outside = parts.filter(|(attribute, _)| !attribute.trim().eq_ignore_ascii_case("dc"));
    outside.map(|(_, value)| plain(value.trim())).collect::<Vec<_>>().join("/")
}

/// A value without its escapes and quotes.
fn plain(value: &str) -> String {
    let value = value.strip_prefix('"').and_then(|value| value.strip_suffix('"')).unwrap_or(value);
    let mut plain = Vec::with_capacity(value.len());
    let mut rest = value.as_bytes();
    while let [first, after @ ..] = rest {
        let (byte, used) = match (first, after) {
            (b'\\', [high, low, ..]) => match hex(*high).zip(hex(*low)) {
                Some((high, low)) => (high << 4 | low, 3),
                None => (*high, 2),
            },
            (b'\\', [escaped]) => (*escaped, 2),
            _ => (*first, 1),
        };
        plain.push(byte);
        rest = &rest[used..];
    }
    String::from_utf8_lossy(&plain).into_owned()
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_entry_lies_where_its_name_says() {
        for (dn, expected) in [
            ("CN=Ana Lee,OU=Sales,OU=Auckland,DC=example,DC=com", "Auckland/Sales"),
            ("CN=Ana Lee,CN=Users,DC=example,DC=com", "Users"),
            ("uid=ana, ou=people , dc=example,dc=org", "people"),
            ("uid=ana,dc=example,dc=org", ""),
            ("uid=ana,o=Example,c=NZ", "NZ/Example"),
            (r"CN=Lee\, Ana,OU=Research\, North,DC=x", "Research, North"),
            (r"CN=Lee\2C Ana,OU=R\26D \C3\A9\+,DC=x", "R&D é+"),
            (r#"CN="Lee, Ana",OU="Sales, South",DC=x"#, "Sales, South"),
            (r"CN=Ana,OU=a\\,DC=x", r"a\"),
            ("cn=a+uid=b,ou=c+l=d,dc=x", "c+l=d"),
            ("cn=a", ""),
            ("not a name", ""),
            ("", ""),
        ] {
            assert_eq!(place(parent(dn)), expected, "{dn}");
        }
    }

    proptest! {
        #[test]
        fn any_text_can_be_taken_apart(dn in r#"([a-z=,\\"+é0-9]|\PC){0,40}"#) {
            let _ = place(parent(&dn));
            prop_assert!(parts(&dn).concat().len() <= dn.len());
        }
    }
}
