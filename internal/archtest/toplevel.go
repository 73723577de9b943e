package archtest

import (
	"fmt"
	"io/fs"
	"strings"
)

// TopLevel lists the allowed entries at the top of the repository: `ls` shows the architecture.
var TopLevel = []string{
	"activities", "bench", "client", "cmd", "delivery", "deploy", "docs", "e2e", "event", "findings", "ingress", "internal",
	"migrations", "operator", "persistence", "providers", "tools", "workflows",
	"CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "LICENSE", "Makefile", "README.md", "docker-compose.yml", "go.mod", "go.sum",
}

// CheckTopLevel returns a sentence for each entry that is neither allowed, hidden, nor ignored by .gitignore.
func CheckTopLevel(root fs.FS, allowed []string) ([]string, error) {
	entries, err := fs.ReadDir(root, ".")
	if err != nil {
		return nil, fmt.Errorf("read top level: %w", err)
	}
	ignored, err := fs.ReadFile(root, ".gitignore")
	if err != nil {
		return nil, fmt.Errorf("read .gitignore: %w", err)
	}
	known := map[string]bool{}
	for _, name := range allowed {
		known[name] = true
	}
	for line := range strings.Lines(string(ignored)) {
		known[strings.Trim(strings.TrimSpace(line), "/")] = true
	}
	var breaches []string
	for _, entry := range entries {
		if name := entry.Name(); !known[name] && !strings.HasPrefix(name, ".") {
			breaches = append(breaches, name+" lies at the top level and is not part of the architecture")
		}
	}
	return breaches, nil
}
