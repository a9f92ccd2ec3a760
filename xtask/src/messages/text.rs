//! The texts that an expression can have, as templates.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

use syn::visit::Visit;
use syn::{
    BinOp, Block, Expr, ExprCall, ExprClosure, ExprMethodCall, ExprPath, Lit, Macro, Member, Stmt,
};

use super::index::{SourceFunction, SourceIndex, is_text, last_names};
use super::scope::{LocalValue, Scope, bound_name};
use super::template::{FormatPart, has_words, is_phrase, joined, parts, variable};
use super::walk::SourceWalk;

/// Depth of calls into which texts are followed.
const DEEPEST: usize = 4;
/// Alternatives that are put in the place of a variable part; more are listed apart.
const FEW: usize = 3;

/// Methods whose texts are those of their receiver.
const SAME: &[&str] = &[
    "as_bytes",
    "as_deref",
    "as_ref",
    "as_str",
    "clone",
    "cloned",
    "collect",
    "concat",
    "copied",
    "expect",
    "filter",
    "flatten",
    "into",
    "into_iter",
    "into_owned",
    "iter",
    "join",
    "ok",
    "or_default",
    "replace",
    "rev",
    "take",
    "to_owned",
    "to_string",
    "trim",
    "trim_end",
    "trim_end_matches",
    "trim_start",
    "trim_start_matches",
    "unwrap",
];

/// Methods that make a value with a function, and give the receiver up.
const MAKING: &[&str] = &[
    "and_then",
    "filter_map",
    "find_map",
    "flat_map",
    "map",
    "then",
    "then_some",
];

/// Methods that give the receiver, or another value.
const OTHERWISE: &[&str] = &["chain", "or", "or_else", "unwrap_or", "unwrap_or_else"];

/// Alternatives of variable parts, by their names.
pub(super) type ListedParts = Rc<RefCell<BTreeSet<(String, String)>>>;

/// Reads the texts of expressions.
#[derive(Clone)]
pub(super) struct TextReader<'i, 's> {
    pub(super) index: &'i SourceIndex<'s>,
    /// Path of the file.
    pub(super) path: &'s str,
    /// The type whose methods and fields `Self` and `self` have.
    pub(super) owner: Option<String>,
    pub(super) scope: Scope<'s>,
    pub(super) listed: ListedParts,
    /// Functions that are being read.
    open: Vec<&'s Block>,
}

impl<'i, 's> TextReader<'i, 's> {
    /// For the body of a function.
    pub(super) fn new(index: &'i SourceIndex<'s>, function: &SourceFunction<'s>) -> Self {
        let mut reader = Self::of_file(index, function.path);
        reader.owner.clone_from(&function.owner);
        reader
    }

    /// For what is outside of functions.
    pub(super) fn of_file(index: &'i SourceIndex<'s>, path: &'s str) -> Self {
        Self {
            index,
            path,
            owner: None,
            scope: Scope::default(),
            listed: ListedParts::default(),
            open: Vec::new(),
        }
    }

    /// Adds a variable with known texts.
    pub(super) fn give(&mut self, name: &str, texts: Vec<String>) {
        self.scope.add(name, LocalValue::Texts(texts));
    }

