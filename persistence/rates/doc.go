// Package rates counts requests against rate limits that all processes of an installation share. One statement takes from many
// buckets, and grants each claim as much as its bucket has.
//
// It must not depend on what a request is, nor on what happens to a refused one.
package rates
