package access

import (
	"encoding/hex"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestASessionIsGoodForItsTimeAndToken(t *testing.T) {
	t.Parallel()
	_, ada, err := NewToken("ada", RoleOperator)
	require.NoError(t, err)
	_, bob, err := NewToken("bob", RoleViewer)
	require.NoError(t, err)
	tokens, now := Tokens{ada, bob}, time.Now()
	secret, s, ok := tokens.Open("ada", now.Add(time.Hour))
	require.True(t, ok)
	id, ok := SessionID(secret)
	require.True(t, ok)
	require.Equal(t, id, s.ID)
	require.NotContains(t, secret, hex.EncodeToString(ada.Hash[:]))
	require.NotEqual(t, ada.Hash[:], s.Fingerprint)

	who, ok := Tokens{bob, ada}.Holder(s, now)
	require.True(t, ok, "another process with the same tokens")
	require.Equal(t, Caller{Name: "ada", Role: RoleOperator}, who)
	ada.Role = RoleViewer
	who, ok = Tokens{ada}.Holder(s, now)
	require.True(t, ok)
	require.Equal(t, RoleViewer, who.Role, "the role is that of now")

	_, another, err := NewToken("ada", RoleOperator)
	require.NoError(t, err)
	for name, void := range map[string]struct {
		tokens Tokens
		at     time.Time
	}{
		"expired": {tokens, now.Add(time.Hour)}, "the token is gone": {Tokens{bob}, now}, "it is another one": {Tokens{another}, now},
		"none": {nil, now},
	} {
		_, ok := void.tokens.Holder(s, void.at)
		require.False(t, ok, name)
	}
	_, _, ok = tokens.Open("eve", now)
	require.False(t, ok)
}

func TestTwoSessionsOfATokenHaveNothingInCommon(t *testing.T) {
	t.Parallel()
	_, ada, err := NewToken("ada", RoleOperator)
	require.NoError(t, err)
	first, s1, _ := Tokens{ada}.Open("ada", time.Now())
	second, s2, _ := Tokens{ada}.Open("ada", time.Now())
	require.NotEqual(t, first, second)
	require.NotEqual(t, s1.ID, s2.ID)
	require.NotEqual(t, CSRFToken(first), CSRFToken(second))
	again := CSRFToken(first)
	require.Equal(t, again, CSRFToken(first))
	for _, none := range []string{"", "x", first + "x"} {
		require.Empty(t, CSRFToken(none))
		_, ok := SessionID(none)
		require.False(t, ok)
	}
}

func TestATicketIsGoodOnceAndNotForLong(t *testing.T) {
	t.Parallel()
	tickets, now := &LoginLinks{}, time.Now()
	text := tickets.Make("ada")
	holder, ok := tickets.Take(text, now)
	require.True(t, ok)
	require.Equal(t, "ada", holder)
	for name, at := range map[string]time.Time{"taken": now, "never made": now} {
		_, ok = tickets.Take(text, at)
		require.False(t, ok, name)
	}
	_, ok = tickets.Take(tickets.Make("ada"), now.Add(2*LoginLinkTime))
	require.False(t, ok, "too old")
	_, ok = (&LoginLinks{}).Take("", now)
	require.False(t, ok)
}
