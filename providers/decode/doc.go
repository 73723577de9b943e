// Package decode turns the bytes of a body into values: JSON that is read exactly, forms, and Ruby's Hash#inspect. It cuts a batch
// into its items and leaves values out of a body, both in the bytes that were sent.
//
// What it takes for a body is a small multiple of the body's size, since much of it runs before anybody is authentic. It must never
// know what a value means; all that it is told are paths. No error repeats what was sent.
package decode
