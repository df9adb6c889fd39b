//! The pages, and what is fenced in them.

use std::fs;
use std::path::{Path, PathBuf};

/// The pages beside the book.
const TOP: [&str; 4] = ["README.md", "CONTRIBUTING.md", "SECURITY.md", "crates/client/README.md"];

/// A page, named from the project's folder on.
pub(crate) struct Page {
    pub(crate) path: String,
    pub(crate) text: String,
}

/// A fenced block.
pub(crate) struct Block {
    /// The page and the line of the fence.
    pub(crate) place: String,
    /// What stands behind the opening fence.
    pub(crate) info: String,
    pub(crate) lines: Vec<String>,
}

/// README, the other pages beside the book, and the book.
pub(crate) fn pages() -> Vec<Page> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut paths: Vec<PathBuf> = TOP.iter().map(|name| root.join(name)).collect();
    let mut folders = vec![root.join("docs")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("there is a book") {
            let path = entry.expect("its folder can be read").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                paths.push(path);
            }
        }
    }
    paths.sort();
    let page = |path: &PathBuf| Page {
        path: path.strip_prefix(root).expect("it is below").display().to_string(),
        text: fs::read_to_string(path).expect("pages are text"),
    };
    paths.iter().map(page).collect()
}

impl Page {
    /// The fenced blocks, without the indentation of their fence.
    pub(crate) fn blocks(&self) -> Vec<Block> {
        let mut blocks: Vec<Block> = Vec::new();
        let mut open: Option<usize> = None;
        for (at, line) in self.text.lines().enumerate() {
            let inner = line.trim_start();
            match (inner.strip_prefix("```"), open) {
                (Some(info), None) if !info.contains('`') => {
                    open = Some(line.len() - inner.len());
                    let place = format!("{}:{}", self.path, at + 1);
                    blocks.push(Block { place, info: info.to_owned(), lines: Vec::new() });
                }
                (Some(""), Some(_)) => open = None,
                (_, Some(indent)) => {
                    let line = line.get(indent..).unwrap_or_default().to_owned();
                    blocks.last_mut().expect("one is open").lines.push(line);
                }
                _ => {}
            }
        }
        assert!(open.is_none(), "{}: a block is not closed", self.path);
        blocks
    }

    /// The text without fenced blocks.
    pub(crate) fn prose(&self) -> String {
        let mut fenced = false;
        let mut prose = String::new();
        for line in self.text.lines() {
            let fence = line.trim_start().starts_with("```") && !line.trim_start()[3..].contains('`');
            if !fence && !fenced {
                prose.extend([line, "\n"]);
            }
            fenced ^= fence;
        }
        prose
    }
}
