package inbox_test

import (
	"os"
	"testing"

	"holdfast/persistence/persistencetest"
)

var (
	body, noon                   = persistencetest.Body, persistencetest.Noon
	receipt, sameKey, runOf      = persistencetest.Receipt, persistencetest.SameKey, persistencetest.RunOf
	anotherRun, parsed, snapshot = persistencetest.AnotherRun, persistencetest.Parsed, persistencetest.Snapshot
	deadLetter, died             = persistencetest.DeadLetter, persistencetest.Died
)

func TestMain(m *testing.M) { os.Exit(persistencetest.Main(m)) }
