package postgres_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/persistence/postgres"
)

// A value that can't be encoded is an error, not an empty list that can't be read as an object later.
func TestInvalidJSONFailsItsStatement(t *testing.T) {
	t.Parallel()
	text, err := postgres.JSON{Of: map[string]int{"n": 1}}.Value()
	require.NoError(t, err)
	require.Equal(t, `{"n":1}`, text)
	_, err = postgres.JSON{Of: map[string]float64{"n": math.Inf(1)}}.Value()
	require.Error(t, err)
}
