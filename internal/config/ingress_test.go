package config

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheLocalURLOfAnIngress(t *testing.T) {
	t.Parallel()
	for addr, url := range map[string]string{
		":8080": "http://127.0.0.1:8080", "0.0.0.0:80": "http://127.0.0.1:80", "[::]:80": "http://127.0.0.1:80",
		"10.0.0.1:80": "http://10.0.0.1:80", "localhost:80": "http://localhost:80",
	} {
		require.Equal(t, url, Ingress{Addr: addr}.LocalURL())
	}
}
