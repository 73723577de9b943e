package chaos

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// variant is the binary with changed code, made without touching the sources.
type variant struct {
	name  string
	edits []edit
	once  sync.Once
	path  string
	err   error
}

// edit replaces a text that must be there once.
type edit struct{ file, old, new string }

// build compiles it at its first use.
func (v *variant) build(t testing.TB) string {
	t.Helper()
	v.once.Do(func() { v.path, v.err = v.compile(t) })
	require.NoError(t, v.err)
	return v.path
}

func (v *variant) compile(t testing.TB) (string, error) {
	dir := filepath.Join(programs, v.name+"-sources")
	replace, text := map[string]string{}, map[string]string{}
	for _, e := range v.edits {
		original := filepath.Join(root, filepath.FromSlash(e.file))
		if text[original] == "" {
			raw, err := os.ReadFile(original)
			require.NoError(t, err)
			text[original] = string(raw)
			replace[original] = filepath.Join(dir, strings.ReplaceAll(e.file, "/", "-"))
		}
		require.Equal(t, 1, strings.Count(text[original], e.old), "%s holds once: %s", e.file, e.old)
		text[original] = strings.Replace(text[original], e.old, e.new, 1)
	}
	require.NoError(t, os.MkdirAll(dir, 0o755))
	for original, copied := range replace {
		require.NoError(t, os.WriteFile(copied, []byte(text[original]), 0o644))
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	require.NoError(t, err)
	file := filepath.Join(dir, "overlay.json")
	require.NoError(t, os.WriteFile(file, overlay, 0o644))
	return build(v.name, "-overlay", file)
}

// nextRelease has one more thing to wait for in the workflow of every event, with a version as versions.go asks for it.
var nextRelease = &variant{name: "next", edits: []edit{{
	file: "workflows/process_event.go",
	old:  "	result, parsed, failed := process(ctx, receipt, body)\n",
	new: `	if workflow.GetVersion(ctx, "chaos-next", workflow.DefaultVersion, 1) != workflow.DefaultVersion {
		_ = workflow.Sleep(ctx, 50_000_000)
	}
	result, parsed, failed := process(ctx, receipt, body)
`,
}}}

// perilous does something with a chance of one in odds, before and after each step has committed.
func perilous(name, library, what string, odds int) *variant {
	peril := fmt.Sprintf("	if rand.IntN(%d) == 0 {\n		%s\n	}\n", odds, what)
	v := &variant{name: name}
	for _, step := range []struct{ file, old, new string }{
		{
			"persist_event.go", "	persisted, err := a.Events.Process(ctx, r, body.Payload().GetData(), p, currentRun(ctx))\n",
			"PERIL	persisted, err := a.Events.Process(ctx, r, body.Payload().GetData(), p, currentRun(ctx))\nPERIL",
		},
		{
			"upsert_entities.go", "	return verdictOf(a.Entities.UpsertEntities(ctx, r, p, currentRun(ctx)))\n",
			"PERIL	verdict, err := verdictOf(a.Entities.UpsertEntities(ctx, r, p, currentRun(ctx)))\nPERIL	return verdict, err\n",
		},
		{"record_dead_letter.go", "	return verdictOf(a.DeadLetters.RecordDeadLetter(", "PERIL	return verdictOf(a.DeadLetters.RecordDeadLetter("},
	} {
		file := "activities/" + step.file
		v.edits = append(v.edits, edit{file, "import (\n", "import (\n	\"math/rand/v2\"\n" + library},
			edit{file, step.old, strings.ReplaceAll(step.new, "PERIL", peril)})
	}
	return v
}

var (
	crashing  = perilous("crashing", "	\"os\"\n", "os.Exit(137)", 15)
	panicking = perilous("panicking", "", `panic("chaos")`, 40)
)
