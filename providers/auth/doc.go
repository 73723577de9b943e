// Package auth says whether a request is authentic. The schemes of a definition are alternatives, each verified over the bytes
// that were sent. It also says what of a request is proven then, so that keys are made of nothing else, and signs samples.
//
// It fails closed: without a secret that can prove something nobody is authentic. It must never know what an event is, and never
// read the environment: secrets come from the function that the caller gives. Neither they nor anything of a request stand in an
// error.
package auth
