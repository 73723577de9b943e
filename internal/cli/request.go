package cli

import (
	"fmt"
	"io"
	"os"
	"strings"

	"holdfast/providers/auth"
)

// SetHeaders parses "Name: value" lines.
func SetHeaders(r *auth.Request, lines []string) error {
	given := map[string][]string{}
	for _, line := range lines {
		name, value, ok := strings.Cut(line, ":")
		if !ok || strings.TrimSpace(name) == "" {
			return fmt.Errorf("invalid header: use 'Name: value'")
		}
		name = strings.ToLower(strings.TrimSpace(name))
		given[name] = append(given[name], strings.TrimSpace(value))
	}
	for name, values := range given {
		r.Header[name] = values
	}
	return nil
}

// maxBody is in bytes, above what any definition may allow.
const maxBody = 64 << 20

// ReadBody reads a file unchanged; "-" is standard input.
func ReadBody(stdin io.Reader, file string) ([]byte, error) {
	if file == "-" {
		return io.ReadAll(io.LimitReader(stdin, maxBody))
	}
	return os.ReadFile(file)
}
