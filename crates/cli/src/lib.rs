//! Option tables and grammar: argv to plan.
