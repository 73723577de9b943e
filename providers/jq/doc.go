// Package jq evaluates the expressions of definitions: without access to anything but their input, and within a budget of steps
// and bytes that one input always exhausts at the same point.
//
// The package also determines, by static analysis, what an expression reads of its input. A key must not depend on what no
// signature covers, nor on what no receipt keeps: the parse step would compute a different key than the ingress.
//
// The package must not depend on the definition of an expression, except for the name of its field, which its errors contain.
// The text of jq's own errors repeats values of the payload: errors of this package have the types of the values instead.
package jq
