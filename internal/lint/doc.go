// Package lint checks definitions before any request arrives: it finds rules that a valid definition can't mean, runs its
// samples, refuses a reload after which more of them fail, and explains what would happen to one request.
//
// It reads the definition as written and uses a Provider's public methods. It must not depend on how a definition is compiled,
// and it changes nothing.
package lint
