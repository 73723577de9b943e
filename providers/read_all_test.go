package providers

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// The built-in definitions are parsed once. Neither a folder that extends them nor compilation changes them.
func TestBuiltInDefinitionsDoNotChange(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"stripe.yaml": "extends: stripe\nsecrets: OTHER_SECRET\n",
		"shop.yaml":   "name: shop\nextends: standard-webhooks\nsecrets: SHOP_SECRET\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	over, err := ReadAll(dir)
	require.NoError(t, err)
	require.Equal(t, "OTHER_SECRET", over["stripe"].Tree["secrets"])
	for _, name := range over.Names() {
		_, err := Compile(over, over[name])
		require.NoError(t, err)
	}
	parsed, err := readBuiltIn()
	require.NoError(t, err)
	again, err := ReadAll("")
	require.NoError(t, err)
	require.Equal(t, parsed, again)
}
