package main

import (
	"os"
	"runtime/debug"
)

// gcPercent lets the heap grow to three times what lives in it before garbage is collected, where Go's own setting is twice. That
// is some twenty MiB for half of the collector's time, which is a sixth of an ACK's.
const gcPercent = 200

// collectLess sets it, unless the environment says otherwise in Go's own way (GOGC).
func collectLess() {
	if _, set := os.LookupEnv("GOGC"); !set {
		debug.SetGCPercent(gcPercent)
	}
}
