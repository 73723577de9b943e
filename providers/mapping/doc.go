// Package mapping says what an event of a type is to a definition: its key and fingerprint, its time, the changes of its
// entities, its policy, priority and lane, and what a receipt keeps of its request. The rules of the definition hold, or those of
// the first override that fits the type.
//
// It is a function of the receipt, the body and the definition: a retry, a reset and a replay come to the same result. It must
// never know how a request was signed (it is given what is proven of it), nor a clock, a store or a secret.
package mapping
