//! Which files of a crate import each other: a cycle can only be understood, and changed, as a whole.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Most files of a cycle.
const MOST: usize = 8;

/// A module: the names on the way from the root of its crate.
type ModulePath = Vec<String>;

/// Names of a path: `crate::a::B`.
type Names = Vec<String>;

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Name(String),
    Sign(char),
}

impl Token {
    fn is(&self, sign: char) -> bool {
        *self == Self::Sign(sign)
    }

    fn name(&self) -> Option<&str> {
        match self {
            Self::Name(name) => Some(name),
            Self::Sign(_) => None,
        }
    }
}

/// Names and signs of a source, without comments and literals.
fn tokens(text: &str) -> Vec<Token> {
    let text: Vec<char> = text.chars().collect();
    let at = |place: usize| text.get(place).copied().unwrap_or('\0');
    let mut tokens = Vec::new();
    let mut place = 0;
    while place < text.len() {
        let letter = at(place);
        if letter == '/' && at(place + 1) == '/' {
            while place < text.len() && at(place) != '\n' {
                place += 1;
            }
        } else if letter == '"' {
            place += 1;
            while place < text.len() && at(place) != '"' {
                place += if at(place) == '\\' { 2 } else { 1 };
            }
            place += 1;
        } else if letter == 'r' && at(place + 1) == '#' && at(place + 2) == '"' {
            place += 3;
            while place < text.len() && (at(place), at(place + 1)) != ('"', '#') {
                place += 1;
            }
            place += 2;
        } else if letter == '\'' && (at(place + 1) == '\\' || at(place + 2) == '\'') {
            place += if at(place + 1) == '\\' { 3 } else { 2 };
            while place < text.len() && at(place) != '\'' {
                place += 1;
            }
            place += 1;
        } else if letter.is_alphabetic() || letter == '_' {
            let begin = place;
            while at(place).is_alphanumeric() || at(place) == '_' {
                place += 1;
            }
            tokens.push(Token::Name(text[begin..place].iter().collect()));
        } else {
            if !letter.is_whitespace() {
                tokens.push(Token::Sign(letter));
            }
            place += 1;
        }
    }
    tokens
}

/// Place behind the item that begins here: a statement or a block.
fn behind_item(tokens: &[Token], mut place: usize) -> usize {
    let mut depth = 0_usize;
    while let Some(token) = tokens.get(place) {
        place += 1;
        if token.is('{') {
            depth += 1;
        } else if token.is('}') {
            depth = depth.saturating_sub(1);
            if depth == 0 {
                break;
            }
        } else if token.is(';') && depth == 0 {
            break;
        }
    }
    place
}

/// Tokens without the items that only tests are built with.
fn without_tests(tokens: &[Token]) -> Vec<Token> {
    let attribute: Vec<Token> = self::tokens("#[cfg(test)]");
    let mut kept = Vec::new();
    let mut place = 0;
    while place < tokens.len() {
        if tokens[place..].starts_with(&attribute) {
            place = behind_item(tokens, place + attribute.len());
        } else {
            kept.push(tokens[place].clone());
            place += 1;
        }
    }
    kept
}

/// The paths of a tree of `use`, each with the name that it has here; and the place behind the tree.
fn use_tree(
    tokens: &[Token],
    mut place: usize,
    before: &[String],
) -> (Vec<(Names, String)>, usize) {
    let mut path = before.to_vec();
    while let Some(token) = tokens.get(place) {
        if let Some(name) = token.name().filter(|name| *name != "as") {
            path.push(name.to_owned());
            place += 1;
        } else if token.is(':') {
            place += 1;
        } else if token.is('{') {
            place += 1;
            let mut all = Vec::new();
            while tokens.get(place).is_some_and(|token| !token.is('}')) {
                let (some, behind) = use_tree(tokens, place, &path);
                all.extend(some);
                place = behind + usize::from(tokens.get(behind).is_some_and(|one| one.is(',')));
            }
            return (all, place + 1);
        } else {
            break;
        }
    }
    if path.last().is_some_and(|name| name == "self") && path.len() > 1 {
        path.pop();
    }
    let mut name = path.last().cloned().unwrap_or_default();
    if tokens.get(place).and_then(Token::name) == Some("as") {
        name = tokens
            .get(place + 1)
            .and_then(Token::name)
            .unwrap_or("_")
            .to_owned();
        place += 2;
    } else if tokens.get(place).is_some_and(|token| token.is('*')) {
        place += 1;
    }
    (vec![(path, name)], place)
}

/// Paths in a source.
#[derive(Debug, Default)]
struct Source {
    /// Paths with the blocks of modules in which they are.
    paths: Vec<(ModulePath, Names)>,
    /// Names that the file itself imports, and their paths.
    imported: BTreeMap<String, Names>,
}

