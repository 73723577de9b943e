package frame

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A sender's text can't end a line of a stream: browsers accept a carriage return as a line end, too.
func TestNothingInARowEndsALineOfAStream(t *testing.T) {
	t.Parallel()
	require.Equal(t, "data: <td>a&#13;&#13;event: gone</td>\ndata: b\n\n", string(message([]byte("<td>a\r\revent: gone</td>\nb"))))
}
