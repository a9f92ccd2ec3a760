//! The options of the model's table of socket options, one row each.

use netperf_arguments::args::GlobalArgs;
use netperf_arguments::grammar::{both_halves, size};
use netperf_arguments::group::Group;
use netperf_arguments::kind::ValueKind;
use netperf_arguments::table::{Action, OptionSpec};
use netperf_model::{
    InterfaceName, SETTINGS, Setting, SettingEnds, SettingHeading, SettingRow, SettingType,
    SettingValue,
};

/// A row for each setting.
pub(super) fn rows() -> impl Iterator<Item = OptionSpec<GlobalArgs>> {
    SETTINGS.iter().map(row)
}

fn row(setting: &'static SettingRow) -> OptionSpec<GlobalArgs> {
    let (value, record): (_, fn(&mut GlobalArgs, Setting, &str)) = match setting.ends {
        SettingEnds::Both => ("local,remote", set_both),
        SettingEnds::Remote if setting.heading == SettingHeading::Pacing => ("rate", set_remote),
        SettingEnds::Remote => ("value", set_remote),
    };
    let group = match setting.heading {
        SettingHeading::Sockets => Group::Sockets,
        SettingHeading::Paths => Group::Paths,
        SettingHeading::Pacing => Group::Pacing,
    };
    let name = setting.option.trim_start_matches('-');
    let option = OptionSpec::named(name, group).takes(value, kind(setting));
    let option = if setting.value == SettingType::Switch {
        option.implies("on", "[local,remote]")
    } else {
        option
    };
    option
        .action(Action::Setting(record, setting.id))
        .help(setting.help)
        .more(setting.more)
}

/// Values that an option accepts: one, or one for each end.
fn kind(setting: &SettingRow) -> ValueKind {
    let each = match setting.value {
        SettingType::Switch => ValueKind::Switch,
        SettingType::Count => ValueKind::Count,
        SettingType::Size if setting.heading == SettingHeading::Pacing => ValueKind::PacingRate,
        SettingType::Size => ValueKind::Size,
        SettingType::Within(least, most) => ValueKind::Within(least, most),
        SettingType::Name => ValueKind::Interface,
    };
    match setting.ends {
        // One of each row, for as long as the program runs.
        SettingEnds::Both => ValueKind::twice(Box::leak(Box::new(each))),
        SettingEnds::Remote => each,
    }
}

fn set_both(args: &mut GlobalArgs, setting: Setting, text: &str) {
    let (local, remote) = both_halves(text);
    if let Some(text) = local {
        args.io.settings.set(setting, value(setting, text));
    }
    if let Some(text) = remote {
        args.io.remote_settings.set(setting, value(setting, text));
    }
}

fn set_remote(args: &mut GlobalArgs, setting: Setting, text: &str) {
    args.io.remote_settings.set(setting, value(setting, text));
}

/// The value of a text; `None` for one that leaves the system's choice.
fn value(setting: Setting, text: &str) -> Option<SettingValue> {
    let takes = setting.row().value;
    if takes == SettingType::Name {
        return InterfaceName::new(text).map(SettingValue::Name);
    }
    let number = u32::try_from(size(text)).ok()?;
    let is_set = number > 0 || takes == SettingType::Count;
    is_set.then_some(SettingValue::Number(number))
}
