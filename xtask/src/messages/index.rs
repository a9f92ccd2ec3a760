//! Functions, constants and error types of the sources, by their names.

use std::collections::BTreeMap;

use syn::visit::{self, Visit};
use syn::{Attribute, Block, Expr, FnArg, Ident, ItemImpl, ReturnType, Signature, Type, UseTree};

use super::scope::bound_name;
use super::source::{SourceFiles, is_for_tests};

/// A parameter of a function.
pub(super) struct SourceParameter {
    pub(super) name: String,
    /// True if it may be a text.
    pub(super) is_text: bool,
}

/// A function or method.
pub(super) struct SourceFunction<'s> {
    /// Path of its file.
    pub(super) path: &'s str,
    /// The type of a method.
    pub(super) owner: Option<String>,
    pub(super) name: String,
    pub(super) parameters: Vec<SourceParameter>,
    /// Names in the type of its result.
    pub(super) output: Vec<String>,
    pub(super) body: &'s Block,
}

/// A constant.
pub(super) struct SourceConstant<'s> {
    pub(super) path: &'s str,
    /// The type that has it.
    pub(super) owner: Option<String>,
    pub(super) value: &'s Expr,
}

/// A variant of an error type, or an error type that is a structure.
pub(super) struct ErrorCase<'s> {
    pub(super) path: &'s str,
    /// The error type.
    pub(super) owner: String,
    /// The variant; empty for a structure.
    pub(super) name: String,
    /// Arguments of `#[error(...)]`; none if it is transparent.
    pub(super) arguments: &'s [Expr],
}

/// Everything that messages are made of.
pub(super) struct SourceIndex<'s> {
    pub(super) sources: &'s SourceFiles,
    pub(super) functions: Vec<SourceFunction<'s>>,
    pub(super) errors: Vec<ErrorCase<'s>>,
    /// Variants of enumerations.
    pub(super) variants: BTreeMap<String, Vec<String>>,
    constants: BTreeMap<String, Vec<SourceConstant<'s>>>,
    /// Places of functions in the list, by name.
    by_name: BTreeMap<String, Vec<usize>>,
    /// The module from which a file takes a name.
    imports: BTreeMap<&'s str, BTreeMap<String, String>>,
    path: &'s str,
    owner: Option<String>,
}

impl<'s> SourceIndex<'s> {
    /// The index of some sources.
    pub(super) fn of(sources: &'s SourceFiles) -> Self {
        let mut index = Self {
            sources,
            functions: Vec::new(),
            errors: Vec::new(),
            variants: BTreeMap::new(),
            constants: BTreeMap::new(),
            by_name: BTreeMap::new(),
            imports: BTreeMap::new(),
            path: "",
            owner: None,
        };
        for file in &sources.files {
            index.path = &file.path;
            index.visit_file(&file.syntax);
        }
        index
    }

    /// The module from which a file takes a name, if it imports it.
    fn import(&self, path: &str, name: &str) -> Option<&str> {
        self.imports.get(path)?.get(name).map(String::as_str)
    }

    /// The functions of a name, with their places in the list.
    pub(super) fn named(&self, name: &str) -> impl Iterator<Item = (usize, &SourceFunction<'s>)> {
        let places = self.by_name.get(name).into_iter().flatten();
        places.filter_map(|at| Some((*at, self.functions.get(*at)?)))
    }

