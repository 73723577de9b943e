package access

import (
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestALockoutEndsAndItsMemoryIsBounded(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	l := NewLockout()
	l.now = func() time.Time { return now }
	for range 9 {
		require.False(t, l.Fail(net.ParseIP("10.0.0.1")))
	}
	now = now.Add(6 * time.Minute) // too long ago to count
	for range 9 {
		require.False(t, l.Fail(net.ParseIP("10.0.0.1")))
	}
	require.Zero(t, l.Remaining(net.ParseIP("10.0.0.1")))
	require.True(t, l.Fail(net.ParseIP("10.0.0.1")))
	require.False(t, l.Fail(net.ParseIP("10.0.0.1")), "it is told once")
	require.Equal(t, 5*time.Minute, l.Remaining(net.ParseIP("10.0.0.1")))
	require.Zero(t, l.Remaining(net.ParseIP("10.0.0.2")))
	require.Equal(t, 5*time.Minute, l.Remaining(net.ParseIP("::ffff:10.0.0.1")), "the same address as IPv6 writes it")
	now = now.Add(5 * time.Minute)
	require.Zero(t, l.Remaining(net.ParseIP("10.0.0.1")))
	require.False(t, l.Fail(net.ParseIP("10.0.0.1")), "it counts anew")

	for i := range 10 {
		l.Fail(net.ParseIP(fmt.Sprintf("2001:db8::%x", i)))
	}
	require.Positive(t, l.Remaining(net.ParseIP("2001:db8::ffff")), "of IPv6 a network counts")
	for i := range 10_000 {
		l.Fail(net.ParseIP(fmt.Sprintf("10.1.%d.%d", i/250, i%250)))
	}
	require.LessOrEqual(t, len(l.entries), 4096)
}
