//! Whole programs in virtual time, under Shadow (`lab/shadow`). Their own program: simulations
//! use the processors for as long as they last, beside no test that is about time.

mod ends;
mod interop;
mod joining;
mod late;
mod links;
mod overtime;
mod random;
mod rows;
mod scale;
mod until;
