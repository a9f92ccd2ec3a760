//! The command line of `netperf counters`.

use netperf_arguments::group::Group;
use netperf_arguments::kind::ValueKind;
use netperf_arguments::row::plain_help_row;
use netperf_arguments::table::OptionSpec;

use super::spec::SubcommandSpec;
use crate::entry::Operands;

/// The options of `netperf counters`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CountersArgs {
    /// `--before`, or the first of two files: the earlier snapshot.
    pub before: Option<String>,
    /// `--after`, or the second of two files; this host now without one.
    pub after: Option<String>,
    /// `--all`: print counters that did not change, too.
    pub all: bool,
    /// `--json`: print a document.
    pub json: bool,
}

type Opt = OptionSpec<CountersArgs>;

/// Every option.
static TABLE: &[Opt] = &[
    Opt::named("before", Group::Operation)
        .takes("file", ValueKind::File)
        .set(|a, text| a.before = Some(text.to_owned()))
        .help("subtract this snapshot")
        .more("Output of netperf counters, netstat -s or ethtool -S."),
    Opt::named("after", Group::Operation)
        .takes("file", ValueKind::File)
        .set(|a, text| a.after = Some(text.to_owned()))
        .help("subtract from this snapshot, rather than from one taken now")
        .more("It needs --before, and a file of the same kind."),
    Opt::named("all", Group::Output)
        .flag(|a| a.all = true)
        .help("print counters that did not change, too"),
    Opt::named("json", Group::Output)
        .flag(|a| a.json = true)
        .help("print the difference as JSON"),
    plain_help_row(),
];

/// `netperf counters`.
pub(super) static COUNTERS: SubcommandSpec<CountersArgs, CountersArgs> = SubcommandSpec {
    word: "counters",
    about: "subtract counters of this host before and after a test",
    table: TABLE,
    usage: "Usage: netperf counters > BEFORE
       netperf counters --before BEFORE [--after AFTER] [options]
       netperf counters BEFORE AFTER [options]

Without a file, prints the counters of this host: those of its interfaces, and
of IP, TCP and UDP. With one, prints what was counted since then; with two, what
was counted between them. Files are output of this command, of netstat -s or of
ethtool -S.

  netperf counters > before
  netperf -H server -t TCP_STREAM
  netperf counters --before before

  ethtool -S eth0 > after; netperf counters before after

A counter that wrapped at 32 or 64 bits is subtracted with its wrap. One that is
less than before for another reason, or that one file lacks, has no difference.

Exit status: 2 if a file has no counters, or if two do not belong together.
",
    verbs: Vec::new,
    operands: Operands::Files,
    command: counters,
};

fn counters(mut args: CountersArgs, words: Vec<String>) -> Result<CountersArgs, String> {
    match <[String; 2]>::try_from(words) {
        Ok([before, after]) if args.before.is_none() && args.after.is_none() => {
            (args.before, args.after) = (Some(before), Some(after));
        }
        Err(words) if words.is_empty() => {}
        Ok(_) | Err(_) => {
            return Err(
                "netperf counters: two files are needed, or --before with one of them".to_owned(),
            );
        }
    }
    if args.after.is_some() && args.before.is_none() {
        return Err("netperf counters: --after needs --before".to_owned());
    }
    Ok(args)
}

#[cfg(test)]
mod tests {
    use crate::subcommand::Subcommand;
    use crate::subcommand::testing::read;

    fn files(line: &str) -> (Option<String>, Option<String>) {
        let Subcommand::Counters(args) = read(line) else {
            panic!("{line}");
        };
        (args.before, args.after)
    }

    #[test]
    fn counters_take_no_file_one_or_two() {
        let name = |name: &str| Some(name.to_owned());
        assert_eq!(files("netperf counters"), (None, None));
        assert_eq!(files("netperf counters --before a"), (name("a"), None));
        let both = (name("a"), name("b"));
        assert_eq!(files("netperf counters --before a --after b"), both);
        assert_eq!(files("netperf counters a b --all"), both);
        for words in ["a", "a b c", "--after b", "--before a b", "--before a b c"] {
            let line = format!("netperf counters {words}");
            let Subcommand::Usage(usage) = read(&line) else {
                panic!("{line}");
            };
            assert_eq!(usage.exit, 2, "{line}");
        }
    }
}
