package main

import (
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

const sumsFile = "SHA256SUMS"

// writeSums writes the checksums of all files of a folder, as `sha256sum --check` reads them.
func writeSums(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var sums strings.Builder
	for _, e := range entries {
		sum, err := sumOf(filepath.Join(dir, e.Name()))
		if err != nil {
			return fmt.Errorf("sum %s: %w", e.Name(), err)
		}
		fmt.Fprintf(&sums, "%s  %s\n", sum, e.Name())
	}
	fmt.Fprint(os.Stdout, sums.String())
	return os.WriteFile(filepath.Join(dir, sumsFile), []byte(sums.String()), 0o644)
}

func sumOf(path string) (string, error) {
	in, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = in.Close() }()
	hash := sha256.New()
	if _, err := io.Copy(hash, in); err != nil {
		return "", err
	}
	return fmt.Sprintf("%x", hash.Sum(nil)), nil
}
