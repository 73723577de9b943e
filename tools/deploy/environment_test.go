package deploy

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	core "k8s.io/api/core/v1"

	"holdfast/internal/config"
)

// load gives the configuration that the program makes of the environment of a container. What the kubelet would put there is put
// there: secrets as files at their mounts, the controller's variables of a worker that it runs.
func load(t *testing.T, p pod, c core.Container) config.Config {
	t.Helper()
	files := writeSecrets(t, p, c)
	var environ []string
	for _, variable := range c.Env {
		entry := variable.Name + "=" + value(t, c, variable)
		for mount, dir := range files {
			entry = strings.Replace(entry, "="+mount+"/", "="+dir+"/", 1)
		}
		environ = append(environ, entry)
	}
	if p.versioned {
		environ = append(environ, "TEMPORAL_ADDRESS=temporal:7233", "TEMPORAL_NAMESPACE=default",
			"TEMPORAL_DEPLOYMENT_NAME=webhooks/holdfast-worker", "TEMPORAL_WORKER_BUILD_ID=v1-2-3-abcd")
	}
	cfg, err := config.LoadFrom(environ)
	require.NoError(t, err)
	return cfg
}

// value is what the kubelet would give a variable.
func value(t *testing.T, c core.Container, variable core.EnvVar) string {
	t.Helper()
	from := variable.ValueFrom
	switch {
	case from == nil:
		return variable.Value
	case from.SecretKeyRef != nil:
		require.NotEmpty(t, from.SecretKeyRef.Name)
		require.NotEmpty(t, from.SecretKeyRef.Key)
		return "a-secret"
	case from.ResourceFieldRef != nil:
		require.Equal(t, "limits.memory", from.ResourceFieldRef.Resource)
		return c.Resources.Limits.Memory().String()
	case from.FieldRef != nil:
		return "a-node"
	}
	require.Failf(t, "unknown source", "%+v", from)
	return ""
}

// writeSecrets makes the files that the kubelet would make, and gives the directory that stands for each mount.
func writeSecrets(t *testing.T, p pod, c core.Container) map[string]string {
	t.Helper()
	dirs := map[string]string{}
	for _, v := range p.template.Spec.Volumes {
		if v.Projected == nil {
			continue
		}
		require.Equal(t, int32(0o440), *v.Projected.DefaultMode)
		dir, files := t.TempDir(), map[string]string{}
		for _, source := range v.Projected.Sources {
			require.NotEmpty(t, source.Secret.Name)
			for _, item := range source.Secret.Items {
				require.NotEmpty(t, item.Key)
				require.NotContains(t, files, item.Path, "two secrets for one file")
				files[item.Path] = content(item.Path)
			}
		}
		writeLikeKubelet(t, dir, files)
		dirs[mountPath(t, c, v.Name)] = dir
	}
	return dirs
}

// content is what such a secret could be.
func content(variable string) string {
	switch variable {
	case "DATABASE_URL":
		return "postgres://holdfast:secret@postgres.example.com:5432/holdfast?sslmode=require\n"
	case "HOLDFAST_OPERATOR_TOKENS":
		return "ada:admin:" + strings.Repeat("ab", 32)
	case "HOLDFAST_PAYLOAD_KEYS":
		return "2026-01:" + base64.StdEncoding.EncodeToString(make([]byte, 32))
	case "HOLDFAST_NOTIFY_URLS":
		return "generic+https://alerts.example.com/hook"
	case "tls.crt", "ca.crt":
		certificate, _ := keyPair()
		return string(certificate)
	case "tls.key":
		_, key := keyPair()
		return string(key)
	default:
		return "whsec_0123456789abcdef"
	}
}

// keyPair is a certificate and its key, in PEM.
var keyPair = sync.OnceValues(func() (certificate, key []byte) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		panic(err)
	}
	raw, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		panic(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: raw})
})

