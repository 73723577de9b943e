// Package e2e tests Holdfast from the outside: the real binary in real processes, a real PostgreSQL and a real Temporal,
// requests over real sockets. Tests assert what an operator or a sender can see.
package e2e
