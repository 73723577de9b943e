// Package figures is what a run of the benchmarks has found, and how it is shown: one table with the ratios first, JSON,
// Markdown, and a page with plots that needs nothing from anywhere. It computes nothing but medians and verdicts.
package figures
