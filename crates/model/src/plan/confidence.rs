//! Confidence intervals of a result.

use serde::{Deserialize, Serialize};

use crate::fields::AsPercent;

/// Confidence intervals (global `-i`, `-I`, `-r`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, rename = "confidence_wanted")]
pub struct ConfidencePlan {
    /// The level: 95 or 99 percent.
    #[serde(rename = "level_percent")]
    pub level: u32,
    /// Full width of the interval, of the mean.
    #[serde(rename = "width_percent", with = "AsPercent")]
    pub width: f64,
    /// The least number of iterations.
    pub min_iterations: u32,
    /// The greatest number of iterations.
    pub max_iterations: u32,
    /// True if only the result, and not CPU, must meet the width.
    pub result_only: bool,
}