impl Source {
    fn read(text: &str) -> Self {
        let tokens = without_tests(&tokens(text));
        let mut source = Self::default();
        // Blocks of modules, with the depth of braces in which each began.
        let mut blocks: Vec<(String, usize)> = Vec::new();
        let (mut depth, mut place) = (0_usize, 0);
        while let Some(token) = tokens.get(place) {
            let inside = || {
                blocks
                    .iter()
                    .map(|(name, _)| name.clone())
                    .collect::<Vec<_>>()
            };
            match token {
                Token::Sign('{') => depth += 1,
                Token::Sign('}') => {
                    depth = depth.saturating_sub(1);
                    if blocks.last().is_some_and(|(_, begun)| *begun == depth) {
                        blocks.pop();
                    }
                }
                Token::Sign(_) => {}
                Token::Name(word) if word == "use" => {
                    let (found, behind) = use_tree(&tokens, place + 1, &[]);
                    for (path, name) in found {
                        if blocks.is_empty() {
                            source.imported.insert(name, path.clone());
                        }
                        source.paths.push((inside(), path));
                    }
                    place = behind;
                    continue;
                }
                Token::Name(word) if word == "mod" => {
                    let name = tokens.get(place + 1).and_then(Token::name);
                    if let (Some(name), true) =
                        (name, tokens.get(place + 2).is_some_and(|one| one.is('{')))
                    {
                        blocks.push((name.to_owned(), depth));
                    }
                }
                Token::Name(_) => {
                    let (path, behind) = path_at(&tokens, place);
                    // The path of `pub(in path)` says who imports, not what is imported.
                    let within = [Token::Sign('('), Token::Name("in".to_owned())];
                    let is_visibility = tokens[..place].ends_with(&within);
                    if path.len() > 1 && !is_visibility {
                        source.paths.push((inside(), path));
                    }
                    place = behind;
                    continue;
                }
            }
            place += 1;
        }
        source
    }
}

/// The path that begins here, and the place behind it.
fn path_at(tokens: &[Token], mut place: usize) -> (Names, usize) {
    let mut path = Vec::new();
    while let Some(name) = tokens.get(place).and_then(Token::name) {
        path.push(name.to_owned());
        place += 1;
        let goes_on = tokens[place..].starts_with(&[Token::Sign(':'), Token::Sign(':')])
            && tokens.get(place + 2).and_then(Token::name).is_some();
        if !goes_on {
            break;
        }
        place += 2;
    }
    (path, place)
}

/// Files of a crate by their module.
struct Crate {
    files: BTreeMap<ModulePath, Source>,
}

impl Crate {
    fn read(folder: &Path) -> Self {
        let mut files = BTreeMap::new();
        for path in sources(folder) {
            let name = path
                .strip_prefix(folder)
                .expect("a file of the crate")
                .with_extension("");
            let mut module: ModulePath = name
                .iter()
                .map(|part| part.to_string_lossy().into_owned())
                .collect();
            if module.first().is_some_and(|first| first == "bin") {
                continue;
            }
            if module
                .last()
                .is_some_and(|last| ["mod", "lib", "main"].contains(&last.as_str()))
            {
                module.pop();
            }
            // Modules of tests import what they test.
            if module.last().is_none_or(|last| last != "tests") {
                let text = std::fs::read_to_string(&path).expect("a source");
                files.insert(module, Source::read(&text));
            }
        }
        Self { files }
    }

    /// The file in which what a path names is defined; `None` outside of the crate.
    fn file_of(&self, module: &[String], path: &[String], depth: u32) -> Option<ModulePath> {
        let mut rest = path;
        let mut base = match rest.first()?.as_str() {
            "crate" => Vec::new(),
            "self" | "super" => module.to_vec(),
            first => {
                let mut child = module.to_vec();
                child.push(first.to_owned());
                return self
                    .files
                    .contains_key(&child)
                    .then(|| self.inside(child, &rest[1..], depth))?;
            }
        };
        while let Some(first) = rest
            .first()
            .filter(|first| ["crate", "self", "super"].contains(&first.as_str()))
        {
            if first == "super" {
                base.pop();
            }
            rest = &rest[1..];
        }
        self.inside(base, rest, depth)
    }

    /// The same for the rest of a path, seen from a module.
    fn inside(&self, mut base: ModulePath, mut rest: &[String], depth: u32) -> Option<ModulePath> {
        while let Some(first) = rest.first() {
            base.push(first.clone());
            if !self.files.contains_key(&base) {
                base.pop();
                break;
            }
            rest = &rest[1..];
        }
        let import = self.files.get(&base).zip(rest.first());
        let import = import.and_then(|(source, name)| source.imported.get(name));
        match import.filter(|_| depth < 10) {
            // Imported definitions.
            Some(path) => self.file_of(&base, path, depth + 1),
            None => {
                // A block of a module is in the file around it.
                while !self.files.contains_key(&base) {
                    base.pop()?;
                }
                Some(base)
            }
        }
    }

