package deploy

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"k8s.io/apimachinery/pkg/util/yaml"
)

const (
	chartDir  = "../../deploy/helm"
	release   = "holdfast"
	namespace = "webhooks"
)

func loadChart(t *testing.T) *chart.Chart {
	t.Helper()
	c, err := loader.LoadDir(chartDir)
	require.NoError(t, err)
	return c
}

// render gives what `helm template` prints for these values, by the path of the template.
func render(c *chart.Chart, name string, values map[string]any) (map[string]string, error) {
	options := chartutil.ReleaseOptions{Name: name, Namespace: namespace, Revision: 1, IsInstall: true}
	all, err := chartutil.ToRenderValues(c, values, options, chartutil.DefaultCapabilities)
	if err != nil {
		return nil, err
	}
	return engine.Engine{Strict: true}.Render(c, all)
}

// document is one object as text, and the template that made it.
type document struct {
	template string
	text     []byte
}

func documents(t *testing.T, rendered map[string]string) []document {
	t.Helper()
	var all []document
	for path, text := range rendered {
		if filepath.Ext(path) != ".yaml" {
			continue
		}
		reader := yaml.NewYAMLReader(bufio.NewReader(strings.NewReader(text)))
		for {
			one, err := reader.Read()
			if errors.Is(err, io.EOF) {
				break
			}
			require.NoError(t, err, path)
			if len(bytes.TrimSpace(one)) > 0 && !onlyComments(one) {
				all = append(all, document{template: filepath.Base(path), text: one})
			}
		}
	}
	require.NotEmpty(t, all)
	return all
}

func onlyComments(text []byte) bool {
	for line := range bytes.Lines(text) {
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' && string(line) != "---" {
			return false
		}
	}
	return true
}

// made are the objects of each case. Each is made once, and never changed.
var (
	made = map[string]*objects{}
	lock sync.Mutex
)

// of gives the objects of a case.
func of(t *testing.T, name string) *objects {
	t.Helper()
	lock.Lock()
	defer lock.Unlock()
	if made[name] == nil {
		made[name] = makeObjects(t, loadChart(t), cases(t)[name])
	}
	return made[name]
}

func makeObjects(t *testing.T, c *chart.Chart, values map[string]any) *objects {
	t.Helper()
	rendered, err := render(c, release, values)
	require.NoError(t, err)
	return decode(t, documents(t, rendered))
}

// cases are the values that the chart is rendered with: those of testdata/values and of small installations, and those that
// docs/kubernetes.md gives its readers.
func cases(t *testing.T) map[string]map[string]any {
	t.Helper()
	files, err := filepath.Glob("testdata/values/*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	all := map[string]map[string]any{}
	for _, file := range append(files, chartDir+"/values-small.yaml") {
		values, err := chartutil.ReadValuesFile(file)
		require.NoError(t, err)
		all[strings.TrimSuffix(filepath.Base(file), ".yaml")] = values
	}
	for i, block := range pageBlocks(t) {
		if !strings.HasPrefix(block, "apiVersion:") {
			all[fmt.Sprintf("page-%d", i+1)] = parseValues(t, block)
		}
	}
	return all
}

func eachCase(t *testing.T, check func(*testing.T, *objects)) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(cases(t))) {
		t.Run(name, func(t *testing.T) { check(t, of(t, name)) })
	}
}

// pageBlocks are the blocks of YAML in docs/kubernetes.md.
func pageBlocks(t *testing.T) []string {
	t.Helper()
	page, err := os.ReadFile("../../docs/kubernetes.md")
	require.NoError(t, err)
	var blocks []string
	for _, part := range strings.Split(string(page), "\n```yaml\n")[1:] {
		block, _, closed := strings.Cut(part, "\n```")
		require.True(t, closed)
		blocks = append(blocks, block)
	}
	require.NotEmpty(t, blocks)
	return blocks
}
