// Package receiving is what a definition says about requests, before an event is read from one: the paths that they arrive at,
// who may send them and how often, how large they may be, the handshakes that aren't events, and how senders are answered.
//
// It must not depend on how events are read: that is package reading.
package receiving
