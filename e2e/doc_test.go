// Package e2e tests Holdfast from the outside: the real binary in real processes, a real PostgreSQL and a real Temporal,
// requests over real sockets. What a test asserts is what an operator or a sender could see.
package e2e
