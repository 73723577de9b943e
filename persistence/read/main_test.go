package read_test

import (
	"os"
	"testing"

	"holdfast/persistence/persistencetest"
)

var (
	body, noon, receipt    = persistencetest.Body, persistencetest.Noon, persistencetest.Receipt
	sameKey, runOf, parsed = persistencetest.SameKey, persistencetest.RunOf, persistencetest.Parsed
	thing, snapshot, patch = persistencetest.Thing, persistencetest.Snapshot, persistencetest.Patch
	deadLetter             = persistencetest.DeadLetter
)

func TestMain(m *testing.M) { os.Exit(persistencetest.Main(m)) }
