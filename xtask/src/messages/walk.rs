//! A walk through a function that knows the local variables everywhere.

use syn::visit::{self, Visit};
use syn::{Block, Expr, Stmt};

use super::text::TextReader;

/// Called with every expression, and a reader of texts at its place.
type OnExpression<'w, 'i, 's> = dyn FnMut(&TextReader<'i, 's>, &'s Expr) + 'w;

/// The walk.
pub(super) struct SourceWalk<'w, 'i, 's> {
    pub(super) reader: TextReader<'i, 's>,
    pub(super) on_expression: &'w mut OnExpression<'w, 'i, 's>,
}

impl<'s> SourceWalk<'_, '_, 's> {
    fn inside(&mut self, visit: impl FnOnce(&mut Self)) {
        let outside = self.reader.scope.clone();
        visit(self);
        self.reader.scope = outside;
    }

    fn statement(&mut self, statement: &'s Stmt) {
        let Stmt::Local(local) = statement else {
            return self.visit_stmt(statement);
        };
        let init = local.init.as_ref();
        // A closure with a name is read where it is called.
        if let Some(init) = init.filter(|init| !matches!(&*init.expr, Expr::Closure(_))) {
            self.visit_expr(&init.expr);
        }
        if let Some((_, otherwise)) = init.and_then(|init| init.diverge.as_ref()) {
            self.visit_expr(otherwise);
        }
        let value = init.map(|init| &*init.expr);
        self.reader.scope.bind(&local.pat, value);
    }
}

impl<'s> Visit<'s> for SourceWalk<'_, '_, 's> {
    fn visit_expr(&mut self, expression: &'s Expr) {
        (self.on_expression)(&self.reader, expression);
        visit::visit_expr(self, expression);
    }

    fn visit_expr_call(&mut self, call: &'s syn::ExprCall) {
        if !matches!(&*call.func, Expr::Path(_)) {
            self.visit_expr(&call.func);
        }
        call.args
            .iter()
            .for_each(|argument| self.visit_expr(argument));
    }

    fn visit_block(&mut self, block: &'s Block) {
        self.inside(|walk| {
            block
                .stmts
                .iter()
                .for_each(|statement| walk.statement(statement))
        });
    }

    fn visit_expr_if(&mut self, choice: &'s syn::ExprIf) {
        self.visit_expr(&choice.cond);
        self.inside(|walk| {
            walk.reader.scope.bind_condition(&choice.cond);
            walk.visit_block(&choice.then_branch);
        });
        if let Some((_, otherwise)) = &choice.else_branch {
            self.visit_expr(otherwise);
        }
    }

    fn visit_expr_while(&mut self, repeated: &'s syn::ExprWhile) {
        self.visit_expr(&repeated.cond);
        self.inside(|walk| {
            walk.reader.scope.bind_condition(&repeated.cond);
            walk.visit_block(&repeated.body);
        });
    }

    fn visit_expr_match(&mut self, choice: &'s syn::ExprMatch) {
        self.visit_expr(&choice.expr);
        for arm in &choice.arms {
            self.inside(|walk| {
                walk.reader.scope.bind(&arm.pat, Some(&choice.expr));
                walk.visit_expr(&arm.body);
            });
        }
    }

    fn visit_expr_for_loop(&mut self, repeated: &'s syn::ExprForLoop) {
        self.visit_expr(&repeated.expr);
        self.inside(|walk| {
            walk.reader.scope.bind(&repeated.pat, Some(&repeated.expr));
            walk.visit_block(&repeated.body);
        });
    }

    fn visit_expr_closure(&mut self, closure: &'s syn::ExprClosure) {
        self.inside(|walk| {
            for pattern in &closure.inputs {
                walk.reader.scope.bind(pattern, None);
            }
            walk.visit_expr(&closure.body);
        });
    }

    fn visit_item(&mut self, _nested: &'s syn::Item) {}
}
