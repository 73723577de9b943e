package providers

import (
	_ "embed"
	"fmt"
	"strings"
)

//go:embed skeleton.yaml
var skeleton string

// Skeleton returns a commented definition as a starting point for a new one. It passes the check unchanged.
func Skeleton(name string) (string, error) {
	if !namePattern.MatchString(name) {
		return "", fmt.Errorf("invalid name %q: use up to 40 lower-case letters, digits and dashes", name)
	}
	secret := strings.ToUpper(strings.ReplaceAll(name, "-", "_")) + "_WEBHOOK_SECRET"
	return strings.NewReplacer("__name__", name, "__SECRET__", secret).Replace(skeleton), nil
}
