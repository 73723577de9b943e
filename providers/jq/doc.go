// Package jq evaluates the expressions of definitions: without access to anything but their input, and within a budget of steps
// and bytes that one input uses up at the same point every time.
//
// An expression says what of its input it depends on, as far as that can be seen without running it. A key must not depend on
// what no signature covers, nor on what no receipt keeps: the parse step would compute another one than the ingress.
//
// The package must never know the definition that an expression stands in, except for the name of its field, which its errors
// name. The text of jq's own errors repeats values of the payload: what leaves here has the types of the values in their place.
package jq
