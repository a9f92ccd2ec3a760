//! The netperf 2.7 control messages: layouts, encode and decode.
