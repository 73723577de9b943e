// Package figures is what a run of the benchmarks has found, and how it is shown: one table with the ratios first, as text, as
// Markdown and as JSON. It computes nothing but medians, their intervals and verdicts.
package figures
