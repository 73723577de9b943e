// Package denial says why a request is not authentic: the reasons in their rank, what was looked at, what each means to an
// operator, and what to do next.
//
// It must never know a scheme, nor hold anything of a request or a secret: its words are those of definitions, and reach logs.
package denial
