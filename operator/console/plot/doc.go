// Package plot is what the console draws of the metrics of the last hours: which of them it shows, what they add up to, and where
// the points of their lines are.
//
// It must never know where metrics are kept: it is given them by a function. Nor does it know the page that shows it.
package plot
