//! Names of entries of a directory (RFC 4514), as far as they tell where an entry lies.

/// The parts of a name, the entry's own first.
pub fn parts(dn: &str) -> Vec<&str> {
    let (mut parts, mut start, mut is_escaped, mut is_quoted) = (Vec::new(), 0, false, false);
    for (at, letter) in dn.char_indices() {
        match letter {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => {
                parts.push(dn[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(dn[start..].trim());
    parts
}

/// Where an entry lies: the names of what it lies in, the outermost first, without the domain. `None` for no name of an
/// entry.
pub fn containers(dn: &str) -> Option<Vec<String>> {
    let parts: Option<Vec<(&str, &str)>> = parts(dn).into_iter().map(|part| part.split_once('=')).collect();
    let outer = parts?.into_iter().skip(1).filter(|(attribute, _)| !attribute.trim().eq_ignore_ascii_case("dc"));
    let mut names: Vec<String> = outer.map(|(_, value)| plain(value.trim())).collect();
    names.reverse();
    Some(names)
}

/// The same as one text, for people; empty for what lies right below the domain.
pub fn container(dn: &str) -> String {
    containers(dn).unwrap_or_default().join("/")
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
            assert_eq!(container(dn), expected, "{dn}");
        }
        assert_eq!((containers("Ana Lee"), containers("")), (None, None));
    }

    proptest! {
        #[test]
        fn any_text_can_be_taken_apart(dn in r#"([a-z=,\\"+é0-9]|\PC){0,40}"#) {
            let _ = container(&dn);
            prop_assert_eq!(parts(&dn).concat().len() <= dn.len(), true);
        }
    }
}
