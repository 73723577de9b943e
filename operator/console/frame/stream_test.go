package frame

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// What a sender writes cannot end a line of a stream: a browser takes a carriage return for that as well.
func TestNothingInARowEndsALineOfAStream(t *testing.T) {
	t.Parallel()
	require.Equal(t, "data: <td>a&#13;&#13;event: gone</td>\ndata: b\n\n", string(message([]byte("<td>a\r\revent: gone</td>\nb"))))
}
