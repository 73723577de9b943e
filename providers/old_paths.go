package providers

import (
	"embed"
	"fmt"
	"io/fs"
	"strings"

	"holdfast/providers/definition"
)

//go:embed old_paths/*.yaml
var oldPaths embed.FS

// OldPaths returns a definition that adds to a provider's built-in paths those of the system that Holdfast replaces. They
// aren't part of the built-in definition, since /webhook/{instance} matches anything.
func OldPaths(name string) (string, error) {
	text, err := fs.ReadFile(oldPaths, "old_paths/"+name+".yaml")
	if err != nil {
		return "", fmt.Errorf("there are no old paths of %q; there are: %s", name, strings.Join(oldPathNames(), ", "))
	}
	return string(text), nil
}

func oldPathNames() (names []string) {
	files, _ := fs.ReadDir(oldPaths, "old_paths") // it is embedded in the program
	for _, f := range files {
		names = append(names, definition.NameOf(f.Name()))
	}
	return names
}
