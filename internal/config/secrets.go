package config

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// Secrets returns the secrets under the name that a provider's definition gives: the variable of that name, with several secrets
// separated by commas or line ends during rotation (a comma within one is written \,), or the file that the variable NAME_FILE
// names, with one secret per line. A PEM block is one secret with its lines. It returns nil if it is unset or unreadable;
// CheckSecrets says why.
func (c Config) Secrets(name string) []string {
	secrets, err := c.readSecrets(name)
	if err != nil {
		return nil
	}
	return secrets
}

// IsSet reports whether any of the variables is set.
func (c Config) IsSet(names ...string) bool {
	vars := c.environ()
	return slices.ContainsFunc(names, func(name string) bool { return vars[name] != "" })
}

// HasSecret reports whether the variable of that name, or its file variable, is set.
func (c Config) HasSecret(name string) bool {
	return c.IsSet(name, name+fileSuffix)
}

// CheckSecrets reports all named secrets that can't be read. An unset one isn't an error: its provider just can't authenticate
// requests.
func (c Config) CheckSecrets(names ...string) error {
	var wrong problems
	for _, name := range names {
		if _, err := c.readSecrets(name); err != nil {
			wrong.addError(err)
		}
	}
	return wrong.join()
}

func (c Config) readSecrets(name string) ([]string, error) {
	text, isFile, err := c.read(name)
	if !isFile {
		text = commas.Replace(text)
	}
	return splitSecrets(text), err
}

// Whole returns the value of a variable, or of the file that NAME_FILE names, as one secret without spaces around it: a password
// or the content of a credentials file. It is "" if neither is set.
func (c Config) Whole(name string) (string, error) {
	text, _, err := c.read(name)
	return strings.TrimSpace(text), err
}

// read returns the value of a variable, or of the file that NAME_FILE names.
func (c Config) read(name string) (text string, isFile bool, err error) {
	vars := c.environ()
	file := vars[name+fileSuffix]
	if file == "" {
		return vars[name], false, nil
	}
	if vars[name] != "" {
		return "", false, &VariableError{Variable: name, Problem: bothSet(name)}
	}
	if text, err = readSecretFile(file); err != nil {
		return "", true, &VariableError{Variable: name + fileSuffix, Problem: err.Error()}
	}
	return text, true, nil
}

// commas replaces separating commas by line ends; a comma after a backslash is part of a secret.
var commas = strings.NewReplacer(`\,`, ",", ",", "\n")

func splitSecrets(text string) []string {
	var secrets, block []string
	for part := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == '\r' || r == '\n' }) {
		switch part = strings.TrimSpace(part); {
		case part == "":
		case strings.HasPrefix(part, "-----BEGIN ") && !strings.Contains(part, "-----END "), block != nil:
			if block = append(block, part); strings.HasPrefix(part, "-----END ") {
				secrets, block = append(secrets, strings.Join(block, "\n")), nil
			}
		default:
			secrets = append(secrets, part)
		}
	}
	return append(secrets, block...) // of a block without an end, each line
}

// readSecretFiles sets NAME to the content of NAME_FILE, for the secrets of the configuration itself.
func (m *problems) readSecretFiles(vars environment, fields []field) {
	for _, f := range fields {
		file := vars[f.name+fileSuffix]
		if !f.secret || file == "" {
			continue
		}
		if vars[f.name] != "" {
			m.add(f.name, bothSet(f.name), "")
			continue
		}
		text, err := readSecretFile(file)
		if err != nil {
			m.add(f.name+fileSuffix, err.Error(), "")
			continue
		}
		vars[f.name] = strings.TrimSpace(text)
		delete(vars, f.name+fileSuffix) // a definition may name the same secret, and only one of the two may be set
	}
}

func bothSet(name string) string {
	return "and " + name + fileSuffix + " are both set; only one of them may be"
}

func readSecretFile(path string) (string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("names a file that cannot be read: %w", err)
	}
	if strings.TrimSpace(string(text)) == "" {
		return "", fmt.Errorf("names a file that is empty: %s", path)
	}
	return string(text), nil
}
