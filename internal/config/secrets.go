package config

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// Secrets are the secrets under the name that a provider's definition gives: the variable of that name, with several
// secrets separated by commas or line ends while they are rotated (a comma within one is written \,), or the file that the
// variable NAME_FILE names, with one secret a line. It is nil where there is none or it cannot be read; CheckSecrets says why.
func (c Config) Secrets(name string) []string {
	secrets, err := c.readSecrets(name)
	if err != nil {
		return nil
	}
	return secrets
}

// IsSet tells whether one of the variables is set, whatever is in it.
func (c Config) IsSet(names ...string) bool {
	vars := c.environ()
	return slices.ContainsFunc(names, func(name string) bool { return vars[name] != "" })
}

// HasSecret tells whether the variable of that name, or the one with the name of a file, is set, whatever is in it.
func (c Config) HasSecret(name string) bool {
	return c.IsSet(name, name+fileSuffix)
}

// CheckSecrets reports, all at once, which of the named secrets cannot be read. One that is not set is no mistake: whoever
// needs it stays closed.
func (c Config) CheckSecrets(names ...string) error {
	var wrong mistakes
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

// read gives the value of a variable, or of the file that NAME_FILE names.
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

// commas puts a line end in the place of every comma that separates: one with a backslash before it is a part of a secret.
var commas = strings.NewReplacer(`\,`, ",", ",", "\n")

// splitSecrets gives the lines of a text.
func splitSecrets(text string) []string {
	var secrets []string
	for part := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == '\r' || r == '\n' }) {
		if part = strings.TrimSpace(part); part != "" {
			secrets = append(secrets, part)
		}
	}
	return secrets
}

// readSecretFiles puts the content of NAME_FILE in the place of NAME, for the secrets of the configuration itself.
func (m *mistakes) readSecretFiles(vars environment, fields []field) {
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
