package dev

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"os"
	"path/filepath"

	"holdfast/internal/config"
	"holdfast/providers"
)

// devSecrets gives every provider that has no secret a random one, the same at every start, so that it can be tried at once.
func devSecrets(dir string, cfg config.Config) (map[string]string, error) {
	catalogue, err := providers.Load(cfg.Providers.Dir)
	if err != nil {
		return nil, err
	}
	seed, err := devSecret(filepath.Join(dir, "webhook-secret"))
	if err != nil {
		return nil, err
	}
	given := map[string]string{}
	for _, name := range catalogue.SecretNames() {
		if len(cfg.Secrets(name)) == 0 {
			given[name] = seed
		}
	}
	return given, nil
}

func devSecret(file string) (string, error) {
	text, err := os.ReadFile(file)
	if err == nil {
		return string(text), nil
	}
	if !errors.Is(err, os.ErrNotExist) {
		return "", err
	}
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails
	secret := "whsec_" + base64.StdEncoding.EncodeToString(key)
	return secret, os.WriteFile(file, []byte(secret), 0o600)
}