    /// Files that each file imports.
    fn imports(&self) -> BTreeMap<&ModulePath, BTreeSet<ModulePath>> {
        let imports_of = |(module, source): (&'_ ModulePath, &Source)| {
            let files = source.paths.iter().filter_map(|(blocks, path)| {
                let inner = [module.as_slice(), blocks].concat();
                self.file_of(&inner, path, 0).filter(|file| file != module)
            });
            files.collect::<BTreeSet<_>>()
        };
        self.files
            .iter()
            .map(|one| (one.0, imports_of(one)))
            .collect()
    }

    /// Groups of files of which each imports all others, itself or through others.
    fn cycles(&self) -> Vec<BTreeSet<ModulePath>> {
        let imports = self.imports();
        let reached = |from: &ModulePath| {
            let mut found: BTreeSet<ModulePath> = BTreeSet::new();
            let mut waiting = vec![from.clone()];
            while let Some(file) = waiting.pop() {
                for next in imports.get(&file).into_iter().flatten() {
                    if found.insert(next.clone()) {
                        waiting.push(next.clone());
                    }
                }
            }
            found
        };
        let all: BTreeMap<&ModulePath, BTreeSet<ModulePath>> = self
            .files
            .keys()
            .map(|file| (file, reached(file)))
            .collect();
        let mut cycles = BTreeSet::new();
        for (file, found) in all.iter().filter(|(file, found)| found.contains(**file)) {
            let back =
                |other: &&ModulePath| all.get(*other).is_some_and(|theirs| theirs.contains(*file));
            cycles.insert(found.iter().filter(back).cloned().collect::<BTreeSet<_>>());
        }
        cycles.into_iter().collect()
    }
}

/// Sources in a folder and its subfolders.
pub(crate) fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    let entries = entries.map(|entry| entry.expect("an entry").path());
    entries
        .flat_map(|path| match path.extension() {
            _ if path.is_dir() => sources(&path),
            Some(extension) if extension == "rs" => vec![path],
            _ => Vec::new(),
        })
        .collect()
}

#[test]
fn import_cycles_have_eight_files_at_most() {
    let crates = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    for entry in std::fs::read_dir(crates).expect("crates") {
        let folder = entry.expect("a crate").path();
        let name = folder
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let cycles = Crate::read(&folder.join("src")).cycles();
        let largest = cycles.iter().max_by_key(|cycle| cycle.len());
        let size = largest.map_or(0, BTreeSet::len);
        let files = || {
            let files = largest.into_iter().flatten().map(|file| file.join("::"));
            files.collect::<Vec<_>>().join(", ")
        };
        assert!(
            size <= MOST,
            "{name}: {size} files import each other: {}",
            files()
        );
    }
}

#[test]
fn import_paths_lead_to_the_file_of_a_definition() {
    let file = |path: &[&str], text: &str| {
        let path: ModulePath = path.iter().map(|name| (*name).to_owned()).collect();
        (path, Source::read(text))
    };
    let sample = Crate {
        files: BTreeMap::from([
            file(
                &[],
                "mod a; mod b;\npub use a::{One as Same, Two};\nfn main() { b::run(); }",
            ),
            file(
                &["a"],
                "mod inner;\npub use self::inner::Two;\n/// See [`crate::b`].\npub struct One;",
            ),
            file(
                &["a", "inner"],
                "pub(in crate::a) struct Two(pub char);\n#[cfg(test)]\nmod tests { use crate::b; }",
            ),
            file(
                &["b"],
                "mod block { pub(super) fn made() -> super::super::Two { crate::Two('\"') } }\npub fn run(_: &'static crate::Same) {}",
            ),
        ]),
    };
    let imports: Vec<String> = sample
        .imports()
        .into_iter()
        .map(|(file, files)| {
            let files: Vec<String> = files.iter().map(|file| file.join("::")).collect();
            format!("{} -> {}", file.join("::"), files.join(" "))
        })
        .collect();
    assert_eq!(
        imports,
        [
            " -> a a::inner b",
            "a -> a::inner",
            "a::inner -> ",
            "b -> a a::inner"
        ]
    );
    assert!(sample.cycles().is_empty());
}

#[test]
fn import_cycles_are_found() {
    let source = Source::read;
    let sample = Crate {
        files: BTreeMap::from([
            (vec![], source("mod a; mod b; mod c; use a::A;")),
            (vec!["a".to_owned()], source("use super::b::B;")),
            (vec!["b".to_owned()], source("use crate::{c::C};")),
            (vec!["c".to_owned()], source("use crate::a;")),
        ]),
    };
    let cycles = sample.cycles();
    assert_eq!(cycles.len(), 1);
    assert_eq!(cycles[0].len(), 3);
}
