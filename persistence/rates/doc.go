// Package rates counts requests against the rates that all processes of an installation share. A statement takes from many rates
// at once, and gives each as much as its bucket has.
//
// It must never know what a request is, nor what happens to one that is refused.
package rates
