package postgres

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgtype"
	"github.com/stretchr/testify/require"
)

// A connection reads times in UTC, whatever the zone of the process, and NULL as the zero time where a column may be NULL.
func TestTimesAreReadInUTC(t *testing.T) {
	t.Parallel()
	m := pgtype.NewMap()
	registerTypes(m)
	at := time.Date(2026, 11, 28, 12, 0, 0, 123456000, time.FixedZone("", 5*3600))
	for _, format := range []int16{pgtype.TextFormatCode, pgtype.BinaryFormatCode} {
		encoded, err := m.Encode(pgtype.TimestamptzOID, format, at, nil)
		require.NoError(t, err)
		var read, zero time.Time
		for _, into := range []any{&read, TimeOrZero(&zero)} {
			require.NoError(t, m.Scan(pgtype.TimestamptzOID, format, encoded, into))
		}
		require.Equal(t, []time.Time{at.UTC(), at.UTC()}, []time.Time{read, zero})
		require.NoError(t, m.Scan(pgtype.TimestamptzOID, format, nil, TimeOrZero(&zero)))
		require.Zero(t, zero)
	}
}
