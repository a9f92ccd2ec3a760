//! Parts of a command line of netperf or netserver: the arguments that were typed, the shape of an
//! option table and the loop that applies one, forms of values, and the remarks about wrong words.

pub mod args;
pub mod command;
pub mod environment;
pub mod fault;
pub mod foreign;
pub mod garbled;
pub mod getopt;
pub mod grammar;
pub mod group;
pub mod kind;
pub mod long;
pub mod misuse;
pub mod nearest;
pub mod operations;
pub mod places;
pub mod row;
pub mod table;
