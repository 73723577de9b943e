package deadletters_test

import (
	"os"
	"testing"

	"holdfast/persistence/persistencetest"
)

var (
	ada, body, noon         = persistencetest.Ada, persistencetest.Body, persistencetest.Noon
	receipt, sameKey, runOf = persistencetest.Receipt, persistencetest.SameKey, persistencetest.RunOf
	anotherRun, parsed      = persistencetest.AnotherRun, persistencetest.Parsed
	deadLetter, died        = persistencetest.DeadLetter, persistencetest.Died
)

func TestMain(m *testing.M) { os.Exit(persistencetest.Main(m)) }
