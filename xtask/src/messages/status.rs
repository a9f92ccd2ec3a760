//! Exit statuses in the sources.

use std::collections::BTreeMap;

use syn::Expr;
use syn::visit::{self, Visit};

use super::index::{SourceFunction, SourceIndex, last_names};
use super::text::name_of;

/// File of the common exit statuses.
const STATUSES: &str = "crates/program/src/output.rs";

/// The number that an expression is: a literal or a constant.
pub(super) fn number(index: &SourceIndex<'_>, value: &Expr) -> Option<u8> {
    if let Expr::Lit(literal) = value {
        let syn::Lit::Int(number) = &literal.lit else {
            return None;
        };
        return number.base10_parse().ok();
    }
    let Expr::Path(path) = value else {
        return None;
    };
    let (name, before) = last_names(&path.path);
    let owner = before.filter(|owner| owner.starts_with(char::is_uppercase));
    let is_alias = |value: &Expr| matches!(value, Expr::Path(_)) && name_of(value) == name;
    let constants = index.constants(&name, STATUSES).into_iter();
    let constants = constants.filter(|one| owner.is_none() || one.owner == owner);
    let mut constants = constants.filter(|one| !is_alias(one.value));
    constants.find_map(|constant| number(index, constant.value))
}

/// The first exit status in an expression.
pub(super) fn status_in(index: &SourceIndex<'_>, expression: &Expr) -> Option<u8> {
    let mut first = FirstStatus { index, found: None };
    first.visit_expr(expression);
    first.found
}

/// Statuses of the variants of a type, by the arms of a function that matches them.
pub(super) fn of_arms(
    index: &SourceIndex<'_>,
    function: &SourceFunction<'_>,
) -> BTreeMap<String, u8> {
    let mut arms = Arms {
        index,
        found: BTreeMap::new(),
    };
    arms.visit_block(function.body);
    arms.found
}

struct Arms<'i, 's> {
    index: &'i SourceIndex<'s>,
    found: BTreeMap<String, u8>,
}

impl<'a> Visit<'a> for Arms<'_, '_> {
    fn visit_arm(&mut self, arm: &'a syn::Arm) {
        let mut variants = Variants(Vec::new());
        variants.visit_pat(&arm.pat);
        if let Some(status) = status_in(self.index, &arm.body) {
            for variant in variants.0 {
                self.found.entry(variant).or_insert(status);
            }
        }
        visit::visit_arm(self, arm);
    }
}

struct Variants(Vec<String>);

impl<'a> Visit<'a> for Variants {
    fn visit_path(&mut self, path: &'a syn::Path) {
        self.0
            .extend(path.segments.last().map(|last| last.ident.to_string()));
    }
}

struct FirstStatus<'i, 's> {
    index: &'i SourceIndex<'s>,
    found: Option<u8>,
}

impl FirstStatus<'_, '_> {
    /// The status of a constructor of failures.
    fn of_constructor(&self, name: &str) -> Option<u8> {
        let mut functions = self.index.named(name).map(|(_, one)| one);
        let constructor = functions.find(|one| one.owner.as_deref() == Some("Failure"))?;
        let mut first = FirstStatus {
            index: self.index,
            found: None,
        };
        first.visit_block(constructor.body);
        first.found
    }
}

impl<'a> Visit<'a> for FirstStatus<'_, '_> {
    fn visit_expr_path(&mut self, path: &'a syn::ExprPath) {
        if self.found.is_some() {
            return;
        }
        let (last, before) = last_names(&path.path);
        self.found = match before.as_deref() {
            Some("Failure" | "Self") if last.starts_with(char::is_lowercase) => {
                self.of_constructor(&last)
            }
            _ => number(self.index, &Expr::Path(path.clone())),
        };
    }

    fn visit_expr_lit(&mut self, literal: &'a syn::ExprLit) {
        let found = number(self.index, &Expr::Lit(literal.clone()));
        self.found = self.found.or(found);
    }
}