    /// The constants of a name, those of a file first, then those of its crate.
    pub(super) fn constants(&self, name: &str, path: &str) -> Vec<&SourceConstant<'s>> {
        let found = self.constants.get(name).into_iter().flatten();
        let module = self
            .import(path, name)
            .map(|module| module.trim_start_matches("netperf_"));
        let module = module.filter(|module| !["super", "self", "crate"].contains(module));
        let is_meant =
            |one: &&SourceConstant<'_>| module.is_none_or(|module| is_in_module(one.path, module));
        let mut found: Vec<_> = found.filter(is_meant).collect();
        let distance =
            |one: &&SourceConstant<'_>| (one.path != path, crate_of(one.path) != crate_of(path));
        found.sort_by_key(distance);
        found
    }

    /// Paths and values of all constants.
    pub(super) fn all_constants(&self) -> impl Iterator<Item = (&'s str, &'s Expr)> {
        let all = self.constants.values().flatten();
        all.map(|constant| (constant.path, constant.value))
    }

    /// The function that a path names in a file.
    pub(super) fn function(
        &self,
        path: &syn::Path,
        file: &str,
        owner: Option<&str>,
    ) -> Option<(usize, &SourceFunction<'s>)> {
        let (name, before) = last_names(path);
        if !self.by_name.contains_key(&name) {
            return None;
        }
        let found: Vec<_> = self.named(&name).collect();
        if let Some(kind) = before
            .as_deref()
            .filter(|kind| kind.starts_with(char::is_uppercase))
        {
            let kind = if kind == "Self" { owner } else { Some(kind) };
            return nearest(
                &chosen(found, |one| kind.is_some() && one.owner.as_deref() == kind),
                file,
            );
        }
        let found = chosen(found, |one| one.owner.is_none());
        let module = before.or_else(|| self.import(file, &name).map(str::to_owned));
        match module.as_deref() {
            None | Some("self" | "super") => above(&found, file),
            Some("crate") => nearest(&found, file),
            Some(module) => {
                let module = module.strip_prefix("netperf_").unwrap_or(module);
                nearest(&chosen(found, |one| is_in_module(one.path, module)), file)
            }
        }
    }

    /// The only method of a name.
    pub(super) fn only_method(&self, name: &str) -> Option<&SourceFunction<'s>> {
        let mut methods = self
            .named(name)
            .map(|(_, one)| one)
            .filter(|one| one.owner.is_some());
        methods.next().filter(|_| methods.next().is_none())
    }

    fn add_function(&mut self, signature: &Signature, body: &'s Block) {
        let name = signature.ident.to_string();
        let places = self.by_name.entry(name.clone()).or_default();
        places.push(self.functions.len());
        self.functions.push(SourceFunction {
            path: self.path,
            owner: self.owner.clone(),
            name,
            parameters: signature.inputs.iter().filter_map(parameter).collect(),
            output: output(&signature.output),
            body,
        });
    }

    fn add_constant(&mut self, name: &Ident, value: &'s Expr) {
        let constants = self.constants.entry(name.to_string()).or_default();
        constants.push(SourceConstant {
            path: self.path,
            owner: self.owner.clone(),
            value,
        });
    }

    fn add_error(&mut self, attributes: &'s [Attribute], owner: &str, name: &str) {
        let sources = self.sources;
        let arguments = attributes
            .iter()
            .find_map(|attribute| sources.of_error(attribute));
        self.errors.extend(arguments.map(|arguments| ErrorCase {
            path: self.path,
            owner: owner.to_owned(),
            name: name.to_owned(),
            arguments,
        }));
    }

    fn add_imports(&mut self, module: &str, tree: &UseTree) {
        match tree {
            UseTree::Path(path) => self.add_imports(&path.ident.to_string(), &path.tree),
            UseTree::Name(name) => {
                let imports = self.imports.entry(self.path).or_default();
                imports.insert(name.ident.to_string(), module.to_owned());
            }
            UseTree::Group(group) => {
                group
                    .items
                    .iter()
                    .for_each(|tree| self.add_imports(module, tree));
            }
            UseTree::Rename(_) | UseTree::Glob(_) => {}
        }
    }
}

