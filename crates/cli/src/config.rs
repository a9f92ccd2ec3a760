//! netserver's file of settings: TOML whose keys are the names of options.

use std::ops::Range;

use toml::de::{DeTable, DeValue};

use netperf_arguments::args::ServerArgs;
use netperf_arguments::command::{CliError, Notice};
use netperf_arguments::fault::Fault;
use netperf_arguments::getopt::Argument;
use netperf_arguments::long::{self, shown};
use netperf_arguments::table::{OptionSpec, by_name};

use crate::options::server::{NOT_IN_A_FILE, TABLE};

/// Reads a file's text over `args`; everything that is wrong with it.
pub(crate) fn apply(file: &str, text: &str, args: &mut ServerArgs) -> Vec<Fault> {
    let mut reader = ConfigReader {
        file,
        text,
        args,
        faults: Vec::new(),
    };
    reader.read();
    reader.faults.sort_by_key(|fault| fault.line);
    reader.faults
}

struct ConfigReader<'a> {
    file: &'a str,
    text: &'a str,
    args: &'a mut ServerArgs,
    faults: Vec<Fault>,
}

impl ConfigReader<'_> {
    fn read(&mut self) {
        let (table, errors) = DeTable::parse_recoverable(self.text);
        // Further errors may follow from the first, as in a file that is none of settings.
        if let Some(error) = errors.first() {
            // A parser's words, of which only the first line is about what is wrong.
            let message = error.message().lines().next().unwrap_or_default();
            let text = format!("this is not TOML: {}", shown(message));
            self.fault(error.span(), None, text);
        }
        if !errors.is_empty() {
            return;
        }
        for (key, value) in table.get_ref() {
            let name = key.get_ref().as_ref();
            match setting(name) {
                Ok(row) => self.set(row, value.span(), value.get_ref()),
                Err(text) => self.fault(Some(key.span()), Some(name), text),
            }
        }
    }

    fn fault(&mut self, at: Option<Range<usize>>, key: Option<&str>, text: String) {
        let before = at.and_then(|span| self.text.get(..span.start));
        let line = before.map_or(0, |before| before.matches('\n').count() + 1);
        self.faults.push(Fault {
            file: self.file.to_owned(),
            line,
            key: key.map(str::to_owned),
            text,
        });
    }

    fn set(&mut self, row: &'static OptionSpec<ServerArgs>, at: Range<usize>, value: &DeValue<'_>) {
        let flag = row.action.argument() == Argument::Nothing;
        let repeats = row.long == "allow" || row.long == "deny";
        if flag {
            let DeValue::Boolean(on) = value else {
                return self.fault(Some(at), Some(row.long), "is true or false".to_owned());
            };
            if *on {
                self.apply(row, at, None);
            }
            return;
        }
        if let (true, DeValue::Array(values)) = (repeats, value) {
            if row.long == "allow" && values.is_empty() {
                let text = "an empty list would admit every client: omit it, or use deny = \
                     \"0.0.0.0/0,::/0\"";
                return self.fault(Some(at), Some(row.long), text.to_owned());
            }
            for each in values {
                self.single(row, each.span(), each.get_ref());
            }
            return;
        }
        self.single(row, at, value);
    }

    fn single(
        &mut self,
        row: &'static OptionSpec<ServerArgs>,
        at: Range<usize>,
        value: &DeValue<'_>,
    ) {
        let word = match value {
            DeValue::String(text) => text.as_ref(),
            DeValue::Integer(number) if number.radix() == 10 => number.as_str(),
            DeValue::Float(number) => number.as_str(),
            DeValue::Integer(_)
            | DeValue::Boolean(_)
            | DeValue::Datetime(_)
            | DeValue::Array(_)
            | DeValue::Table(_) => {
                let text = format!("needs a text in quotes: {}", row.kind.expected());
                return self.fault(Some(at), Some(row.long), text);
            }
        };
        self.apply(row, at, Some(word));
    }

    fn apply(
        &mut self,
        row: &'static OptionSpec<ServerArgs>,
        at: Range<usize>,
        word: Option<&str>,
    ) {
        let mut notices: Vec<Notice> = Vec::new();
        if let Err(error) = row.apply_long("", self.args, word, &mut notices) {
            let text = if let CliError::LongOption(misuse) = &error {
                misuse.problem.to_string()
            } else {
                error.to_string()
            };
            let text = text.trim_start_matches([':', ' ']).to_owned();
            self.fault(Some(at), Some(row.long), text);
        }
    }
}

