//! Messages that functions construct.

use std::collections::BTreeSet;

use syn::visit::Visit;
use syn::{Expr, ExprCall, ExprClosure, ExprMethodCall, ExprPath, ExprStruct, Member};

use super::index::{SourceFunction, SourceIndex, last_names};
use super::status::{number, status_in};
use super::template::{has_words, is_phrase, variable};
use super::text::{TextReader, name_of};
use super::walk::SourceWalk;

/// The kind of a message: its effect, or its place on the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum MessageKind {
    /// A failure ends the program.
    Failure,
    /// Another line of a failure.
    Hint,
    /// A notice about the command line.
    Notice,
    /// A variant of `Warning`.
    Warning,
    /// A variant of an error type.
    Error,
    /// A reason without a type.
    Reason,
    /// Reasons in a table.
    Row,
    /// A message that a function returns.
    Text,
    /// A line that the function prints itself.
    Line,
    /// A line of a server's log.
    Log,
    /// An alternative of a variable part.
    Part,
}

/// The exit status of a message.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum MessageStatus {
    /// It is known.
    Known(u8),
    /// It is that of a parameter.
    Parameter(String),
    /// It follows from the place that shows the message.
    Elsewhere,
}

/// A message that a function constructs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FoundMessage {
    pub(super) kind: MessageKind,
    /// The type of an error or warning; empty for others.
    pub(super) owner: String,
    /// The variant of that type, or the name of a variable part.
    pub(super) name: String,
    pub(super) status: MessageStatus,
    pub(super) text: String,
}

/// Messages of each function, by its place in the index.
pub(super) type FunctionMessages = Vec<BTreeSet<FoundMessage>>;

/// Most levels of functions that add to a message.
const ROUNDS: usize = 5;

/// The messages of all functions, without those that only callers complete.
pub(super) fn messages(index: &SourceIndex<'_>) -> FunctionMessages {
    let mut found: FunctionMessages = vec![BTreeSet::new(); index.functions.len()];
    for _ in 0..ROUNDS {
        let next = index
            .functions
            .iter()
            .map(|function| of_function(index, function, &found));
        let next: FunctionMessages = next.collect();
        if next == found {
            break;
        }
        found = next;
    }
    for (messages, function) in found.iter_mut().zip(&index.functions) {
        messages.retain(|message| !is_completed_by_callers(message, function));
    }
    found
}

/// Returns true for a message that is none without an argument.
fn is_completed_by_callers(message: &FoundMessage, function: &SourceFunction<'_>) -> bool {
    let constructors = ["Failure", "Notice", "Usage"].map(Some);
    matches!(&message.status, MessageStatus::Parameter(_))
        || constructors.contains(&function.owner.as_deref())
}

fn of_function<'s>(
    index: &SourceIndex<'s>,
    function: &SourceFunction<'s>,
    found: &FunctionMessages,
) -> BTreeSet<FoundMessage> {
    let reader = TextReader::new(index, function);
    let mut finder = MessageFinder {
        function,
        found,
        messages: BTreeSet::new(),
        open: Vec::new(),
    };
    finder.walk(reader.clone(), |walk| walk.visit_block(function.body));
    for (name, text) in reader.listed.take() {
        finder.add(
            MessageKind::Part,
            ("", &name),
            &MessageStatus::Elsewhere,
            vec![text],
        );
    }
    finder.messages
}

struct MessageFinder<'f, 's> {
    function: &'f SourceFunction<'s>,
    /// Messages that other functions construct.
    found: &'f FunctionMessages,
    messages: BTreeSet<FoundMessage>,
    /// Closures that are being read.
    open: Vec<&'s ExprClosure>,
}