impl<'s> Visit<'s> for SourceIndex<'s> {
    fn visit_item_mod(&mut self, item: &'s syn::ItemMod) {
        if !is_for_tests(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'s syn::ItemUse) {
        self.add_imports("", &item.tree);
    }

    fn visit_item_impl(&mut self, item: &'s ItemImpl) {
        self.owner = names(&item.self_ty).into_iter().next();
        visit::visit_item_impl(self, item);
        self.owner = None;
    }

    fn visit_item_fn(&mut self, item: &'s syn::ItemFn) {
        let owner = self.owner.take();
        if !is_for_tests(&item.attrs) {
            self.add_function(&item.sig, &item.block);
            visit::visit_item_fn(self, item);
        }
        self.owner = owner;
    }

    fn visit_impl_item_fn(&mut self, item: &'s syn::ImplItemFn) {
        if !is_for_tests(&item.attrs) {
            self.add_function(&item.sig, &item.block);
            visit::visit_impl_item_fn(self, item);
        }
    }

    fn visit_item_const(&mut self, item: &'s syn::ItemConst) {
        self.add_constant(&item.ident, &item.expr);
    }

    fn visit_impl_item_const(&mut self, item: &'s syn::ImplItemConst) {
        self.add_constant(&item.ident, &item.expr);
    }

    fn visit_item_static(&mut self, item: &'s syn::ItemStatic) {
        self.add_constant(&item.ident, &item.expr);
    }

    fn visit_item_enum(&mut self, item: &'s syn::ItemEnum) {
        let owner = item.ident.to_string();
        let names = item
            .variants
            .iter()
            .map(|variant| variant.ident.to_string());
        self.variants.insert(owner.clone(), names.collect());
        self.add_error(&item.attrs, &owner, "");
        for variant in &item.variants {
            self.add_error(&variant.attrs, &owner, &variant.ident.to_string());
        }
    }

    fn visit_item_struct(&mut self, item: &'s syn::ItemStruct) {
        self.add_error(&item.attrs, &item.ident.to_string(), "");
    }
}

fn parameter(argument: &FnArg) -> Option<SourceParameter> {
    let FnArg::Typed(typed) = argument else {
        return None;
    };
    let name = bound_name(&typed.pat).unwrap_or_default();
    let is_text = is_text(&names(&typed.ty));
    Some(SourceParameter { name, is_text })
}

/// Returns true if a type with these names is a text.
pub(super) fn is_text(names: &[String]) -> bool {
    let texts = ["String", "str", "Cow", "Display", "Arguments"];
    names.iter().any(|name| texts.contains(&name.as_str()))
}

fn output(output: &ReturnType) -> Vec<String> {
    match output {
        ReturnType::Default => Vec::new(),
        ReturnType::Type(_, kind) => names(kind),
    }
}

/// All names in a type.
fn names(kind: &Type) -> Vec<String> {
    struct TypeNames(Vec<String>);
    impl<'a> Visit<'a> for TypeNames {
        fn visit_path_segment(&mut self, segment: &'a syn::PathSegment) {
            self.0.push(segment.ident.to_string());
            visit::visit_path_segment(self, segment);
        }
    }
    let mut all = TypeNames(Vec::new());
    all.visit_type(kind);
    all.0
}

/// The last name of a path, and the one before it.
pub(super) fn last_names(path: &syn::Path) -> (String, Option<String>) {
    let mut names = path.segments.iter().rev().map(|one| one.ident.to_string());
    (names.next().unwrap_or_default(), names.next())
}

/// The crate of a path.
fn crate_of(path: &str) -> &str {
    path.split('/').nth(1).unwrap_or_default()
}

type PlacedFunction<'i, 's> = (usize, &'i SourceFunction<'s>);

fn chosen<'i, 's>(
    found: Vec<PlacedFunction<'i, 's>>,
    is: impl Fn(&SourceFunction<'s>) -> bool,
) -> Vec<PlacedFunction<'i, 's>> {
    found.into_iter().filter(|(_, one)| is(one)).collect()
}

/// The function in the file itself, or in a module above.
fn above<'i, 's>(found: &[PlacedFunction<'i, 's>], path: &str) -> Option<PlacedFunction<'i, 's>> {
    let mut module = path.trim_end_matches(".rs");
    loop {
        let files = [format!("{module}.rs"), format!("{module}/lib.rs")];
        let own = found
            .iter()
            .find(|(_, one)| files.iter().any(|file| file == one.path));
        if own.is_some() {
            return own.copied();
        }
        module = module.rsplit_once('/')?.0;
    }
}

/// The result of [`above`], or else the only candidate in the crate or the workspace.
fn nearest<'i, 's>(found: &[PlacedFunction<'i, 's>], path: &str) -> Option<PlacedFunction<'i, 's>> {
    let near = found
        .iter()
        .filter(|(_, one)| crate_of(one.path) == crate_of(path));
    let near: Vec<_> = near.copied().collect();
    above(found, path).or(match (near.as_slice(), found) {
        ([only], _) | ([], [only]) => Some(*only),
        _ => None,
    })
}

fn is_in_module(path: &str, module: &str) -> bool {
    let mut parts = path.trim_end_matches(".rs").split('/');
    parts.any(|part| part == module)
}