    /// All texts of an expression; a variable part where they are not known.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "no other expression has texts"
    )]
    pub(super) fn texts(&self, expression: &'s Expr) -> Vec<String> {
        match expression {
            Expr::Lit(literal) => vec![of_literal(&literal.lit)],
            Expr::Macro(call) => self.of_macro(&call.mac),
            Expr::Path(path) => self.of_path(path),
            Expr::Reference(inner) => self.texts(&inner.expr),
            Expr::Paren(inner) => self.texts(&inner.expr),
            Expr::Try(inner) => self.texts(&inner.expr),
            Expr::Cast(inner) => self.texts(&inner.expr),
            Expr::Unary(inner) => self.texts(&inner.expr),
            Expr::Return(_) | Expr::Continue(_) | Expr::Break(_) => Vec::new(),
            Expr::Block(block) => self.of_block(&block.block),
            Expr::If(choice) => self.of_choice(choice),
            Expr::Match(choice) => {
                let arms = choice.arms.iter();
                arms.flat_map(|arm| self.of_arm(arm, &choice.expr))
                    .collect()
            }
            Expr::Binary(sum) if is_of_texts(sum) => {
                let after = self.texts(&sum.right);
                joined(
                    self.texts(&sum.left),
                    &after,
                    &variable(&name_of(&sum.right)),
                )
            }
            Expr::Array(list) => list.elems.iter().flat_map(|one| self.texts(one)).collect(),
            Expr::Call(call) => self.of_call(call),
            Expr::MethodCall(call) => self.of_method(call),
            Expr::Field(field) if name_of(&field.base).is_empty() => self
                .of_name(&member(&field.member))
                .unwrap_or_else(|| vec![variable(&member(&field.member))]),
            other => vec![variable(&name_of(other))],
        }
    }

    fn of_choice(&self, choice: &'s syn::ExprIf) -> Vec<String> {
        let mut inside = self.clone();
        inside.scope.bind_condition(&choice.cond);
        let mut all = inside.of_block(&choice.then_branch);
        if let Some((_, otherwise)) = &choice.else_branch {
            all.extend(self.texts(otherwise));
        }
        all
    }

    fn of_arm(&self, arm: &'s syn::Arm, value: &'s Expr) -> Vec<String> {
        let mut inside = self.clone();
        inside.scope.bind(&arm.pat, Some(value));
        inside.texts(&arm.body)
    }

    fn of_block(&self, block: &'s Block) -> Vec<String> {
        let (inside, last) = self.at_end(block);
        last.map_or_else(Vec::new, |last| inside.texts(last))
    }

    /// The last expression of a block, and a reader at its place.
    fn at_end(&self, block: &'s Block) -> (Self, Option<&'s Expr>) {
        let mut inside = self.clone();
        for statement in &block.stmts {
            if let Stmt::Local(local) = statement {
                let value = local.init.as_ref().map(|init| &*init.expr);
                inside.scope.bind(&local.pat, value);
            }
        }
        let last = match block.stmts.last() {
            Some(Stmt::Expr(expression, None)) => Some(expression),
            Some(_) | None => None,
        };
        (inside, last)
    }

    fn of_macro(&self, call: &'s Macro) -> Vec<String> {
        let name = call.path.segments.last().map(|last| last.ident.to_string());
        let Some(arguments) = self.index.sources.of_macro(call) else {
            return vec![variable("")];
        };
        match name.unwrap_or_default().as_str() {
            "format" | "format_args" => self.formatted(arguments),
            "vec" => arguments.iter().flat_map(|one| self.texts(one)).collect(),
            "concat" => arguments.iter().fold(vec![String::new()], |before, one| {
                joined(before, &self.texts(one), &variable(&name_of(one)))
            }),
            _ => vec![variable("")],
        }
    }

    /// The texts of the arguments of `format!`.
    pub(super) fn formatted(&self, arguments: &'s [Expr]) -> Vec<String> {
        let format = arguments
            .first()
            .and_then(|format| self.texts(format).into_iter().next());
        let (Some(format), Some(values)) = (format, arguments.get(1..)) else {
            return Vec::new();
        };
        let mut next = values.iter();
        let mut all = vec![String::new()];
        for part in parts(&format) {
            let (texts, name) = match part {
                FormatPart::Text(text) => (vec![text], String::new()),
                FormatPart::Next => self.argument(next.next(), ""),
                FormatPart::Number(number) => {
                    self.argument(values.get(number), &number.to_string())
                }
                FormatPart::Name(name) => self.argument(named(values, &name), &name),
            };
            all = joined(all, &texts, &variable(&name));
        }
        all
    }

    fn argument(&self, value: Option<&'s Expr>, name: &str) -> (Vec<String>, String) {
        let Some(value) = value else {
            let texts = self.of_name(name).unwrap_or_default();
            return (self.few(texts, name), name.to_owned());
        };
        let own = name_of(value);
        let name = if name.is_empty() {
            own
        } else {
            name.to_owned()
        };
        (self.few(self.texts(value), &name), name)
    }

    /// Alternatives, or a variable part instead of many. Phrases are then listed.
    fn few(&self, mut texts: Vec<String>, name: &str) -> Vec<String> {
        texts.sort();
        texts.dedup();
        if texts.len() > FEW {
            let phrases = texts.into_iter().filter(|text| is_phrase(text));
            let phrases = phrases.map(|text| (name.to_owned(), text));
            self.listed.borrow_mut().extend(phrases);
            return vec![variable(name)];
        }
        if texts.is_empty() {
            return vec![variable(name)];
        }
        texts
    }

    fn of_path(&self, path: &ExprPath) -> Vec<String> {
        let (name, owner) = last_names(&path.path);
        if owner.is_none() {
            return self.of_name(&name).unwrap_or_else(|| vec![variable(&name)]);
        }
        let owner = owner.filter(|owner| owner.starts_with(char::is_uppercase) && owner != "Self");
        self.of_constant(owner.as_deref(), &name)
            .unwrap_or_else(|| vec![variable(&name)])
    }

    /// The texts of a variable or constant, if it is known.
    fn of_name(&self, name: &str) -> Option<Vec<String>> {
        if name == "None" {
            return Some(Vec::new());
        }
        let Some(entry) = self.scope.find(name) else {
            return self.of_constant(None, name);
        };
        let mut outside = self.clone();
        outside.scope = entry.outer.clone();
        match &entry.value {
            LocalValue::Texts(texts) => Some(texts.clone()),
            LocalValue::Unknown => None,
            LocalValue::Expression(value, None) => {
                let texts = outside.texts(value).into_iter();
                Some(texts.map(|text| named_if_unknown(text, name)).collect())
            }
            LocalValue::Expression(value, Some(at)) => outside.of_element(value, *at),
        }
    }

    /// The texts of an element of a tuple.
    fn of_element(&self, value: &'s Expr, at: usize) -> Option<Vec<String>> {
        if let Expr::Tuple(tuple) = value {
            return tuple
                .elems
                .iter()
                .nth(at)
                .map(|element| self.texts(element));
        }
        if let Expr::Match(choice) = value {
            let arms = choice.arms.iter().filter_map(|arm| {
                let mut inside = self.clone();
                inside.scope.bind(&arm.pat, Some(&choice.expr));
                inside.of_element(&arm.body, at)
            });
            return Some(arms.flatten().collect());
        }
        if let Expr::If(choice) = value {
            let mut inside = self.clone();
            inside.scope.bind_condition(&choice.cond);
            let (inside, last) = inside.at_end(&choice.then_branch);
            let mut all = inside.of_element(last?, at)?;
            let otherwise = choice.else_branch.as_ref();
            all.extend(
                otherwise
                    .and_then(|(_, otherwise)| self.of_element(otherwise, at))
                    .unwrap_or_default(),
            );
            return Some(all);
        }
        if let Expr::Block(block) = value {
            let (inside, last) = self.at_end(&block.block);
            return inside.of_element(last?, at);
        }
        None
    }

    fn of_constant(&self, owner: Option<&str>, name: &str) -> Option<Vec<String>> {
        let constants = self.index.constants(name, self.path).into_iter();
        let mut constants =
            constants.filter(|one| owner.is_none() || one.owner.as_deref() == owner);
        let constant = constants.next().filter(|one| is_plain(one.value))?;
        Some(TextReader::of_file(self.index, constant.path).texts(constant.value))
    }

    fn of_call(&self, call: &'s ExprCall) -> Vec<String> {
        let unknown = || vec![variable(&name_of_call(call))];
        let Expr::Path(path) = &*call.func else {
            return unknown();
        };
        let last = path.path.segments.last().map(|last| last.ident.to_string());
        match (last.unwrap_or_default().as_str(), call.args.first()) {
            ("Some" | "Ok" | "from" | "Borrowed" | "Owned", Some(value)) => {
                return self.texts(value);
            }
            ("Err", _) => return Vec::new(),
            ("new" | "default", None) => return vec![String::new()],
            _ => {}
        }
        let arguments = call.args.iter().map(Some);
        self.of_callee(path, arguments).unwrap_or_else(unknown)
    }

    /// The texts of what a path calls, if it is known.
    fn of_callee(
        &self,
        path: &ExprPath,
        arguments: impl Iterator<Item = Option<&'s Expr>>,
    ) -> Option<Vec<String>> {
        if let Some((reader, closure)) = path
            .path
            .get_ident()
            .and_then(|name| self.closure(&name.to_string()))
        {
            let mut reader = reader;
            self.bind_arguments(&mut reader, closure, arguments);
            return Some(reader.texts(&closure.body));
        }
        let (_, function) = self
            .index
            .function(&path.path, self.path, self.owner.as_deref())?;
        self.of_function(function, arguments)
    }

    /// The closure that a local variable is, and a reader at its place.
    pub(super) fn closure(&self, name: &str) -> Option<(Self, &'s ExprClosure)> {
        let entry = self.scope.find(name)?;
        let LocalValue::Expression(Expr::Closure(closure), None) = &entry.value else {
            return None;
        };
        let mut reader = self.clone();
        reader.scope = entry.outer.clone();
        Some((reader, closure))
    }

    /// Gives the texts of arguments to the parameters of a closure.
    pub(super) fn bind_arguments(
        &self,
        inside: &mut Self,
        closure: &ExprClosure,
        arguments: impl Iterator<Item = Option<&'s Expr>>,
    ) {
        let arguments = arguments.chain(std::iter::repeat(None));
        for (pattern, argument) in closure.inputs.iter().zip(arguments) {
            match (bound_name(pattern), argument) {
                (Some(name), Some(argument)) => inside.give(&name, self.texts(argument)),
                _ => inside.scope.bind(pattern, None),
            }
        }
    }

    /// The texts that a function returns, if any is known.
    fn of_function(
        &self,
        function: &SourceFunction<'s>,
        arguments: impl Iterator<Item = Option<&'s Expr>>,
    ) -> Option<Vec<String>> {
        let is_open = self
            .open
            .iter()
            .any(|open| std::ptr::eq(*open, function.body));
        if is_open || self.open.len() >= DEEPEST || !is_text(&function.output) {
            return None;
        }
        let mut reader = Self::new(self.index, function);
        reader.listed = Rc::clone(&self.listed);
        reader.open.clone_from(&self.open);
        reader.open.push(function.body);
        for (parameter, argument) in function.parameters.iter().zip(arguments) {
            if let Some(argument) = argument.filter(|_| parameter.is_text) {
                reader.give(&parameter.name, self.texts(argument));
            }
        }
        let all = reader.result(function.body);
        all.iter().any(|text| has_words(text)).then_some(all)
    }

    /// The texts of the result of a function.
    pub(super) fn result(&self, body: &'s Block) -> Vec<String> {
        let mut all = self.of_block(body);
        all.extend(self.returned(body));
        all
    }

    /// The texts of what a function returns early.
    fn returned(&self, body: &'s Block) -> Vec<String> {
        let mut all = Vec::new();
        let mut add = |reader: &Self, expression: &'s Expr| {
            if let Expr::Return(returned) = expression {
                let value = returned.expr.as_deref();
                all.extend(value.into_iter().flat_map(|value| reader.texts(value)));
            }
        };
        let mut walk = SourceWalk {
            reader: self.clone(),
            on_expression: &mut add,
        };
        walk.visit_block(body);
        all
    }

    fn of_method(&self, call: &'s ExprMethodCall) -> Vec<String> {
        let name = call.method.to_string();
        let arguments: Vec<&Expr> = call.args.iter().collect();
        match (name.as_str(), arguments.as_slice()) {
            (name, [made]) if MAKING.contains(&name) => self.made_by(made),
            (name, [other]) if OTHERWISE.contains(&name) => {
                let mut all = self.texts(&call.receiver);
                all.extend(self.made_by(other));
                all
            }
            ("map_or" | "map_or_else", [other, made]) => {
                let mut all = self.made_by(other);
                all.extend(self.made_by(made));
                all
            }
            ("unwrap_or_default", []) => {
                let mut all = self.texts(&call.receiver);
                all.push(String::new());
                all
            }
            (name, _) if SAME.contains(&name) => self.texts(&call.receiver),
            (name, _) => {
                let method = self.index.only_method(name);
                let arguments = arguments.iter().copied().map(Some);
                let texts = method.and_then(|method| self.of_function(method, arguments));
                texts.unwrap_or_else(|| vec![variable(&name_of_method(call))])
            }
        }
    }

    /// Texts of what a closure or function makes, or of a value.
    pub(super) fn made_by(&self, maker: &'s Expr) -> Vec<String> {
        if let Expr::Closure(closure) = maker {
            let mut inside = self.clone();
            self.bind_arguments(&mut inside, closure, std::iter::empty());
            return inside.texts(&closure.body);
        }
        if let Expr::Path(path) = maker {
            if last_names(&path.path).0 == "new" {
                return vec![String::new()];
            }
            if let Some(texts) = self.of_callee(path, std::iter::empty()) {
                return texts;
            }
        }
        self.texts(maker)
    }
}