impl<'s> MessageFinder<'_, 's> {
    fn walk<'i>(
        &mut self,
        reader: TextReader<'i, 's>,
        begin: impl FnOnce(&mut SourceWalk<'_, 'i, 's>),
    ) {
        let mut read =
            |reader: &TextReader<'i, 's>, expression: &'s Expr| self.read(reader, expression);
        begin(&mut SourceWalk {
            reader,
            on_expression: &mut read,
        });
    }

    fn read(&mut self, reader: &TextReader<'_, 's>, expression: &'s Expr) {
        if let Expr::Call(call) = expression {
            self.of_call(reader, call);
        }
        if let Expr::MethodCall(call) = expression {
            self.of_method(reader, call);
        }
        if let Expr::Struct(made) = expression {
            self.of_struct(reader, made);
        }
        if let Expr::Assign(assigned) = expression {
            if name_of(&assigned.left) == "refusal" {
                self.of_reason(reader, &assigned.right);
            }
        }
        // A function as a value.
        if let Expr::Path(path) = expression {
            self.of_callee(reader, path, &[]);
        }
    }

    fn add(
        &mut self,
        kind: MessageKind,
        (owner, name): (&str, &str),
        status: &MessageStatus,
        texts: Vec<String>,
    ) {
        let texts = texts.into_iter().filter(|text| !text.trim().is_empty());
        self.messages.extend(texts.map(|text| FoundMessage {
            kind,
            owner: owner.to_owned(),
            name: name.to_owned(),
            status: status.clone(),
            text,
        }));
    }

    /// Adds the texts that contain fixed words.
    fn add_known(
        &mut self,
        kind: MessageKind,
        case: (&str, &str),
        status: &MessageStatus,
        mut texts: Vec<String>,
    ) {
        texts.retain(|text| has_words(text));
        self.add(kind, case, status, texts);
    }

    /// The exit status that an expression gives.
    fn status(&self, reader: &TextReader<'_, 's>, value: &'s Expr) -> MessageStatus {
        let name = name_of(value);
        let mut parameters = self.function.parameters.iter();
        if parameters.any(|parameter| parameter.name == name) {
            return MessageStatus::Parameter(name);
        }
        let given = reader.texts(value);
        let given = given.first().and_then(|text| text.parse().ok());
        let known = number(reader.index, value).or(given);
        known.map_or(MessageStatus::Elsewhere, MessageStatus::Known)
    }

    fn of_call(&mut self, reader: &TextReader<'_, 's>, call: &'s ExprCall) {
        let Expr::Path(path) = &*call.func else {
            return;
        };
        let arguments: Vec<&Expr> = call.args.iter().collect();
        let (last, before) = last_names(&path.path);
        match (before.as_deref(), last.as_str(), arguments.as_slice()) {
            (None, "Err", [value])
            | (Some("Error"), "other", [value])
            | (Some("Error"), "new", [_, value]) => {
                self.of_reason(reader, value);
            }
            (Some("Usage"), "error", [text, status]) => {
                let status = self.status(reader, status);
                let mut texts = reader.texts(text);
                texts.retain(|text| !text.trim_start().starts_with("Usage:"));
                self.add(MessageKind::Failure, ("", ""), &status, texts);
            }
            (None | Some("output"), "err", [text]) => {
                self.add(
                    MessageKind::Line,
                    ("", ""),
                    &MessageStatus::Elsewhere,
                    reader.texts(text),
                );
            }
            (_, _, arguments) => {
                let fields = arguments.iter().enumerate();
                let fields = fields.map(|(at, value)| (at.to_string(), *value)).collect();
                self.of_case(reader, &path.path, fields);
                self.of_callee(reader, path, arguments);
            }
        }
    }

    /// Messages of a function or closure that is called, or used as a value.
    fn of_callee(&mut self, reader: &TextReader<'_, 's>, path: &ExprPath, arguments: &[&'s Expr]) {
        let name = path
            .path
            .get_ident()
            .map(ToString::to_string)
            .unwrap_or_default();
        if let Some((inside, closure)) = reader.closure(&name) {
            self.of_closure(reader, inside, closure, arguments);
        } else if reader.scope.find(&name).is_some() {
            // Another local variable.
        } else if let Some((at, function)) =
            reader
                .index
                .function(&path.path, reader.path, reader.owner.as_deref())
        {
            for message in self.found.get(at).into_iter().flatten() {
                self.completed(reader, message, function, arguments);
            }
        }
    }

    fn of_closure<'i>(
        &mut self,
        reader: &TextReader<'i, 's>,
        mut inside: TextReader<'i, 's>,
        closure: &'s ExprClosure,
        arguments: &[&'s Expr],
    ) {
        if self.open.iter().any(|open| std::ptr::eq(*open, closure)) {
            return;
        }
        reader.bind_arguments(&mut inside, closure, arguments.iter().copied().map(Some));
        self.open.push(closure);
        self.walk(inside, |walk| walk.visit_expr(&closure.body));
        self.open.pop();
    }

    /// Adds the message of a function whose arguments complete it.
    fn completed(
        &mut self,
        reader: &TextReader<'_, 's>,
        message: &FoundMessage,
        function: &SourceFunction<'s>,
        arguments: &[&'s Expr],
    ) {
        let by_status = matches!(&message.status, MessageStatus::Parameter(_));
        let is_constructor = is_completed_by_callers(message, function) && !arguments.is_empty();
        let (mut texts, mut status) = (vec![message.text.clone()], message.status.clone());
        let mut is_completed = by_status || is_constructor;
        for (parameter, value) in function.parameters.iter().zip(arguments) {
            if status == MessageStatus::Parameter(parameter.name.clone()) {
                status = self.status(reader, value);
            }
            let part = variable(&parameter.name);
            if parameter.is_text && message.text.contains(&part) {
                let inner = reader.texts(value);
                is_completed |= inner.iter().any(|text| is_phrase(text));
                texts = replaced(texts, &part, &inner);
            }
        }
        if is_completed {
            if arguments.is_empty() {
                status = MessageStatus::Elsewhere;
            }
            self.add(
                message.kind,
                (&message.owner, &message.name),
                &status,
                texts,
            );
        }
    }

    /// Messages of a warning or an error type that is made.
    fn of_case(
        &mut self,
        reader: &TextReader<'_, 's>,
        path: &syn::Path,
        fields: Vec<(String, &'s Expr)>,
    ) {
        let (last, before) = last_names(path);
        let own = |name: String| {
            if name == "Self" {
                self.function.owner.clone().unwrap_or_default()
            } else {
                name
            }
        };
        let (last, owner) = (own(last), own(before.unwrap_or_default()));
        let of_warning = match (owner.as_str(), last.as_str()) {
            ("Warning", variant) => Some(("Warning", variant)),
            ("CoordinatorAction", "Line") => Some(("", "")),
            _ => None,
        };
        if let Some(name) = of_warning {
            let texts = fields
                .into_iter()
                .flat_map(|(_, value)| reader.texts(value))
                .collect();
            return self.add_known(MessageKind::Warning, name, &MessageStatus::Known(0), texts);
        }
        let mut cases = reader.index.errors.iter();
        let Some(case) = cases.find(|case| {
            (case.owner == owner && case.name == last)
                || (case.owner == last && case.name.is_empty())
        }) else {
            return;
        };
        let mut inside = TextReader::of_file(reader.index, case.path);
        inside.listed = reader.listed.clone();
        let mut is_known = false;
        for (name, value) in fields {
            let texts = reader.texts(value);
            if texts.iter().any(|text| has_words(text)) {
                is_known = true;
                inside.give(&name, texts);
            }
        }
        if is_known {
            let texts = super::error_texts(&inside, case);
            self.add(
                MessageKind::Error,
                (&case.owner, &case.name),
                &MessageStatus::Elsewhere,
                texts,
            );
        }
    }

    fn of_reason(&mut self, reader: &TextReader<'_, 's>, value: &'s Expr) {
        let mut texts = reader.made_by(value);
        texts.retain(|text| is_phrase(text));
        self.add(
            MessageKind::Reason,
            ("", ""),
            &MessageStatus::Elsewhere,
            texts,
        );
    }

    fn of_method(&mut self, reader: &TextReader<'_, 's>, call: &'s ExprMethodCall) {
        let arguments: Vec<&Expr> = call.args.iter().collect();
        match (call.method.to_string().as_str(), arguments.as_slice()) {
            ("hint" | "and", [text]) => {
                self.add_known(
                    MessageKind::Hint,
                    ("", ""),
                    &MessageStatus::Elsewhere,
                    reader.texts(text),
                );
            }
            ("ok_or" | "ok_or_else" | "map_err", [value]) => self.of_reason(reader, value),
            ("push", [text]) if is_list_of_warnings(&call.receiver) => {
                self.add_known(
                    MessageKind::Warning,
                    ("", ""),
                    &MessageStatus::Known(0),
                    reader.texts(text),
                );
            }
            ("say" | "deny", [level, event, fields]) => self.of_log(reader, level, event, fields),
            ("fail", [what, _]) => {
                let texts = reader.texts(what).into_iter();
                let texts = texts
                    .map(|what| format!("error: {what} error=..."))
                    .collect();
                self.add(MessageKind::Log, ("", ""), &MessageStatus::Elsewhere, texts);
            }
            _ => {}
        }
    }

    fn of_log(
        &mut self,
        reader: &TextReader<'_, 's>,
        level: &'s Expr,
        event: &'s Expr,
        fields: &'s Expr,
    ) {
        let level = name_of(level).to_lowercase();
        if level == "warn" || level == "error" {
            let fields = log_fields(fields);
            let texts = reader.texts(event).into_iter();
            let texts = texts
                .map(|event| format!("{level}: {event}{fields}"))
                .collect();
            self.add(MessageKind::Log, ("", ""), &MessageStatus::Elsewhere, texts);
        }
    }

    fn of_struct(&mut self, reader: &TextReader<'_, 's>, made: &'s ExprStruct) {
        let mut last = last_names(&made.path).0;
        if last == "Self" {
            last = self.function.owner.clone().unwrap_or_default();
        }
        match last.as_str() {
            "Failure" => self.of_failure(reader, made),
            "Notice" => self.of_text(reader, made, (MessageKind::Notice, "text")),
            "Substitution" => self.of_text(reader, made, (MessageKind::Warning, "text")),
            "WarningText" => self.of_text(reader, made, (MessageKind::Warning, "message")),
            _ => {
                let fields = made.fields.iter().filter_map(|field| match &field.member {
                    Member::Named(name) => Some((name.to_string(), &field.expr)),
                    Member::Unnamed(_) => None,
                });
                self.of_case(reader, &made.path, fields.collect());
            }
        }
    }

    /// A message in one field of a structure.
    fn of_text(
        &mut self,
        reader: &TextReader<'_, 's>,
        made: &'s ExprStruct,
        (kind, name): (MessageKind, &str),
    ) {
        let texts = field(made, name)
            .map(|text| reader.texts(text))
            .unwrap_or_default();
        self.add_known_or_own(kind, texts);
    }

    fn add_known_or_own(&mut self, kind: MessageKind, mut texts: Vec<String>) {
        let is_constructor = self.function.owner.as_deref() == Some("Notice");
        texts.retain(|text| is_constructor || has_words(text));
        self.add(kind, ("", ""), &MessageStatus::Known(0), texts);
    }

    fn of_failure(&mut self, reader: &TextReader<'_, 's>, made: &'s ExprStruct) {
        let of_rest = || {
            let status = made
                .rest
                .as_ref()
                .and_then(|rest| status_in(reader.index, rest));
            status.map_or(MessageStatus::Elsewhere, MessageStatus::Known)
        };
        let status = field(made, "exit").map_or_else(of_rest, |exit| self.status(reader, exit));
        for part in ["stdout", "stderr", "hint", "in_short"] {
            let texts = field(made, part)
                .map(|text| reader.texts(text))
                .unwrap_or_default();
            self.add(MessageKind::Failure, ("", ""), &status, texts);
        }
    }
}

fn field<'s>(made: &'s ExprStruct, wanted: &str) -> Option<&'s Expr> {
    let is_it = |member: &Member| matches!(member, Member::Named(name) if name == wanted);
    let mut fields = made.fields.iter();
    fields
        .find(|field| is_it(&field.member))
        .map(|field| &field.expr)
}

fn is_list_of_warnings(receiver: &Expr) -> bool {
    ["warnings", "garbled", "notes"].contains(&name_of(receiver).as_str())
}

/// Names of the fields of a line of the log, where they are listed.
fn log_fields(fields: &Expr) -> String {
    struct FieldNames(String);
    impl<'a> Visit<'a> for FieldNames {
        fn visit_expr_tuple(&mut self, pair: &'a syn::ExprTuple) {
            if let Some(Expr::Lit(literal)) = pair.elems.first() {
                if let syn::Lit::Str(name) = &literal.lit {
                    self.0.push_str(&format!(" {}=...", name.value()));
                }
            }
        }
    }
    let mut names = FieldNames(String::new());
    names.visit_expr(fields);
    names.0
}

/// Replaces a variable part by each of some texts.
fn replaced(texts: Vec<String>, part: &str, by: &[String]) -> Vec<String> {
    let replace = |text: String| -> Vec<String> {
        if !text.contains(part) || by.is_empty() {
            return vec![text];
        }
        by.iter().map(|one| text.replace(part, one)).collect()
    };
    texts.into_iter().flat_map(replace).collect()
}
