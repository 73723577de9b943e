package payloadcodec_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/internal/payloadcodec"
)

// Sealed data can be opened with the same key, even next to a newer one, and with no other.
func TestSealedValuesNeedTheirKey(t *testing.T) {
	t.Parallel()
	old, newer := newKey(t, "old"), newKey(t, "newer")
	sealed, err := codec(old).Seal([]byte("whsec_CANARY"))
	require.NoError(t, err)
	require.NotContains(t, string(sealed), "CANARY")
	plain, err := codec(newer, old).Open(sealed)
	require.NoError(t, err)
	require.Equal(t, "whsec_CANARY", string(plain))

	var missing *payloadcodec.MissingKeyError
	_, err = codec(newer).Open(sealed)
	require.ErrorAs(t, err, &missing)
	sealed[len(sealed)-1] ^= 1
	_, err = codec(old).Open(sealed)
	require.ErrorIs(t, err, payloadcodec.ErrUnreadable)
	_, err = codec(old).Open([]byte("no payload"))
	require.Error(t, err)
}