// The program starts with the environment of every container: each variable is one of its own, and each value one that it takes.
func TestTheProgramAcceptsTheEnvironment(t *testing.T) {
	t.Parallel()
	eachPod(t, func(t *testing.T, _ *objects, p pod) {
		for _, c := range containers(p) {
			seen := map[string]bool{}
			for _, variable := range c.Env {
				require.Falsef(t, seen[variable.Name], "%s stands twice", variable.Name)
				seen[variable.Name] = true
			}
			cfg := load(t, p, c)
			require.NoError(t, cfg.RequireDatabase())
			_, err := cfg.TemporalOptions()
			require.NoError(t, err)
			require.Regexp(t, `:\d+$`, cfg.Temporal.Address)
		}
	})
}

func TestSecretsReachOnlyTheirRoles(t *testing.T) {
	t.Parallel()
	want := map[string][]string{
		"ingress": {"DATABASE_URL", "HOLDFAST_NOTIFY_URLS", "HOLDFAST_OPERATOR_TOKENS", "HOLDFAST_PAYLOAD_KEYS", "HOLDFAST_SECRET_ACME",
			"STRIPE_WEBHOOK_SECRET"},
		"worker":    {"CRM_SIGNING_SECRET", "DATABASE_URL", "HOLDFAST_NOTIFY_URLS", "HOLDFAST_PAYLOAD_KEYS"},
		"operator":  {"CRM_SIGNING_SECRET", "DATABASE_URL", "HOLDFAST_NOTIFY_URLS", "HOLDFAST_OPERATOR_TOKENS", "HOLDFAST_PAYLOAD_KEYS"},
		"migration": {"DATABASE_URL", "HOLDFAST_NOTIFY_URLS", "HOLDFAST_PAYLOAD_KEYS"},
	}
	for _, p := range of(t, "everything").pods(t) {
		var have []string
		for _, v := range p.template.Spec.Volumes {
			if v.Name != "secrets" {
				continue
			}
			for _, source := range v.Projected.Sources {
				for _, item := range source.Secret.Items {
					have = append(have, item.Path)
					if item.Path == "DATABASE_URL" {
						require.Equal(t, map[bool]string{true: "holdfast-owner", false: "holdfast-app"}[p.role == "migration"], source.Secret.Name)
					}
				}
			}
		}
		require.ElementsMatch(t, want[p.role], have, p.role)
		cfg := load(t, p, p.template.Spec.Containers[0])
		require.Equal(t, p.role == "ingress", len(cfg.Secrets("STRIPE_WEBHOOK_SECRET")) == 1, p.role)
	}
}

// What stands in the values arrives as it was meant: numbers are numbers, and the role has the last word.
func TestTheConfigurationArrives(t *testing.T) {
	t.Parallel()
	for _, p := range of(t, "everything").pods(t) {
		cfg := load(t, p, p.template.Spec.Containers[0])
		require.Equal(t, map[bool]string{true: "WARN", false: "DEBUG"}[p.role == "ingress"], cfg.Log.Level.String(), p.role)
		require.Equal(t, 2_000_000, cfg.Worker.StickyCache)
		require.InDelta(t, 0.5, cfg.Replay.Rate, 0)
		require.Equal(t, 20, cfg.Database.MaxConns)
		require.Equal(t, "temporal.example.com:7243", cfg.Temporal.Address)
		require.Equal(t, "payments", cfg.Temporal.Namespace)
		options, err := cfg.TemporalOptions()
		require.NoError(t, err)
		require.Equal(t, "temporal.internal", options.ConnectionOptions.TLS.ServerName)
		require.Len(t, options.ConnectionOptions.TLS.Certificates, 1)
		require.NotNil(t, options.ConnectionOptions.TLS.RootCAs)
	}
}

// inboxConns is the pool of the inbox, next to the process's pool.
const inboxConns = 5

// The page says how many connections PostgreSQL needs, by the pool that the program makes of its slots.
func TestThePageCountsTheConnections(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/kubernetes.md")
	require.NoError(t, err)
	for _, p := range of(t, "defaults").pods(t) {
		if p.role == "worker" {
			pool := load(t, p, p.template.Spec.Containers[0]).PoolSize()
			require.Contains(t, string(page), fmt.Sprintf("A worker opens up to %d connections", pool+inboxConns))
		}
	}
}