/// The option of this name, if it may stand in a file.
fn setting(name: &str) -> Result<&'static OptionSpec<ServerArgs>, String> {
    if NOT_IN_A_FILE.contains(&name) {
        return Err("is an option of the command line alone".to_owned());
    }
    by_name(TABLE, name).ok_or_else(|| {
        let names = TABLE.iter().map(|row| row.long);
        match long::nearest(name, names.filter(|name| !NOT_IN_A_FILE.contains(name))) {
            Some(near) => format!("there is no such setting; did you mean {near}?"),
            None => "there is no such setting; netserver --help lists them".to_owned(),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> (ServerArgs, Vec<String>) {
        let mut args = ServerArgs::default();
        let faults = apply("f.toml", text, &mut args);
        (args, faults.iter().map(Fault::to_string).collect())
    }

    #[test]
    fn a_setting_means_what_the_option_of_its_name_means() {
        let (args, faults) = read(
            "# a netserver for two networks\n\
             port = 5555\n\
             foreground = true\n\
             no-fork = false\n\
             allow = [\"10.0.0.0/8\", \"2001:db8::/32\"]\n\
             deny = \"10.1.0.0/16\"\n\
             max-test-time = \"1m\"\n\
             max-send-rate = \"2.5G\"\n\
             idle-time = 30\n\
             data-peers = \"any\"\n",
        );
        assert_eq!(faults, Vec::<String>::new());
        let words = [
            "netserver --port 5555 --foreground --allow 10.0.0.0/8 --allow 2001:db8::/32",
            "--deny 10.1.0.0/16 --max-test-time 60 --max-send-rate 2500M --idle-time 30s",
            "--data-peers any",
        ]
        .join(" ");
        let argv: Vec<_> = words.split(' ').map(Into::into).collect();
        let typed = crate::netserver(&argv, &|_| Ok(String::new())).command;
        assert_eq!(typed, Ok(crate::ServerCommand::Serve(Box::new(args))));
    }

    #[test]
    fn every_error_is_a_line_with_file_line_setting_and_the_way_out() {
        let (_, faults) = read(
            "alow = \"10.0.0.0/8\"\n\
             allow = [\"10.0.0.1/8\", \"10.0.0.0/99\"]\n\
             foreground = \"yes\"\n\
             max-sessions = \"many\"\n\
             max-send-rate = true\n\
             config = \"other.toml\"\n\
             [limits]\n",
        );
        assert_eq!(
            faults,
            [
                "f.toml:1: alow: there is no such setting; did you mean allow?",
                "f.toml:2: allow: '10.0.0.1/8' is not a list of networks such as 10.0.0.0/8,2001:db8::/32; \
                 did you mean 10.0.0.0/8?",
                "f.toml:2: allow: '10.0.0.0/99' is not a list of networks such as \
                 10.0.0.0/8,2001:db8::/32",
                "f.toml:3: foreground: is true or false",
                "f.toml:4: max-sessions: 'many' is not a whole number from 1 to 4294967295",
                "f.toml:5: max-send-rate: needs a text in quotes: a rate in bits per second such \
                 as 100M or 2.5G",
                "f.toml:6: config: is an option of the command line alone",
                "f.toml:7: limits: there is no such setting; netserver --help lists them",
            ]
        );
    }

    #[test]
    fn limits_that_admit_no_client_are_refused() {
        for (name, expected) in [
            ("max-sessions", "a whole number from 1 to 4294967295"),
            ("max-peer-sessions", "a whole number from 1 to 4294967295"),
            ("max-flows", "a whole number from 1 to 4294967295"),
            ("max-threads", "a whole number from 1 to 4294967295"),
            ("max-memory", "a number above 0 such as 128M"),
            ("max-ports", "a number above 0 such as 128M"),
            ("max-session-rate", "a number above 0 such as 128M"),
            ("max-test-time", "a time above 0 such as 1, 0.5 or 200ms"),
            ("max-send-rate", "a rate in bits per second"),
            ("idle-time", "a time above 0 such as 1, 0.5 or 200ms"),
        ] {
            let (_, faults) = read(&format!("{name} = 0\n"));
            let begin = format!("f.toml:1: {name}: '0' is not {expected}");
            assert!(faults[0].starts_with(&begin), "{faults:?}");
            let argv = ["netserver".into(), format!("--{name}").into(), "0".into()];
            let typed = crate::netserver(&argv, &|_| Ok(String::new())).command;
            let error = typed.expect_err("a limit of 0");
            let begin = format!("netserver: option --{name}: '0' is not {expected}");
            assert!(error.to_string().starts_with(&begin), "{error}");
            assert_eq!(error.exit(), 2);
        }
        // Settings for which 0 is valid.
        let (_, faults) = read("drain = 0\ncontrol-keepalive = 0\n");
        assert_eq!(faults, Vec::<String>::new());
    }

    #[test]
    fn invalid_toml_is_named_with_its_line() {
        let (args, faults) = read("port = 5555\nallow = [\n");
        assert_eq!(faults.len(), 1, "{faults:?}");
        assert!(faults[0].starts_with("f.toml:"), "{faults:?}");
        assert!(faults[0].contains("this is not TOML"), "{faults:?}");
        assert_eq!(args, ServerArgs::default(), "nothing of it is used");
        let (_, faults) = read("{\n  \"a\": [1, 2],\n  \"b\": \"c\"\n}\n");
        assert_eq!(faults.len(), 1, "{faults:?}");
        assert!(
            faults[0].starts_with("f.toml:1: this is not TOML"),
            "{faults:?}"
        );
    }

    #[test]
    fn every_setting_that_a_file_may_have_is_an_option_and_the_other_way_round() {
        for row in TABLE {
            assert_eq!(
                setting(row.long).is_ok(),
                !NOT_IN_A_FILE.contains(&row.long)
            );
        }
        for name in NOT_IN_A_FILE {
            assert!(by_name(TABLE, name).is_some(), "{name}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_panic_and_faults_are_lines(text in "(?s).{0,80}") {
            for fault in read(&text).1 {
                prop_assert!(!fault.contains(char::is_control), "{fault:?}");
            }
        }

        #[test]
        fn any_value_of_any_setting_is_taken_or_refused_in_a_line(
            row in 0..TABLE.len(),
            value in "[ -~]{0,20}",
        ) {
            let text = format!("{} = '{}'\n", TABLE[row].long, value.replace('\'', ""));
            for fault in read(&text).1 {
                prop_assert!(fault.starts_with("f.toml:1: "), "{fault}");
            }
        }
    }
}
