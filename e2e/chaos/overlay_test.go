package chaos

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/internal/devstack/program"
)

// variant is the binary built with changed code, without changing the sources.
type variant struct {
	name  string
	edits []edit
	once  sync.Once
	path  string
	err   error
}

type edit = program.Edit

// build compiles it on first use.
func (v *variant) build(t testing.TB) string {
	t.Helper()
	v.once.Do(func() { v.path, v.err = build(v.name, v.edits...) })
	require.NoError(t, v.err)
	return v.path
}

// nextRelease waits for one more thing in the workflow of every event, with a version as versions.go requires.
var nextRelease = &variant{name: "next", edits: []edit{{
	File: "workflows/process_event.go",
	Old:  "	result, parsed, failed := process(ctx, &in)\n",
	New: `	if workflow.GetVersion(ctx, "chaos-next", workflow.DefaultVersion, 1) != workflow.DefaultVersion {
		_ = workflow.Sleep(ctx, 50_000_000)
	}
	result, parsed, failed := process(ctx, &in)
`,
}}}

// stepping receives by a clock that is two minutes behind, right, and two minutes ahead, for three seconds each. Event IDs have its
// time, too.
var stepping = &variant{name: "stepping", edits: []edit{
	{File: "ingress/receive.go", Old: "		e.ID = uuid.Must(uuid.NewV7()).String()\n", New: `		e.ID = func() string {
				id, ms := uuid.Must(uuid.NewV7()), o.receivedAt.UnixMilli()
				for n := range 6 {
					id[n] = byte(ms >> (40 - 8*n))
				}
				return id.String()
			}()
`},
	{File: "ingress/server.go", Old: "		now: time.Now, ex", New: `		now: func() time.Time {
			now := time.Now()
			return now.Add(time.Duration(now.Unix()/3%3-1) * 2 * time.Minute)
		}, ex`},
}}

// nextSchema has three more migrations. The one in the middle has no transaction: it builds an index.
var nextSchema = &variant{name: "next-schema", edits: []edit{
	{File: "migrations/9001_before.sql", New: "-- +goose Up\nALTER TABLE dead_letters ADD COLUMN next_release text;\n"},
	{File: "migrations/9002_index.sql", New: `-- +goose NO TRANSACTION
-- +goose Up
DROP INDEX CONCURRENTLY IF EXISTS next_release;
CREATE INDEX CONCURRENTLY next_release ON events (type);
`},
	{File: "migrations/9003_after.sql", New: "-- +goose Up\nALTER TABLE entities ADD COLUMN next_release text;\n"},
}}

// perilous runs a statement with a chance of one in odds, before and after each step has committed.
func perilous(name, library, what string, odds int) *variant {
	peril := fmt.Sprintf("	if rand.IntN(%d) == 0 {\n		%s\n	}\n", odds, what)
	v := &variant{name: name}
	for _, step := range []struct{ file, old, new string }{
		{
			"persist_event.go", "	persisted, err := a.store(ctx, r, body, p)\n",
			"PERIL	persisted, err := a.store(ctx, r, body, p)\nPERIL",
		},
		{
			"upsert_entities.go", "	upserted, err := a.Events.Write(ctx, event.EntitiesOnly, r, nil, p, currentRun(ctx))\n",
			"PERIL	upserted, err := a.Events.Write(ctx, event.EntitiesOnly, r, nil, p, currentRun(ctx))\nPERIL",
		},
		{
			"record_dead_letter.go", "	err = a.DeadLetters.RecordDeadLetter(ctx, d)\n	if duplicate",
			"PERIL	err = a.DeadLetters.RecordDeadLetter(ctx, d)\n	if duplicate",
		},
	} {
		file := "activities/" + step.file
		v.edits = append(v.edits, edit{File: file, Old: "import (\n", New: "import (\n	\"math/rand/v2\"\n" + library},
			edit{File: file, Old: step.old, New: strings.ReplaceAll(step.new, "PERIL", peril)})
	}
	return v
}

var (
	crashing  = perilous("crashing", "	\"os\"\n", "os.Exit(137)", 15)
	panicking = perilous("panicking", "", `panic("chaos")`, 40)
)

// The edits of each variant apply to the current sources, and the result compiles.
func TestVariantsCompile(t *testing.T) {
	t.Parallel()
	for _, v := range []*variant{nextRelease, nextSchema, crashing, panicking, stepping} {
		require.NoError(t, program.Compile(t.Context(), root, t.TempDir(), v.edits...), v.name)
	}
}
