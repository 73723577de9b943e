package mapping

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/providers/auth"
	"holdfast/providers/decode"
	"holdfast/providers/definition"
	"holdfast/providers/jq"
)

// identityOf returns the identity for a body and a delivery ID.
func identityOf(t *testing.T, k definition.Key, body, delivery string) Identity {
	t.Helper()
	c := &Compiler{Coverage: auth.Coverage{All: true}, ReceiptFields: ReceiptFields{headers: []string{"x-delivery"}}}
	set := c.Compile(&definition.Definition{Key: &k})
	decoded, err := decode.JSONExactly([]byte(body))
	require.NoError(t, err)
	in := jq.NewInput(map[string]string{"x-delivery": delivery}, nil, nil, decoded, nil)
	id, err := set.For("").Identify(context.Background(), in, auth.Coverage{All: true}, true, "", []byte(body))
	require.NoError(t, err)
	return id
}

// A guessed key without a delivery ID counts for the retry span and an hour; with one, forever. What varies between deliveries
// isn't part of the hash.
func TestGuessedKeys(t *testing.T) {
	t.Parallel()
	span := definition.Duration(24 * time.Hour)
	k := definition.Key{
		Certainty: "guessed", InDoubt: "accept", RetrySpan: &span, Varies: []string{"attempt"},
		Parts: []definition.Part{{Expr: ".body.id"}}, Delivery: `.headers["x-delivery"] | select(. != "")`,
	}
	first := identityOf(t, k, `{"id":"a","attempt":1}`, "")
	require.Equal(t, first, identityOf(t, k, `{"id":"a","attempt":2}`, ""))
	require.Equal(t, event.Duration(25*time.Hour), first.Window)
	require.True(t, strings.HasPrefix(first.Key, "a:"), first.Key)
	require.NotEqual(t, first.Key, identityOf(t, k, `{"id":"a","other":1}`, "").Key)

	named := identityOf(t, k, `{"id":"a","attempt":1}`, "d1")
	require.Zero(t, named.Window)
	require.Equal(t, first.Content, named.Content)
	require.Equal(t, named.Key, identityOf(t, k, `{"id":"a","attempt":2}`, "d1").Key)
	require.NotEqual(t, named.Key, identityOf(t, k, `{"id":"a","attempt":1}`, "d2").Key)
	require.Nil(t, named.Earlier)
}

// A definition may hash the value of a body instead of its bytes: its spelling then makes no difference.
func TestAGuessedKeyOfTheValue(t *testing.T) {
	t.Parallel()
	k := definition.Key{Certainty: "guessed", InDoubt: "accept", Varies: []string{"sent.at"}}
	one, other := `{"a":1.0,"sent":{"at":1}}`, `{"sent": {"at": 2}, "a": 1}`
	require.NotEqual(t, identityOf(t, k, one, "").Key, identityOf(t, k, other, "").Key)
	require.False(t, identityOf(t, k, one, "").OfValue)
	k.Hash = "json"
	require.Equal(t, identityOf(t, k, one, ""), identityOf(t, k, other, ""))
	require.True(t, identityOf(t, k, one, "").OfValue)
	require.NotEqual(t, identityOf(t, k, one, "").Key, identityOf(t, k, `{"a":2,"sent":{"at":1}}`, "").Key)

	c := &Compiler{Coverage: auth.Coverage{All: true}}
	c.Compile(&definition.Definition{Key: &definition.Key{Parts: []definition.Part{{Expr: ".body.id"}}, Hash: "json"}})
	require.ErrorContains(t, c.Err(), "key.hash: has no effect")
}

// Two bodies that may not be one event have two keys:
//   - an empty object equals a list only for PHP
//   - other readers take the first of repeated fields: the key uses the bytes
//   - an object whose varying fields are all left out isn't an empty one
func TestInDoubtValuesDiffer(t *testing.T) {
	t.Parallel()
	key := func(hash, body string) Identity {
		return identityOf(t, definition.Key{Certainty: "guessed", InDoubt: "accept", Hash: hash, Varies: []string{"sent", "a.at"}}, body, "")
	}
	for _, hash := range []string{"json", "php_json"} {
		for _, two := range [][2]string{
			{`{"a":1,"a":2}`, `{"a":2}`},
			{`{"x":[{"a":1,"a":2}]}`, `{"x":[{"a":2}]}`},
			{`{"a":1,"\u0061":2}`, `{"a":2}`},
			{`{"sent":1}`, `{}`},
			{`{"a":{"at":1}}`, `{"a":{}}`},
			{`{"a":{"at":1}}`, `{}`},
		} {
			require.NotEqual(t, key(hash, two[0]).Key, key(hash, two[1]).Key, "%s: %s", hash, two)
		}
		require.False(t, key(hash, `{"a":1,"a":2}`).OfValue, "it is that of the bytes")
		require.Equal(t, key(hash, `{"b":1,"sent":1}`).Key, key(hash, `{"sent":2,"b":1}`).Key)
	}
	require.NotEqual(t, key("json", `{"a":{}}`).Key, key("json", `{"a":[]}`).Key)
	require.Equal(t, key("php_json", `{"a":{}}`).Key, key("php_json", `{"a":[]}`).Key)
}

// The key of the previous release identifies the event only with what that release compared.
func TestBeforeGivesTheEarlierKey(t *testing.T) {
	t.Parallel()
	delivery := definition.JQ(`.headers["x-delivery"] | select(. != "")`)
	k := definition.Key{Certainty: "guessed", InDoubt: "accept", Delivery: delivery, Before: &definition.Key{
		Parts: []definition.Part{{Expr: "body_sha256"}}, Delivery: delivery,
	}}
	one := identityOf(t, k, `{"id":"a"}`, "d1")
	require.Equal(t, &event.EarlierKey{Key: "sha256:" + one.Content, Fingerprint: "d1"}, one.Earlier)
	require.Nil(t, identityOf(t, k, `{"id":"a"}`, "").Earlier, "nothing was compared")
}

// A shorter window is for events that are accepted, and it ends.
func TestAGuessedWindowMayBeShort(t *testing.T) {
	t.Parallel()
	short := definition.Duration(time.Second)
	k := definition.Key{Certainty: "guessed", InDoubt: "accept", FallbackWindow: &short}
	require.Equal(t, event.Duration(time.Second), identityOf(t, k, `{}`, "").Window)
	for name, change := range map[string]func(*definition.Key){
		"hold":       func(k *definition.Key) { k.InDoubt = "hold" },
		"retry span": func(k *definition.Key) { k.RetrySpan = &short },
		"for ever":   func(k *definition.Key) { k.FallbackWindow = new(definition.Duration) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			other := k
			change(&other)
			c := &Compiler{Coverage: auth.Coverage{All: true}}
			c.Compile(&definition.Definition{Key: &other})
			require.Contains(t, c.Err().Error(), "fallback_window")
		})
	}
}
