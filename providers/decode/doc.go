// Package decode turns the bytes of a body into values: JSON that is read exactly, forms, and Ruby's Hash#inspect. It cuts a
// batch into its items and leaves values out of a body, both in the bytes that were sent.
//
// A body costs a small multiple of its size, since much of this runs before anybody is authentic. The package must never know
// what a value means: it is given paths and no more. No error repeats what was sent.
package decode
