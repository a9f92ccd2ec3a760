//! The selector table and the output formats.
