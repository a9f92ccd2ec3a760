//! Messages of PostgreSQL's protocol, version 3.0, as far as a history needs them
//! (PostgreSQL manual, 55.7 Message Formats). No socket here.

use crate::database::Value;

/// The version of the protocol, in the first message.
const VERSION: i32 = 3 << 16;
/// What asks for TLS in place of a version.
const TLS: i32 = 80_877_103;

/// Object identifiers of types (pg_type.dat).
mod oid {
    pub(super) const BOOL: i32 = 16;
    pub(super) const BYTES: i32 = 17;
    pub(super) const INT8: i32 = 20;
    pub(super) const INT2: i32 = 21;
    pub(super) const INT4: i32 = 23;
    pub(super) const TEXT: i32 = 25;
    pub(super) const FLOAT8: i32 = 701;
}

/// A message on its way out.
fn message(kind: Option<u8>, body: &[u8]) -> Vec<u8> {
    let mut bytes: Vec<u8> = kind.into_iter().collect();
    bytes.extend(length(body.len() + 4));
    bytes.extend(body);
    bytes
}

fn length(bytes: usize) -> [u8; 4] {
    i32::try_from(bytes).unwrap_or(i32::MAX).to_be_bytes()
}

fn text(to: &mut Vec<u8>, text: &str) {
    // It ends at the first zero; what is behind would be another field.
    to.extend(text.bytes().take_while(|byte| *byte != 0));
    to.push(0);
}

/// Asks whether the server can do TLS.
pub(super) fn ask_for_tls() -> Vec<u8> {
    message(None, &TLS.to_be_bytes())
}

/// The first message.
pub(super) fn startup(user: &str, database: &str) -> Vec<u8> {
    let mut body = VERSION.to_be_bytes().to_vec();
    for word in [
        "user",
        user,
        "database",
        database,
        "client_encoding",
        "UTF8",
        "application_name",
        "netperf history",
    ] {
        text(&mut body, word);
    }
    body.push(0);
    message(None, &body)
}

/// The password, as it is.
pub(super) fn password(password: &str) -> Vec<u8> {
    let mut body = Vec::new();
    text(&mut body, password);
    message(Some(b'p'), &body)
}

/// The beginning of a proof by SCRAM.
pub(super) fn sasl_initial(mechanism: &str, first: &str) -> Vec<u8> {
    let mut body = Vec::new();
    text(&mut body, mechanism);
    body.extend(length(first.len()));
    body.extend(first.as_bytes());
    message(Some(b'p'), &body)
}

/// The rest of it.
pub(super) fn sasl_response(response: &str) -> Vec<u8> {
    message(Some(b'p'), response.as_bytes())
}

/// Takes leave.
pub(super) fn terminate() -> Vec<u8> {
    message(Some(b'X'), &[])
}

/// A statement with its values: Parse, Bind, Describe, Execute and Sync in one go, all
/// values in binary. `None` for more values than there can be.
pub(super) fn statement(statement: &str, values: &[Value]) -> Option<Vec<u8>> {
    let count = i16::try_from(values.len()).ok()?.to_be_bytes();
    let mut parse = vec![0];
    text(&mut parse, statement);
    parse.extend(count);
    let mut bind = vec![0, 0, 0, 1, 0, 1];
    bind.extend(count);
    for value in values {
        let (oid, bytes) = encoded(value);
        parse.extend(oid.to_be_bytes());
        match bytes {
            Some(bytes) => {
                bind.extend(length(bytes.len()));
                bind.extend(bytes);
            }
            None => bind.extend((-1_i32).to_be_bytes()),
        }
    }
    bind.extend([0, 1, 0, 1]);
    let mut all = message(Some(b'P'), &parse);
    all.extend(message(Some(b'B'), &bind));
    all.extend(message(Some(b'D'), b"P\0"));
    // No limit of rows.
    all.extend(message(Some(b'E'), &[0, 0, 0, 0, 0]));
    all.extend(message(Some(b'S'), &[]));
    Some(all)
}

fn encoded(value: &Value) -> (i32, Option<Vec<u8>>) {
    match value {
        Value::Null => (oid::TEXT, None),
        Value::Whole(value) => (oid::INT8, Some(value.to_be_bytes().to_vec())),
        Value::Real(value) => (oid::FLOAT8, Some(value.to_be_bytes().to_vec())),
        Value::Text(value) => (oid::TEXT, Some(value.clone().into_bytes())),
        Value::Bytes(value) => (oid::BYTES, Some(value.clone())),
    }
}

/// Reads a message from the left; what is not there is `None`, and never a panic.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cursor<'a>(pub(super) &'a [u8]);

impl<'a> Cursor<'a> {
    pub(super) fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    pub(super) fn int(&mut self) -> Option<i32> {
        Some(i32::from_be_bytes(self.bytes(4)?.try_into().ok()?))
    }

