//! The replica position of a server; see [`ReplicaPosition`].

use super::entry::RawEntry;
use super::look::{entries, look};
use super::options::{SearchScope, Server};
use super::session::{Search, Session, SessionFault};
use crate::source::ReplicaPosition;

/// The ports of Active Directory's global catalogue, which holds parts of other domains too.
const CATALOGUE: [u16; 2] = [3268, 3269];
/// The entry in which 389 Directory Server keeps what it has seen of each replica.
const REPLICAS: &str = "(&(objectClass=nsTombstone)(nsds50ruv=*))";
/// How the versions of `replUpToDateVector` that are known begin, and how long each of their cursors is.
const VECTORS: [(u32, usize); 2] = [(1, 24), (2, 32)];

/// Asks a server how far it has come.
pub(super) async fn standing(
    session: &mut Session,
    server: &Server,
    bases: &[String],
) -> Result<ReplicaPosition, SessionFault> {
    let asked = ["dsServiceName", "highestCommittedUSN", "lastUSN", "namingContexts", "vendorName"].map(str::to_owned);
    let (_, root) = look(session, "", &asked).await?;
    let mut standing =
        ReplicaPosition { server: server.url.clone(), address: server.url.clone(), ..ReplicaPosition::default() };
    let Some(root) = root else { return Ok(standing) };
    let suffixes = suffixes(&root, bases);
    standing.count = number(&root, "highestCommittedUSN");
    if let Some(usn) = standing.count {
        let writer = active_directory(session, &root, &mut standing).await?;
        let Some(own) = writer.filter(|_| !CATALOGUE.contains(&server.port)) else { return Ok(standing) };
        for suffix in &suffixes {
            let (_, entry) = look(session, suffix, &["replUpToDateVector".to_owned()]).await?;
            let vector = entry.and_then(|entry| vector(entry.values("replUpToDateVector").next()?)).unwrap_or_default();
            let all = vector.into_iter().filter(|(writer, _)| *writer != own).chain([(own.clone(), usn)]);
            standing.changes.extend(all.map(|(writer, usn)| (format!("{suffix} {writer}"), sortable(usn))));
        }
        return Ok(standing);
    }
    for suffix in &suffixes {
        let (_, entry) = look(session, suffix, &["contextCSN".to_owned()]).await?;
        // A change number is time, count, writer and part, put apart by `#`.
        for csn in entry.map(|entry| entry.texts("contextCSN")).unwrap_or_default() {
            let writer = csn.split('#').nth(2).unwrap_or_default();
            standing.changes.insert(format!("{suffix} {writer}"), csn);
        }
    }
    if standing.changes.is_empty() && root.texts("vendorName").iter().any(|vendor| vendor.contains("389")) {
        directory_389(session, &root, &mut standing, &suffixes).await?;
    }
    Ok(standing)
}

/// Finds out who the server is; as a writer of changes, where it says that.
async fn active_directory(
    session: &mut Session,
    root: &RawEntry,
    standing: &mut ReplicaPosition,
) -> Result<Option<String>, SessionFault> {
    let Some(service) = root.texts("dsServiceName").into_iter().next() else { return Ok(None) };
    standing.name = service.to_lowercase();
    let (_, entry) = look(session, &service, &["invocationId".to_owned()]).await?;
    let invocation = entry.and_then(|entry| entry.values("invocationId").next().map(hex));
    standing.server.clone_from(invocation.as_ref().unwrap_or(&service));
    Ok(invocation)
}

async fn directory_389(
    session: &mut Session,
    root: &RawEntry,
    standing: &mut ReplicaPosition,
    suffixes: &[String],
) -> Result<(), SessionFault> {
    for suffix in suffixes {
        let attributes = ["nsds50ruv".to_owned()];
        let search =
            Search { base: suffix, scope: SearchScope::Subtree, filter: REPLICAS, attributes: &attributes, page: None };
        let (_, found) = entries(session, search).await?;
        let seen: Vec<String> = found.iter().flat_map(|entry| entry.texts("nsds50ruv")).collect();
        standing.changes.extend(replicas(&seen).map(|(writer, change)| (format!("{suffix} {writer}"), change)));
    }
    if standing.changes.is_empty() {
        for attribute in &root.attributes {
            let mut parts = attribute.name.split(';');
            let is_usn = parts.next().is_some_and(|name| name.eq_ignore_ascii_case("lastUSN"));
            let counted =
                attribute.values.first().and_then(|value| std::str::from_utf8(value).ok()?.parse::<i64>().ok());
            // It is -1 where nothing was written yet, as after an import.
            if let Some(usn) = counted.filter(|_| is_usn) {
                let part = parts.next().unwrap_or_default();
                let last = u64::try_from(usn).map_or_else(|_| ReplicaPosition::UNWRITTEN.to_owned(), sortable);
                standing.changes.insert(format!("{} {part}", standing.server), last);
            }
        }
    }
    Ok(())
}

