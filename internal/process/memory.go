package process

import (
	"os"
	"runtime/debug"
)

// gcPercent lets the heap grow to three times its live size before garbage is collected, instead of Go's default of twice. It
// takes some 25 MiB more and halves the collector's time, which was a sixth of an ACK's.
const gcPercent = 200

// collectLess sets gcPercent, unless the environment sets GOGC.
func collectLess() {
	if _, set := os.LookupEnv("GOGC"); !set {
		debug.SetGCPercent(gcPercent)
	}
}
