// Package lint tries definitions out before anything arrives: it finds what a valid definition says and cannot mean, runs its
// samples, refuses a reload after which more of them fail, and explains what would become of one request.
//
// It reads the definition as it is written and asks a Provider what anybody may ask. It must never reach into how that is
// compiled, and it changes nothing.
package lint