/// Returns true for a sum that is not of numbers.
fn is_of_texts(sum: &syn::ExprBinary) -> bool {
    let is_number =
        |side: &Expr| matches!(side, Expr::Lit(literal) if matches!(literal.lit, Lit::Int(_)));
    matches!(sum.op, BinOp::Add(_)) && !is_number(&sum.right)
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "other literals have no texts"
)]
fn of_literal(literal: &Lit) -> String {
    match literal {
        Lit::Str(text) => text.value(),
        Lit::Int(number) => number.base10_digits().to_owned(),
        Lit::Char(letter) => letter.value().to_string(),
        _ => variable(""),
    }
}

/// A text, or the variable part of this name if nothing of it is known.
fn named_if_unknown(text: String, name: &str) -> String {
    let is_variable = text.starts_with('{') && text.find('}') == Some(text.len() - 1);
    if text == variable("") || is_variable {
        variable(name)
    } else {
        text
    }
}

/// The argument of `format!` that has a name.
fn named<'a>(values: &'a [Expr], name: &str) -> Option<&'a Expr> {
    values.iter().find_map(|value| {
        let Expr::Assign(assigned) = value else {
            return None;
        };
        (name_of(&assigned.left) == name).then_some(&*assigned.right)
    })
}

/// Returns true for a value that is a literal or a macro call.
fn is_plain(value: &Expr) -> bool {
    let Expr::Lit(literal) = value else {
        return matches!(value, Expr::Macro(_));
    };
    matches!(literal.lit, Lit::Str(_) | Lit::Int(_))
}