    fn short(&mut self) -> Option<i16> {
        Some(i16::from_be_bytes(self.bytes(2)?.try_into().ok()?))
    }

    /// Text up to a zero.
    pub(super) fn text(&mut self) -> Option<String> {
        let end = self.0.iter().position(|byte| *byte == 0)?;
        let text = self.bytes(end)?;
        self.bytes(1)?;
        Some(String::from_utf8_lossy(text).into_owned())
    }
}

/// The types of the columns that a RowDescription tells of.
pub(super) fn columns(body: &[u8]) -> Option<Vec<i32>> {
    let mut rest = Cursor(body);
    let count = rest.short()?;
    let column = |_| {
        rest.text()?;
        // Table and column there.
        rest.bytes(6)?;
        let oid = rest.int()?;
        // Size, modifier and format.
        rest.bytes(8)?;
        Some(oid)
    };
    (0..count).map(column).collect()
}

/// The values of a DataRow.
pub(super) fn row(body: &[u8], columns: &[i32]) -> Option<Vec<Value>> {
    let mut rest = Cursor(body);
    let count = usize::try_from(rest.short()?).ok()?;
    let value = |oid: &i32| match rest.int()? {
        -1 => Some(Value::Null),
        length => decoded(*oid, rest.bytes(usize::try_from(length).ok()?)?),
    };
    let values: Vec<Value> = columns.iter().map(value).collect::<Option<_>>()?;
    (values.len() == count).then_some(values)
}

fn decoded(oid: i32, bytes: &[u8]) -> Option<Value> {
    Some(match oid {
        oid::INT8 => Value::Whole(i64::from_be_bytes(bytes.try_into().ok()?)),
        oid::INT4 => Value::Whole(i32::from_be_bytes(bytes.try_into().ok()?).into()),
        oid::INT2 => Value::Whole(i16::from_be_bytes(bytes.try_into().ok()?).into()),
        oid::BOOL => Value::Whole(i64::from(*bytes.first()? != 0)),
        oid::FLOAT8 => Value::Real(f64::from_be_bytes(bytes.try_into().ok()?)),
        oid::BYTES => Value::Bytes(bytes.to_vec()),
        _ => Value::Text(String::from_utf8_lossy(bytes).into_owned()),
    })
}

/// The number of rows in the tag of a CommandComplete: its last word, where that is one.
pub(super) fn touched(body: &[u8]) -> u64 {
    let tag = Cursor(body).text().unwrap_or_default();
    let last = tag.rsplit(' ').next().and_then(|word| word.parse().ok());
    last.unwrap_or(0)
}

/// What an ErrorResponse says, in one line.
pub(super) fn error(body: &[u8]) -> String {
    let mut rest = Cursor(body);
    let mut said = None;
    while let Some([kind]) = rest.bytes(1).filter(|kind| *kind != [0]) {
        let Some(text) = rest.text() else { break };
        if *kind == b'M' {
            said = Some(text);
        }
    }
    let said = said.unwrap_or_else(|| "an error without a message".to_owned());
    netperf_web::escape::line(&said)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_read_by_the_types_of_its_columns() {
        let mut body = vec![0, 3];
        body.extend([0, 0, 0, 8]);
        body.extend(7_i64.to_be_bytes());
        body.extend((-1_i32).to_be_bytes());
        body.extend([0, 0, 0, 1, b'x']);
        let columns = [oid::INT8, oid::TEXT, oid::TEXT];
        let values = vec![Value::Whole(7), Value::Null, Value::Text("x".to_owned())];
        assert_eq!(row(&body, &columns), Some(values));
        for end in 0..body.len() {
            assert_eq!(row(&body[..end], &columns), None, "{end}");
        }
    }

    #[test]
    fn nothing_that_a_server_sends_is_a_panic() {
        let mut dice = netperf_stats::testing::Dice::new(1);
        for _ in 0..20_000 {
            let mut byte = || u8::try_from((1.0 + dice.roll()).to_bits() >> 36 & 255).unwrap_or(0);
            let length = usize::from(byte()) % 40;
            let body: Vec<u8> = (0..length).map(|_| byte()).collect();
            let columns = columns(&body).unwrap_or_else(|| vec![oid::INT8, oid::TEXT]);
            row(&body, &columns);
            touched(&body);
            error(&body);
        }
    }

    #[test]
    fn an_error_and_a_tag_are_understood() {
        assert_eq!(
            error(b"SERROR\0C42P01\0Mno such\ntable\0\0"),
            "no such\u{fffd}table"
        );
        assert_eq!(touched(b"DELETE 12\0"), 12);
        assert_eq!(touched(b"BEGIN\0"), 0);
    }
}
