package dev

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"time"

	"holdfast/delivery"
	"holdfast/internal/config"
	"holdfast/providers"
	"holdfast/providers/auth"
)

// devSecrets gives every provider without a secret a random one that its scheme can use, the same at every start, so that it can
// be tried immediately. It can't help providers that sign with certificates. It skips those whose senders would be asked for
// keys that they publish, since no user has connected them, and Holdfast's own variables, which would turn features on.
func devSecrets(dir string, cfg config.Config) (map[string]string, error) {
	catalogue, err := providers.Load(cfg.Providers.Dir)
	if err != nil {
		return nil, err
	}
	seed, err := devSecret(filepath.Join(dir, "webhook-secret"))
	if err != nil {
		return nil, err
	}
	forms, err := kept(filepath.Join(dir, "webhook-secrets"), func() string { return strings.Join(auth.NewSecrets(), ",") })
	if err != nil {
		return nil, err
	}
	given := map[string]string{}
	tried := catalogue.WithSecrets(func(string) []string { return []string{seed} })
	for _, provider := range tried.Names() {
		p, _ := tried.Lookup(provider)
		isUsable := signs(p, seed)
		if !isUsable && len(p.KeySets()) > 0 {
			continue
		}
		own := map[string]string{}
		for _, name := range p.SecretNames() {
			secret := seed
			if !isUsable || p.IsUnusable(name) {
				secret = forms
			}
			if len(cfg.Secrets(name)) == 0 && !p.IsPublic(name) && !strings.HasPrefix(name, "HOLDFAST_") {
				own[name] = secret
			}
		}
		if !hasKeySets(p, cfg, own) {
			maps.Copy(given, own)
		}
	}
	return given, nil
}

// hasKeySets reports whether the provider's sender would be asked for its keys if it had these secrets in addition.
func hasKeySets(p *providers.Provider, cfg config.Config, own map[string]string) bool {
	return len(p.Bound(func(name string) []string {
		if text, ok := own[name]; ok {
			return strings.Split(text, ",")
		}
		return cfg.Secrets(name)
	}).KeySets()) > 0
}

// signs reports whether the provider's scheme can sign with a secret of this format.
func signs(p *providers.Provider, secret string) bool {
	types := p.SampleTypes()
	if len(types) == 0 {
		return true
	}
	r, err := p.Sample(types[0], "x", time.Now())
	return err == nil && p.Sign(r, secret, time.Now()) == nil
}

func devSecret(file string) (string, error) {
	return kept(file, func() string {
		key := make([]byte, 32)
		_, _ = rand.Read(key) // never fails
		return delivery.SecretPrefix + base64.StdEncoding.EncodeToString(key)
	})
}

// kept returns the content of a file, creating it if missing.
func kept(file string, fresh func() string) (string, error) {
	text, err := os.ReadFile(file)
	if err == nil {
		return string(text), nil
	}
	if !errors.Is(err, os.ErrNotExist) {
		return "", err
	}
	made := fresh()
	return made, os.WriteFile(file, []byte(made), 0o600)
}
