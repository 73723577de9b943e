package eventtypes_test

import (
	"os"
	"testing"

	"holdfast/persistence/persistencetest"
)

func TestMain(m *testing.M) { os.Exit(persistencetest.Main(m)) }
