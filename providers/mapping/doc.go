// Package mapping maps an event of a type according to a definition: its key and fingerprint, its time, the changes of its
// entities, its policy, priority and lane, and what a receipt keeps of its request. The rules are the definition's own, or
// those of the first override that matches the type.
//
// It is a function of the receipt, the body and the definition: a retry, a reset and a replay have the same result. It must not
// depend on how a request was signed (it gets what is proven of it), nor on a clock, a store or a secret.
package mapping
