package limits

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
)

// chunked is the declared length of a body without one.
const chunked, mib = -1, 1 << 20

func TestTheMemoryOfBodies(t *testing.T) {
	t.Parallel()
	m := NewBodies(16 * mib)
	address := func(n int) netip.Addr { return netip.AddrFrom4([4]byte{10, 0, 0, byte(n)}) }

	one := m.ForClient(address(1), 25*mib)
	require.True(t, one.Reserve(3*mib), "three quarters of a client's quarter")
	require.False(t, one.Reserve(1))
	small := m.ForClient(address(1), 100)
	require.True(t, small.Reserve(smallBody), "the rest of it is for small bodies")
	for range 3 {
		require.True(t, m.ForClient(address(1), chunked).Reserve(smallBody))
	}
	require.False(t, m.ForClient(address(1), 1).Reserve(1), "the client holds a quarter")

	var others []*Share
	for n := 2; n <= 4; n++ {
		others = append(others, m.ForClient(address(n), 25*mib))
		require.True(t, others[n-2].Reserve(3*mib))
	}
	require.False(t, m.ForClient(address(5), 25*mib).Reserve(1), "three quarters are in use by large bodies")
	require.True(t, m.ForClient(address(5), 1).Reserve(1))
	require.Equal(t, 13*mib+1, m.Held())

	one.Release()
	one.Release()
	require.Equal(t, 10*mib+1, m.Held())
	require.False(t, m.ForClient(address(5), 25*mib).Reserve(1), "half of their memory is for bodies that have come further")
	others[0].Release()
	require.True(t, m.ForClient(address(5), 25*mib).Reserve(1) && m.Held() == 7*mib+2)
}

// 500 senders start their bodies again whenever there is no memory. Those that have come far go on, so that some always finish,
// instead of each pushing the others out.
func TestOfManyLargeBodiesSomeFinish(t *testing.T) {
	t.Parallel()
	m := NewBodies(256 * mib)
	shares := make([]*Share, 500)
	finished := 0
	for range 400 {
		for n, share := range shares {
			if share == nil {
				share = m.ForClient(netip.AddrFrom4([4]byte{10, 0, byte(n / 250), byte(n % 250)}), 25*mib)
				shares[n] = share
			}
			switch {
			case !share.Reserve(smallBody):
				share.Release()
				shares[n] = nil
			case share.bytes >= 25*mib:
				finished++
				share.Release()
				shares[n] = nil
			}
			require.LessOrEqual(t, m.Held(), 192*mib)
		}
	}
	require.Greater(t, finished, 10)
}

// A chunked body declares no length: it counts as large, as a whole, once it is.
func TestAChunkedBodyTurnsLarge(t *testing.T) {
	t.Parallel()
	m := NewBodies(16 * mib)
	client := netip.MustParseAddr("2001:db8::1")
	share := m.ForClient(client, chunked)
	require.True(t, share.Reserve(smallBody))
	require.Equal(t, heldBytes{small: smallBody}, m.all)
	require.True(t, share.Reserve(1))
	require.Equal(t, heldBytes{large: smallBody + 1}, m.all)
	other := m.ForClient(netip.MustParseAddr("2001:db8::2"), chunked) // the same network
	require.False(t, other.Reserve(3*mib))
	require.Zero(t, other.bytes)
	share.Release()
	require.Zero(t, m.Held())
	require.Empty(t, m.clients)
}
