#!/usr/bin/env bash
# rapid's property tests can't run inside a bubble of testing/synctest.
#
# Versions: pgregory.net/rapid 1.3.0, Go 1.26.
# Guess:    a property test of code with timers goes into synctest.Test, where time is virtual: rapid.Check gets the bubble's *testing.T,
#           as every other assertion library does.
# Seen:     rapid.Check asks for the test's deadline, which a bubble forbids: the test panics before its first example. A wrapper of
#           the test that hides Deadline works.
# Hurts:    whoever tests queues, caches or retries, the very code for which both tools exist.
set -euo pipefail
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT; cd "$dir"
cat >go.mod <<'MOD'
module finding
go 1.26
require pgregory.net/rapid v1.3.0
MOD
cat >finding_test.go <<'GO'
package finding

import (
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

func sleeps(t *rapid.T) {
	d := time.Duration(rapid.Int64Range(1, int64(time.Hour)).Draw(t, "d"))
	began := time.Now()
	time.Sleep(d)
	if time.Since(began) != d {
		t.Fatal("time isn't virtual")
	}
}

func TestDirectly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { rapid.Check(t, sleeps) })
}

// hidden has all methods of a test but Deadline.
type hidden struct{ rapid.TB }

func TestHidden(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { rapid.Check(hidden{t}, sleeps) })
}
GO
go mod tidy 2>/dev/null
for test in TestDirectly TestHidden; do
	if go test -count=1 -run "^$test\$" . >log 2>&1; then result=passes; else result="fails: $(grep -oE 'panic: .*' log | head -1 | cut -d'[' -f1 | sed 's/ *$//')"; fi
	echo "$test $result"
done | tee seen
diff - seen <<'SEEN' || { echo "CHANGED: the behavior isn't what was seen"; exit 1; }
TestDirectly fails: panic: testing: t.Deadline called inside synctest bubble
TestHidden passes
SEEN
echo "as seen"
