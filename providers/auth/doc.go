// Package auth authenticates requests. The schemes of a definition are alternatives, each verified over the bytes that were
// sent. It also reports which parts of a request are then proven, so that keys are made of nothing else, and signs samples.
//
// It fails closed: without a secret that proves something, no request is authentic. It must not depend on events, nor read the
// environment: the caller provides the secrets. Errors contain neither secrets nor any part of a request.
package auth
