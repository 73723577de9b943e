// Package listen is `holdfast listen`: real events on a developer's own machine. It follows the change feed of a running Holdfast
// over HTTP, fetches each event that was processed, and forwards it as it came.
//
//	GET /changes (a stream, from a cursor) ──▶ GET /events/ID ──▶ sign anew, if wanted ──▶ POST to the developer
//
// It needs a token and no database, and must never change anything at the Holdfast that it follows.
package listen
