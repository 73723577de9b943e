package access

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTokensAreReadAndMisreadWithoutBeingShown(t *testing.T) {
	t.Parallel()
	text, token, err := NewToken("ada", RoleOperator)
	require.NoError(t, err)
	require.Regexp(t, `^holdfast_[A-Za-z0-9_-]{43}$`, text)
	require.NotContains(t, token.String(), text)
	parsed, err := ParseTokens(" " + token.String() + ",\n" + strings.Replace(token.String(), "ada", "bob", 1) + "\n")
	require.NoError(t, err)
	require.Len(t, parsed, 2)
	require.Equal(t, token, parsed[0])
	another, _, err := NewToken("ada", RoleOperator)
	require.NoError(t, err)
	require.NotEqual(t, text, another)

	hash := strings.Repeat("ab", 32)
	for name, wrong := range map[string]string{
		"no parts": "CANARY", "a token instead of a hash": "ada:viewer:holdfast_CANARY", "a short hash": "ada:viewer:ab",
		"no such role": "ada:CANARY:" + hash, "no name": ":viewer:" + hash, "a part too many": "ada:viewer:" + hash + ":CANARY",
		"one name twice": "ada:viewer:" + hash + ",ada:admin:" + hash,
	} {
		_, err := ParseTokens(wrong)
		require.Error(t, err, name)
		require.NotContains(t, err.Error(), "CANARY", name)
	}
	for _, wrong := range [][2]string{{"", "viewer"}, {"a:b", "viewer"}, {"ada", "root"}} {
		_, _, err := NewToken(wrong[0], Role(wrong[1]))
		require.Error(t, err)
	}
}
