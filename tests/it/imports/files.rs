//! Which files of a package import which: by `use`, by re-exports of a `mod.rs`, and by paths inside of code.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// A path of modules, from the root of its package.
type Module = Vec<String>;

/// One `use` of a name.
struct Import {
    is_public: bool,
    path: Module,
    name: String,
}

/// One file, tests and comments apart.
struct File {
    module: Module,
    is_folder: bool,
    code: String,
    imports: Vec<Import>,
}

/// The files of one package, by module.
pub(super) struct Files(BTreeMap<Module, File>);

impl Files {
    /// Reads the sources of a package; those of its tests are left out.
    pub(super) fn read(root: &Path) -> Self {
        let mut paths = Vec::new();
        walk(root, &mut paths);
        let files = paths.into_iter().map(|path| {
            let inside = path.strip_prefix(root).unwrap().with_extension("");
            let module = inside.iter().map(|part| part.to_str().unwrap().to_owned()).collect();
            File::new(module, &fs::read_to_string(&path).unwrap())
        });
        Self(files.map(|file| (file.module.clone(), file)).collect())
    }

    /// A package of these files, for tests of this.
    pub(super) fn of(files: &[(&str, &str)]) -> Self {
        let files = files.iter().map(|(path, text)| File::new(path.split('/').map(str::to_owned).collect(), text));
        Self(files.map(|file| (file.module.clone(), file)).collect())
    }

    /// By file, in the form `folder/file`: the files that it imports.
    pub(super) fn imports(&self) -> BTreeMap<String, BTreeSet<String>> {
        let name = |module: &Module| {
            let path = module.join("/");
            match self.0[module].is_folder {
                true if module.is_empty() => "lib".to_owned(),
                true => format!("{path}/mod"),
                false => path,
            }
        };
        let of = |file: &File| -> BTreeSet<String> {
            let found = file.names().filter_map(|path| self.file_of(&path, 0));
            found.filter(|found| *found != file.module).map(|found| name(&found)).collect()
        };
        self.0.values().map(|file| (name(&file.module), of(file))).collect()
    }

    /// The file that defines what a path names.
    fn file_of(&self, path: &[String], depth: usize) -> Option<Module> {
        let known = (0..=path.len()).rev().map(|end| &path[..end]).find(|module| self.0.contains_key(*module))?;
        let file = &self.0[known];
        let Some(next) = path.get(known.len()).filter(|_| depth < 8) else {
            // A folder by itself is no file: what is taken of it is looked for by its own path.
            return (!file.is_folder).then(|| file.module.clone());
        };
        let shown = file.imports.iter().find(|import| import.is_public && import.name == *next);
        match shown {
            Some(import) => {
                let rest = &path[known.len() + 1..];
                self.file_of(&[&import.path[..], rest].concat(), depth + 1)
            }
            None => Some(file.module.clone()),
        }
    }
}

impl File {
    fn new(mut module: Module, text: &str) -> Self {
        let is_folder = module.pop_if(|last| last == "mod" || last == "lib").is_some();
        let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        let code: String =
            text.lines().filter(|line| !line.trim_start().starts_with("//")).map(|line| format!("{line}\n")).collect();
        let mut file = Self { module, is_folder, code: String::new(), imports: Vec::new() };
        let mut rest = code.as_str();
        while let Some(at) = next_use(rest) {
            let line = rest[..at].rfind('\n').map_or(0, |end| end + 1);
            let is_public = rest[line..at].contains("pub");
            let end = at + rest[at..].find(';').unwrap();
            for (path, name) in leaves(&rest[at + "use ".len()..end]) {
                if let Some(path) = file.absolute(&path) {
                    file.imports.push(Import { is_public, path, name });
                }
            }
            file.code.push_str(&rest[..line]);
            rest = &rest[end + 1..];
        }
        file.code.push_str(rest);
        file
    }

    /// A path from the root of the package; none for one into another package.
    fn absolute(&self, path: &[String]) -> Option<Module> {
        let mut base = match path.first()?.as_str() {
            "crate" => Vec::new(),
            "self" => self.module.clone(),
            "super" => self.module[..self.module.len().checked_sub(1)?].to_vec(),
            // A `mod.rs` names its own files without more.
            first if self.is_folder && self.code_declares(first) => [&self.module[..], &[first.to_owned()]].concat(),
            _ => return None,
        };
        for part in &path[1..] {
            match part.as_str() {
                "super" => _ = base.pop(),
                "self" | "*" => {}
                part => base.push(part.to_owned()),
            }
        }
        Some(base)
    }

