// Package jq evaluates the expressions of definitions: without access to anything but their input, and within a budget of steps and
// bytes that one input uses up at the same point every time. An expression also says what of its input it depends on, as far as
// that can be seen without running it: a key must not depend on what no signature covers, and on nothing that a receipt does not
// keep, since the parse step would compute another one than the ingress.
//
// It must never know the definition that an expression stands in, except for the name of its field, by which errors call it. The
// text of jq's own errors repeats values of the payload and goes no further than here.
package jq
