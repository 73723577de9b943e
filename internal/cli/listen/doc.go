// Package listen is `holdfast listen`: real events on a developer's own machine. It follows the change feed of a running
// Holdfast over HTTP, fetches each processed event, and forwards it unchanged.
//
//	GET /changes (a stream, from a cursor) ──▶ GET /events/ID ──▶ sign again, if wanted ──▶ POST to the developer
//
// It needs a token but no database, and must not change anything in the Holdfast that it follows.
package listen
