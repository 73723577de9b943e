package deploy

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/providers/definition"
)

var (
	proxyLimit = regexp.MustCompile(`(client_max_body_size |proxy-body-size: )(\S+?)[;\s` + "`" + `]`)
	nginxBlock = regexp.MustCompile("(?s)```nginx\n(.*?)```")
)

// A proxy with a lower limit than the largest definition refuses what a provider documents; nginx's default is 1 MiB.
func TestProxiesPassTheLargestBody(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("../docs/*.md")
	require.NoError(t, err)
	want := fmt.Sprintf("%dm", definition.MaxBodyLimit>>20)
	found := map[string]bool{}
	for _, file := range append(pages, "helm/values.yaml") {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, limit := range proxyLimit.FindAllStringSubmatch(string(text), -1) {
			found[filepath.Base(file)] = found[filepath.Base(file)] || limit[2] == want
		}
		for _, block := range nginxBlock.FindAllStringSubmatch(string(text), -1) {
			if strings.Contains(block[1], "proxy_pass") {
				require.Contains(t, block[1], "client_max_body_size", "%s: nginx would refuse bodies over 1 MiB", file)
			}
		}
	}
	for _, file := range []string{"values.yaml", "kubernetes.md", "security.md", "moving.md"} {
		require.True(t, found[file], "%s sets the limit to %s", file, want)
	}
}
