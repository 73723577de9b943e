// Package reading reads events by a definition: how a request is split into them, which key, type, time and source each
// one has, what it changes, and what viewers see of it. It works on bytes and values only.
//
// It must not depend on how a request was received: that is package receiving.
package reading
