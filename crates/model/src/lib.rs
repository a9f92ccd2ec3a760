//! Plan, results and catalogues of a network test, as plain data.
//!
//! A [`TestPlan`] says what will be done, [`Agreed`] what each end really got
//! after negotiation, and an [`Outcome`] what was measured. The catalogues list
//! every transport and every test name. [`figures`] derives rates and service
//! demand from the counts. Nothing here touches a socket, a clock or a file.

pub mod address;
pub mod agreed;
pub mod arrivals;
pub mod catalog;
pub mod cpu;
pub mod datagrams;
pub mod dscp;
pub mod end_job;
pub mod escape;
pub mod event;
pub mod fields;
pub mod figures;
pub mod getopt;
pub mod host;
pub mod in_force;
pub mod intervals;
pub mod io;
pub mod iperf2;
mod keys;
pub mod latency;
pub mod many;
pub mod one_way;
pub mod outcome;
pub mod peer;
pub mod plan;
pub mod policy;
pub mod quality;
pub mod rate;
pub mod refusal;
pub mod secret;
pub mod series;
pub mod sizes;
mod system;
mod tally;
pub mod token;
pub mod unanswered;
pub mod units;
pub mod until;
mod words;

pub use address::{Address, BadAddress};
pub use agreed::{Agreed, EndSetup, Host, Hosts};
pub use arrivals::{ArrivalSample, Arrivals, ArrivedAmount, MonotonicOffset};
pub use catalog::settings::{
    InterfaceName, SETTINGS, Setting, SettingEnds, SettingHeading, SettingLayer, SettingRow,
    SettingType, SettingValue, Settings,
};
pub use catalog::tests::{Suite, TestId, TestRow};
pub use catalog::transports::{Domain, Meeting, SocketKind, TransportId, TransportRow};
pub use cpu::{CpuMethod, CpuShares, CpuUsage};
pub use datagrams::{ArrivalOrder, Jitter};
pub use end_job::{Abilities, EndFlows, EndJob, EndRole, Ending};
pub use event::{Interim, RunPart};
pub use host::{
    FactsWanted, HostFacts, InterfaceFacts, PciIds, SecurityFacts, SecurityKind, SecurityMode,
};
pub use io::{Feature, IoCounts, IoMethod, IoPlan};
pub use keys::{BadKeyFile, KeyRing, KeyRole, NamedKey};
pub use latency::{Decades, Latency, percentile_rank};
pub use many::{
    FlowCarrier, FlowCounts, FlowThere, Flows, Many, Placement, Window, WorkerThreads, Workers,
    share_of, share_of_messages,
};
pub use one_way::{ClockOffset, DeviceStamp, OneWay, Part, Spread, Stamp, Stamper, Stamps};
pub use outcome::{Confidence, EndResult, Iteration, Outcome, Span, Tally, TcpFacts, Warning};
pub use peer::{PeerProgram, ProcessCpu};
pub use plan::{
    ConfidencePlan, ControlPlan, CpuBinding, CpuPlan, DataAddress, Duplex, EndPlan, Family, Flow,
    Format, IperfShape, LOCAL_PORTS, Limit, PacePlan, PlacePlan, ReportPlan, RingPlan, Routing,
    SelectionSource, SocketPlan, TestPlan, TouchPlan,
};
pub use policy::{
    BadBudget, BadFeatures, BadHostSupport, BadNetwork, BadPortRange, BadStartups, BadTransports,
    Budget, BudgetArg, DataPeers, Denied, EndNeeds, GuardedFeature, GuardedFeatures, HostSupport,
    Limits, Network, OnePort, Policy, PortRange, Require, SessionLoad, Sources, Startups,
    TransportGroup, TransportSet,
};
pub use quality::{NUMBER_BYTES, Quality, QualityScope};
pub use rate::{Arrival, Lateness, Paced, RatePlan, RateUnit};
pub use refusal::{Refusal, tells_of_tcp};
pub use secret::{PassphraseText, Secret, WeakSecret};
pub use series::{FlowSeries, Series, SeriesPlan, TcpSample};
pub use system::{system_text, text_of_errno, without_numbers};
pub use token::Token;
pub use units::{ThroughputUnit, UnitKind};
pub use until::{Course, Known, KnownPercentile, Until, UntilEnd, UntilPlan};