/// Of the values of `nsds50ruv`: the last change of each replica. A replica whose data were imported again counts as
/// another.
pub(super) fn replicas(values: &[String]) -> impl Iterator<Item = (String, String)> {
    let generation = values.iter().find_map(|value| value.strip_prefix("{replicageneration} "));
    let generation = generation.unwrap_or_default().to_owned();
    values.iter().filter_map(move |value| {
        let (head, changes) = value.strip_prefix("{replica ")?.split_once('}')?;
        let number = head.split(' ').next()?;
        let last = changes.split_whitespace().nth(1)?;
        Some((format!("{generation} {number}"), last.to_lowercase()))
    })
}

/// What `replUpToDateVector` holds: up to which change of its own each server is contained ([MS-DRSR] 5.166). `None` for a
/// form that is not known.
pub(super) fn vector(bytes: &[u8]) -> Option<Vec<(String, u64)>> {
    let word = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let version = word(0)?;
    let (_, size) = VECTORS.into_iter().find(|(known, _)| *known == version)?;
    let cursors = bytes.get(16..)?;
    let count = usize::try_from(word(8)?).ok()?;
    if cursors.len() / size < count {
        return None;
    }
    let cursor = |bytes: &[u8]| (hex(&bytes[..16]), u64::from_le_bytes(bytes[16..24].try_into().expect("8 bytes")));
    Some(cursors.chunks_exact(size).take(count).map(cursor).collect())
}

/// The suffixes of a server that hold these bases.
fn suffixes(root: &RawEntry, bases: &[String]) -> Vec<String> {
    let all = root.texts("namingContexts");
    let mut found: Vec<String> = Vec::new();
    for base in bases {
        let base = folded_dn(base);
        let holds = |suffix: &&String| {
            let suffix = folded_dn(suffix);
            base == suffix || base.ends_with(&format!(",{suffix}"))
        };
        let suffix = all.iter().filter(holds).max_by_key(|suffix| suffix.len()).cloned();
        found.extend(suffix.filter(|suffix| !found.contains(suffix)));
    }
    found
}

/// A name as far as it matters for telling whether one lies below another.
fn folded_dn(dn: &str) -> String {
    dn.split(',').map(|part| part.trim().to_lowercase()).collect::<Vec<_>>().join(",")
}

fn number(root: &RawEntry, name: &str) -> Option<u64> {
    root.texts(name).first()?.parse().ok()
}

/// A number that sorts as text as it does as a number.
fn sortable(number: u64) -> String {
    format!("{number:020}")
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fault_79_a_vector_says_how_far_each_server_is_contained() {
        for (version, size) in VECTORS {
            let mut bytes = [version.to_le_bytes(), [0; 4], 2u32.to_le_bytes(), [0; 4]].concat();
            for (server, usn) in [(0xaa, 7u64), (0xbb, 1 << 40)] {
                bytes.extend([server; 16]);
                bytes.extend(usn.to_le_bytes());
                bytes.extend(vec![0; size - 24]);
            }
            assert_eq!(vector(&bytes), Some(vec![("aa".repeat(16), 7), ("bb".repeat(16), 1 << 40)]), "{version}");
            assert_eq!(vector(&bytes[..bytes.len() - 1]), None, "{version}, cut off");
        }
        let huge = [1u32.to_le_bytes(), [0; 4], u32::MAX.to_le_bytes(), [0; 4]].concat();
        assert_eq!((vector(&huge), vector(&[9; 40]), vector(b"")), (None, None, None));
    }

    #[test]
    fn fault_79_a_replica_s_last_change_counts_for_its_generation() {
        let values = [
            "{replicageneration} 5f00000000000000aaaa",
            "{replica 1 ldap://a.example:389} 5f0000000000000A0000 5f0000000000000B0000",
            "{replica 2 ldap://b.example:389}",
        ];
        let seen: Vec<_> = replicas(&values.map(str::to_owned)).collect();
        assert_eq!(seen, [("5f00000000000000aaaa 1".to_owned(), "5f0000000000000b0000".to_owned())]);
    }
}
