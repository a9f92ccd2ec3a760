//! Names and values of local variables, as of a place in a function.

use std::rc::Rc;

use syn::{BinOp, Expr, Pat};

/// The local variables at a place.
#[derive(Clone, Default)]
pub(super) struct Scope<'s>(Option<Rc<ScopeEntry<'s>>>);

/// A local variable.
pub(super) struct ScopeEntry<'s> {
    name: String,
    pub(super) value: LocalValue<'s>,
    /// The variables that its value can name.
    pub(super) outer: Scope<'s>,
}

/// The value of a local variable.
pub(super) enum LocalValue<'s> {
    /// An expression; one element of it, if it is a tuple.
    Expression(&'s Expr, Option<usize>),
    /// Texts of a parameter.
    Texts(Vec<String>),
    /// It is not known.
    Unknown,
}

impl<'s> Scope<'s> {
    /// A local variable, the one declared last.
    pub(super) fn find(&self, name: &str) -> Option<&ScopeEntry<'s>> {
        let mut entry = self.0.as_deref();
        while let Some(one) = entry {
            if one.name == name {
                return Some(one);
            }
            entry = one.outer.0.as_deref();
        }
        None
    }

    /// Declares a variable.
    pub(super) fn add(&mut self, name: &str, value: LocalValue<'s>) {
        let outer = std::mem::take(self);
        *self = Self(Some(Rc::new(ScopeEntry {
            name: name.to_owned(),
            value,
            outer,
        })));
    }

    /// Declares the variables of a pattern.
    pub(super) fn bind(&mut self, pattern: &Pat, value: Option<&'s Expr>) {
        if let Pat::Tuple(tuple) = pattern {
            for (at, part) in tuple.elems.iter().enumerate() {
                self.bind_one(part, value, Some(at));
            }
        } else {
            self.bind_one(pattern, value, None);
        }
    }

    fn bind_one(&mut self, pattern: &Pat, value: Option<&'s Expr>, element: Option<usize>) {
        match (bound_name(pattern), value) {
            (Some(name), Some(value)) => {
                self.add(&name, LocalValue::Expression(value, element));
            }
            (Some(name), None) => self.add(&name, LocalValue::Unknown),
            (None, _) => self.forget(pattern),
        }
    }

    /// Declares all names of a pattern as unknown.
    fn forget(&mut self, pattern: &Pat) {
        struct PatternNames(Vec<String>);
        impl<'a> syn::visit::Visit<'a> for PatternNames {
            fn visit_pat_ident(&mut self, ident: &'a syn::PatIdent) {
                self.0.push(ident.ident.to_string());
            }
        }
        let mut names = PatternNames(Vec::new());
        syn::visit::Visit::visit_pat(&mut names, pattern);
        for name in names.0 {
            self.add(&name, LocalValue::Unknown);
        }
    }

    /// Declares the variables that a condition binds.
    pub(super) fn bind_condition(&mut self, condition: &'s Expr) {
        if let Expr::Let(bound) = condition {
            self.bind(&bound.pat, Some(&bound.expr));
        }
        if let Expr::Binary(chain) = condition {
            if matches!(chain.op, BinOp::And(_)) {
                self.bind_condition(&chain.left);
                self.bind_condition(&chain.right);
            }
        }
    }
}

/// The name that a pattern gives to a whole value, or to its success.
pub(super) fn bound_name(pattern: &Pat) -> Option<String> {
    if let Pat::Ident(ident) = pattern {
        let is_name = ident
            .ident
            .to_string()
            .starts_with(|letter: char| !letter.is_uppercase());
        return is_name.then(|| ident.ident.to_string());
    }
    if let Pat::Type(typed) = pattern {
        return bound_name(&typed.pat);
    }
    if let Pat::Reference(reference) = pattern {
        return bound_name(&reference.pat);
    }
    let Pat::TupleStruct(wrapped) = pattern else {
        return None;
    };
    let is_success = ["Some", "Ok"]
        .iter()
        .any(|name| wrapped.path.is_ident(name));
    let only = wrapped.elems.first().filter(|_| wrapped.elems.len() == 1);
    only.filter(|_| is_success).and_then(bound_name)
}
