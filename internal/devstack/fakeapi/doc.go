// Package fakeapi serves lists of events like the APIs of providers. The forms of requests and answers are from the providers'
// documentation and libraries, not from Holdfast's definitions, so that a definition that misreads them fails its tests.
package fakeapi