    fn code_declares(&self, name: &str) -> bool {
        ["mod ", "pub mod ", "pub(crate) mod "].iter().any(|kind| {
            let line = format!("{kind}{name};");
            self.code.lines().any(|found| found == line)
        })
    }

    /// The paths that the file names: its imports, except what a `mod.rs` only re-exports; and those inside of its
    /// code, those that begin with an imported module included.
    fn names(&self) -> impl Iterator<Item = Module> {
        let own = self.imports.iter().filter(|import| !(self.is_folder && import.is_public));
        let mut names: Vec<Module> = own.map(|import| import.path.clone()).collect();
        for path in paths(&self.code) {
            let first = path[0].as_str();
            let imported = self.imports.iter().find(|import| import.name == first);
            match imported {
                Some(import) => names.push([&import.path[..], &path[1..]].concat()),
                None => names.extend(self.absolute(&path)),
            }
        }
        names.into_iter()
    }
}

/// The next `use` at the beginning of a line, without blanks and its visibility.
fn next_use(code: &str) -> Option<usize> {
    code.match_indices("use ").map(|(at, _)| at).find(|at| {
        let line = code[..*at].rfind('\n').map_or(0, |end| end + 1);
        let before = code[line..*at].trim();
        before.is_empty() || before == "pub" || before.starts_with("pub(") && before.ends_with(')')
    })
}

/// What a tree of imports names: path and name.
fn leaves(tree: &str) -> Vec<(Module, String)> {
    let tree = tree.trim();
    let Some(open) = tree.find('{') else {
        let (path, alias) = tree.split_once(" as ").map_or((tree, None), |(path, alias)| (path, Some(alias)));
        let mut path: Module = path.split("::").map(|part| part.trim().to_owned()).collect();
        path.pop_if(|last| last == "self");
        let name = alias.unwrap_or(path.last().map_or("", String::as_str)).trim().to_owned();
        return vec![(path, name)];
    };
    let before = &tree[..open];
    let mut depth = 0;
    let mut parts = vec![String::new()];
    for character in tree[open + 1..tree.rfind('}').unwrap()].chars() {
        match character {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        match character {
            ',' if depth == 0 => parts.push(String::new()),
            other => parts.last_mut().unwrap().push(other),
        }
    }
    let parts = parts.iter().filter(|part| !part.trim().is_empty());
    parts.flat_map(|part| leaves(&format!("{before}{}", part.trim()))).collect()
}

/// The paths of two names or more in code.
fn paths(code: &str) -> Vec<Module> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut found = Vec::new();
    let mut rest = code;
    while let Some(at) = rest.find("::") {
        let start = rest[..at].rfind(|c| !is_word(c)).map_or(0, |before| before + 1);
        let path = &rest[start..];
        let end = path.find(|c| !is_word(c) && c != ':').unwrap_or(path.len());
        let parts: Module = path[..end].split("::").map(|part| part.trim_matches(':').to_owned()).collect();
        if start < at && !rest[..start].ends_with("::") && !rest[..start].ends_with('$') {
            found.push(parts);
        }
        rest = &rest[start + end.max(at - start + 2)..];
    }
    found
}

fn walk(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let is_test = path.file_stem().is_some_and(|name| name == "tests");
        if path.is_dir() && !is_test {
            walk(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") && !is_test {
            found.push(path);
        }
    }
}

/// Files that import each other, in order: the largest sets of which each reaches each.
pub(super) fn rings(imports: &BTreeMap<String, BTreeSet<String>>) -> Vec<Vec<String>> {
    let reached = |from: &String| {
        let mut seen = BTreeSet::new();
        let mut next: Vec<&String> = imports[from].iter().collect();
        while let Some(file) = next.pop() {
            if seen.insert(file) {
                next.extend(&imports[file]);
            }
        }
        seen
    };
    let all: BTreeMap<&String, BTreeSet<&String>> = imports.keys().map(|file| (file, reached(file))).collect();
    let ring = |file: &&String| -> Vec<String> {
        all[file].iter().filter(|other| all[**other].contains(file)).map(|other| (*other).clone()).collect()
    };
    let found: BTreeSet<Vec<String>> = all.keys().map(ring).filter(|ring| ring.len() > 1).collect();
    found.into_iter().collect()
}
