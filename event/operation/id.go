package operation

import (
	"crypto/rand"
	"strings"
	"time"
)

// NewID is the ID of a redrive or a rebuild: short enough to be typed, sorted by time, and not met twice.
func NewID() string {
	return time.Now().UTC().Format("20060102-150405-") + strings.ToLower(rand.Text()[:4])
}
