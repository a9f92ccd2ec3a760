//! Options about the buffers that are sent from and received into.

use netperf_arguments::args::GlobalArgs;
use netperf_arguments::command::CliError;
use netperf_arguments::grammar::size;
use netperf_arguments::group::Group;
use netperf_arguments::kind::ValueKind;
use netperf_arguments::table::OptionSpec;

use super::{SIZES, set_ends, set_pair, set_ways};

type Opt = OptionSpec<GlobalArgs>;

/// Longest name of a remote fill file that fits into the request, bytes.
const REMOTE_FILL: usize = 31;

pub(super) const ALIGN: Opt = Opt::lettered('a', "align", Group::Buffers)
    .takes("send,recv", SIZES)
    .set(|a, text| set_ways(&mut a.align, text))
    .help("alignment of local buffers")
    .more("A power of two (default 8).");

pub(super) const REMOTE_ALIGN: Opt = Opt::lettered('A', "remote-align", Group::Buffers)
    .takes("send,recv", SIZES)
    .set(|a, text| set_ways(&mut a.remote_align, text))
    .help("alignment of remote buffers");

pub(super) const OFFSET: Opt = Opt::lettered('o', "offset", Group::Buffers)
    .takes("send,recv", SIZES)
    .set(|a, text| set_ways(&mut a.offset, text))
    .help("offset of local buffers from their alignment");

pub(super) const REMOTE_OFFSET: Opt = Opt::lettered('O', "remote-offset", Group::Buffers)
    .takes("send,recv", SIZES)
    .set(|a, text| set_ways(&mut a.remote_offset, text))
    .help("offset of remote buffers from their alignment");

pub(super) const RING: Opt = Opt::lettered('W', "ring", Group::Buffers)
    .takes("send,recv", SIZES)
    .set(|a, text| set_ways(&mut a.width, text))
    .help("number of buffers to cycle through")
    .more("The default is one more than fit into the socket buffer.");

pub(super) const FILL: Opt = Opt::lettered('F', "fill-file", Group::Buffers)
    .takes("local,remote", ValueKind::twice(&ValueKind::File))
    .checked(fill)
    .help("fill buffers from these files")
    .more("The second is a file on netserver's host; its name has at most 31 characters.");

pub(super) const DIRTY: Opt = Opt::lettered('k', "dirty", Group::Buffers)
    .takes("dirty,clean", SIZES)
    .set(|a, text| set_pair(&mut a.touch, text, size))
    .help("bytes of local buffers to write and to read around calls")
    .more("Around each send and receive, to have the data in the cache or out of it.");

pub(super) const REMOTE_DIRTY: Opt = Opt::lettered('K', "remote-dirty", Group::Buffers)
    .takes("dirty,clean", SIZES)
    .set(|a, text| set_pair(&mut a.remote_touch, text, size))
    .help("bytes of remote buffers to write and to read around calls")
    .more("Around each send and receive, to have the data in the cache or out of it.");

fn fill(args: &mut GlobalArgs, text: &str) -> Result<(), CliError> {
    set_ends(&mut args.fill, text, str::to_owned);
    match &args.fill.remote {
        Some(name) if name.len() > REMOTE_FILL => Err(CliError::RemoteFillName),
        Some(_) | None => Ok(()),
    }
}
