// Package movein reads the endpoints and events of other webhook gateways, so that they can be imported: Svix, Convoy, Hookdeck
// and Outpost. It has the facts about their APIs: what they call things, what their signatures cover, and which events are
// undelivered.
//
// It only sends GET requests, and must never store anything, nor repeat a secret or a payload in an error.
package movein
