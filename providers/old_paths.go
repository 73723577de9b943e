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

// OldPaths is a definition that opens, beside the built-in paths of a provider, those under which the system was reached that
// Holdfast replaces. They are no part of the built-in definition, since /webhook/{instance} takes whatever comes.
func OldPaths(name string) (string, error) {
	text, err := fs.ReadFile(oldPaths, "old_paths/"+name+".yaml")
	if err != nil {
		return "", fmt.Errorf("there are no old paths of %q; there are: %s", name, strings.Join(oldPathNames(), ", "))
	}
	return string(text), nil
}

func oldPathNames() (names []string) {
	files, _ := fs.ReadDir(oldPaths, "old_paths") // it is part of the program
	for _, f := range files {
		names = append(names, definition.NameOf(f.Name()))
	}
	return names
}
