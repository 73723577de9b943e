package soak

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"holdfast/internal/devstack/stacktest"
)

var (
	hours  = flag.Float64("hours", 0, "play rounds for this long; 0: one short round")
	seed   = flag.Uint64("seed", 0, "repeat the choices of an earlier run; 0: new ones")
	report = flag.String("report", "", "write the table of rounds to this file, as Markdown")
	bugs   = flag.Bool("bugs", false, "play rounds with each planted bug until it is found")
)

func TestMain(m *testing.M) {
	code := stacktest.Main(m, func() error {
		if *seed == 0 {
			*seed = rand.Uint64N(1 << 32)
		}
		fmt.Fprintf(os.Stderr, "seed %d\n", *seed)
		return nil
	})
	os.Exit(code)
}
