package lab

import (
	"os"
	"path/filepath"

	"holdfast/providers"
)

// WriteDefinitions writes definitions, by name, into a folder, and loads them with Secret as every secret.
func WriteDefinitions(dir string, definitions map[string]string) (*providers.Catalogue, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	for name, text := range definitions {
		if err := os.WriteFile(filepath.Join(dir, name+".yaml"), []byte(text), 0o644); err != nil {
			return nil, err
		}
	}
	c, err := providers.Load(dir)
	if err != nil {
		return nil, err
	}
	return c.WithSecrets(func(string) []string { return []string{Secret} }), nil
}
