// Package access says who somebody is by a bearer token, and what one of a role may do; and it locks out whoever guesses.
//
// It must never know a route, nor how a request is answered: that stands in package operator.
package access
