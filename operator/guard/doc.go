// Package guard admits requests to the operator side: by token or session, from pages of our own origin, and up to a size. It
// also registers the pages of a site, which log in and out here.
package guard