fn member(member: &Member) -> String {
    match member {
        Member::Named(name) => name.to_string(),
        Member::Unnamed(place) => place.index.to_string(),
    }
}

/// Name of a variable part.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "no other expression has a name"
)]
pub(super) fn name_of(expression: &Expr) -> String {
    match expression {
        Expr::Path(path) => {
            let last = path.path.segments.last().map(|last| last.ident.to_string());
            last.filter(|last| last != "self").unwrap_or_default()
        }
        Expr::Field(field) => match &field.member {
            Member::Named(name) => name.to_string(),
            Member::Unnamed(_) => name_of(&field.base),
        },
        Expr::MethodCall(call) => name_of_method(call),
        Expr::Call(call) => name_of_call(call),
        Expr::Reference(inner) => name_of(&inner.expr),
        Expr::Paren(inner) => name_of(&inner.expr),
        Expr::Unary(inner) => name_of(&inner.expr),
        Expr::Cast(inner) => name_of(&inner.expr),
        Expr::Try(inner) => name_of(&inner.expr),
        Expr::Index(inner) => name_of(&inner.expr),
        Expr::Binary(inner) => name_of(&inner.left),
        _ => String::new(),
    }
}

fn name_of_call(call: &ExprCall) -> String {
    let first = call.args.first().map(name_of);
    first
        .filter(|name| !name.is_empty())
        .unwrap_or_else(|| name_of(&call.func))
}

fn name_of_method(call: &ExprMethodCall) -> String {
    match name_of(&call.receiver) {
        name if name.is_empty() => call.method.to_string(),
        name => name,
    }
}
