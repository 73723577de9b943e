// Package figures holds the results of a benchmark run and formats them: one table with the ratios first, as text, as Markdown
// and as JSON. It computes only medians, their intervals and whether goals are met.
package figures
