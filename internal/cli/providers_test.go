package cli

import (
	"bytes"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"holdfast/internal/config"
)

// Any provider name is valid, since received events outlive their definition. A name without a definition is noted if nothing
// was found.
func TestAProviderIsDoubted(t *testing.T) {
	t.Parallel()
	for name, doubt := range map[string]string{
		"strpe":  "holdfast: no definition is named \"strpe\"; did you mean stripe?\n",
		"xyzzy":  "holdfast: no definition is named \"xyzzy\"\n",
		"stripe": "", "": "",
	} {
		var said bytes.Buffer
		c := &cobra.Command{}
		c.SetErr(&said)
		WarnUnknownProvider(c, config.Config{}, name, 1)
		require.Empty(t, said.String())
		WarnUnknownProvider(c, config.Config{}, name, 0)
		require.Equal(t, doubt, said.String())
	}
}
