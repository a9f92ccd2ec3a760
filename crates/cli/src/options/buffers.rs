//! Options about the buffers that are sent from and received into.

use super::{SIZES, set_ends, set_pair, set_ways};
use crate::args::GlobalArgs;
use crate::command::CliError;
use crate::grammar::size;
use crate::group::Group;
use crate::kind::ValueKind;
use crate::table::{Action, OptionSpec};

type Opt = OptionSpec<GlobalArgs>;

/// Longest name of a remote fill file that fits into the request, bytes.
const REMOTE_FILL: usize = 31;

pub(super) const ALIGN: Opt = Opt::ready(
    'a',
    "send,recv",
    "alignment of local buffers",
    Action::Value(|a, text| set_ways(&mut a.align, text)),
)
.long("align", Group::Buffers, SIZES)
.more("A power of two (default 8).");

pub(super) const REMOTE_ALIGN: Opt = Opt::ready(
    'A',
    "send,recv",
    "alignment of remote buffers",
    Action::Value(|a, text| set_ways(&mut a.remote_align, text)),
)
.long("remote-align", Group::Buffers, SIZES);

pub(super) const OFFSET: Opt = Opt::ready(
    'o',
    "send,recv",
    "offset of local buffers from their alignment",
    Action::Value(|a, text| set_ways(&mut a.offset, text)),
)
.long("offset", Group::Buffers, SIZES);

pub(super) const REMOTE_OFFSET: Opt = Opt::ready(
    'O',
    "send,recv",
    "offset of remote buffers from their alignment",
    Action::Value(|a, text| set_ways(&mut a.remote_offset, text)),
)
.long("remote-offset", Group::Buffers, SIZES);

pub(super) const RING: Opt = Opt::ready(
    'W',
    "send,recv",
    "number of buffers to cycle through",
    Action::Value(|a, text| set_ways(&mut a.width, text)),
)
.long("ring", Group::Buffers, SIZES)
.more("The default is one more than fit into the socket buffer.");

pub(super) const FILL: Opt = Opt::ready(
    'F',
    "local,remote",
    "fill buffers from these files",
    Action::Checked(|a, text, _| fill(a, text)),
)
.long(
    "fill-file",
    Group::Buffers,
    ValueKind::twice(&ValueKind::File),
)
.more("The second is a file on netserver's host; its name has at most 31 characters.");

pub(super) const DIRTY: Opt = Opt::ready(
    'k',
    "dirty,clean",
    "bytes of local buffers to write and to read around calls",
    Action::Value(|a, text| set_pair(&mut a.touch, text, size)),
)
.long("dirty", Group::Buffers, SIZES)
.more("Around each send and receive, to have the data in the cache or out of it.");

pub(super) const REMOTE_DIRTY: Opt = Opt::ready(
    'K',
    "dirty,clean",
    "bytes of remote buffers to write and to read around calls",
    Action::Value(|a, text| set_pair(&mut a.remote_touch, text, size)),
)
.long("remote-dirty", Group::Buffers, SIZES)
.more("Around each send and receive, to have the data in the cache or out of it.");

fn fill(args: &mut GlobalArgs, text: &str) -> Result<(), CliError> {
    set_ends(&mut args.fill, text, str::to_owned);
    match &args.fill.remote {
        Some(name) if name.len() > REMOTE_FILL => Err(CliError::RemoteFillName),
        Some(_) | None => Ok(()),
    }
}
