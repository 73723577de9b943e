// Package httpapi has the common parts of the operator side's requests and responses: strict parsing, the caller, pagination,
// the routes of every kind of operation, and errors with their messages.
//
// It must not depend on what a request is about, which the packages of the API and the console define, nor decide who may make
// it, which package operator does.
package httpapi
