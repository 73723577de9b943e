package clients

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var serial atomic.Int64

// uniqueID names an event of this run.
func uniqueID() string { return "c" + strconv.FormatInt(serial.Add(1), 10) }

// example is an event with its payloads, of those that @octokit/webhooks-examples publishes.
type example struct {
	Name     string            `json:"name"`
	Examples []json.RawMessage `json:"examples"`
}

const published = "node_modules/@octokit/webhooks-examples/api.github.com/index.json"

// Every payload that octokit publishes is authentic when octokit has signed it, and is an event of its type.
func TestEveryPayloadOfOctokit(t *testing.T) {
	t.Parallel()
	l := libraries(t).byName(t, "octokit")
	d := &door{catalogue: catalogueWith(t, l.Secret)}
	p := l.provider(t, d.catalogue)
	payloads := 0
	for _, event := range octokitExamples(t) {
		for _, payload := range event.Examples {
			payloads++
			r := l.sign(t, request{
				URL: publicURL + p.Paths()[0], Body: string(payload),
				Headers: map[string]string{
					"content-type": "application/json", "x-github-event": event.Name, "x-github-delivery": uniqueID(),
				},
			}, l.Secret, time.Now())
			e := d.explain(t, p, r)
			require.Len(t, e.Events, 1)
			require.Nil(t, e.Events[0].DeadLetter, "%s: %.200s", event.Name, payload)
			require.True(t, strings.HasPrefix(e.Events[0].Type+".", event.Name+"."), "%s is taken for %s: %.200s",
				event.Name, e.Events[0].Type, payload)
		}
	}
	require.GreaterOrEqual(t, payloads, 329)
}

func octokitExamples(t *testing.T) (all []example) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, filepath.FromSlash(published)))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &all))
	return all
}

func (n *node) byName(t *testing.T, name string) library {
	t.Helper()
	for _, l := range n.library {
		if l.Name == name {
			return l
		}
	}
	require.FailNow(t, "no such library", name)
	return library{}
}
