// Package decode decodes bodies into values: exact JSON, forms, and Ruby's Hash#inspect. It also splits a batch into its items
// and leaves values out of a body, both on the bytes that were sent.
//
// Decoding a body costs a small multiple of its size, since much of this runs before authentication. The package must not
// depend on what a value means: it gets only paths. No error repeats what was sent.
package decode
