//! Campaigns between many hosts: inventories, manifests, plans, agent and coordinator as state
//! machines, matrices of cells and what changed in them.

pub mod agent;
pub mod campaign_change;
pub mod clock;
pub mod coordinator;
pub mod inventory;
pub mod join_pool;
pub mod manifest;
pub mod matrix;
pub mod outcome;
pub mod outliers;
pub mod pattern;
pub mod plan;
pub mod progress;
pub mod protocol;
pub mod schedule;
pub mod signs;
