// Package exchange is the form of all requests to the operator side and of their answers: how a request is read, strictly; who
// makes it; how a list is cut into pages; which routes every kind of operation has; which errors there are, and what they say.
//
// It must never know what is asked for, nor decide who may ask: the rooms of the API and of the console know the one, and
// package operator the other.
package exchange
