// Package eventtypeapi serves the API's declared event types. It checks a declaration before it is stored.
//
// It must not depend on how types are stored, or on what a published event is checked for. Package operator tests its routes
// through the HTTP server.
package eventtypeapi
