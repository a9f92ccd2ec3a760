//! Text for people: each rule of formatting once, for terminals, pages and files.

pub mod bars;
pub mod columns;
pub mod csv;
pub mod date;
pub mod duration;
pub mod escape;
pub mod look;
pub mod unit;
