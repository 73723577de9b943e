// Package plot draws metrics of the last hours for the console: it selects the metrics, adds them up and computes the points of
// the lines.
//
// It must not depend on where metrics are stored, which is behind a function, nor on the page that shows the plots.
package plot
