// Package outgoing is what the API says and changes of what goes out: destinations, subscriptions, deliveries and resends. What
// somebody may see of them, and how it is written, is decided here; never with a secret that was shown once.
//
// It must never know how an attempt is made, nor where deliveries are stored: it is given stores and a desk as interfaces of its
// own. It never knows what came in. Its routes are tested through the door, in package operator.
package outgoing
