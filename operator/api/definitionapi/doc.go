// Package definitionapi serves the routes of providers' definitions: what is in use, and what a changed text would make of an
// event. It changes nothing.
package definitionapi
