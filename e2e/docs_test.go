package e2e

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// fence is a code block of the page: commands, the content of a file, or expected output.
type fence struct {
	language, before, text string
}

var (
	fences     = regexp.MustCompile("(?s)```(sh|text|json|yaml|go|ts)\n(.*?)```\n")
	fileOfText = regexp.MustCompile("`([a-z./-]+\\.(?:json|yaml|go|ts))`")
)

// stepsOf returns the blocks of a section in order, each with the text before it.
func stepsOf(t *testing.T, page, section string) []fence {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, page))
	require.NoError(t, err)
	_, rest, ok := strings.Cut(string(text), "\n## "+section+"\n")
	require.True(t, ok)
	rest, _, _ = strings.Cut(rest, "\n## ")
	var steps []fence
	end := 0
	for _, at := range fences.FindAllStringSubmatchIndex(rest, -1) {
		steps = append(steps, fence{language: rest[at[2]:at[3]], before: rest[end:at[0]], text: rest[at[4]:at[5]]})
		end = at[1]
	}
	return steps
}

// follower follows the page, in a folder that stands in for the repository.
type follower struct {
	dir     string
	env     []string
	prelude string // variables from the first step
	seen    string // output of the last commands
}

func (f *follower) run(t *testing.T, commands string) {
	t.Helper()
	command := exec.Command("bash", "-euo", "pipefail", "-c", f.prelude+"\n"+commands)
	command.Dir, command.Env = f.dir, f.env
	out, err := command.CombinedOutput()
	require.NoError(t, err, "%s\n%s", commands, out)
	f.seen = string(out)
}

// write writes the file that the text before a block names.
func (f *follower) write(t *testing.T, step fence) {
	t.Helper()
	names := fileOfText.FindAllStringSubmatch(step.before, -1)
	require.NotEmpty(t, names, step.before)
	file := filepath.Join(f.dir, names[len(names)-1][1])
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o750))
	require.NoError(t, os.WriteFile(file, []byte(step.text), 0o600))
}

// sees requires every line in the output, in any order.
func (f *follower) sees(t *testing.T, lines string) {
	t.Helper()
	for line := range strings.Lines(lines) {
		require.Regexp(t, shownLine(line), f.seen)
	}
}

// shownLine returns a pattern for a line that a page shows: … matches any text, a space matches several.
func shownLine(line string) string {
	pattern := regexp.QuoteMeta(strings.Join(strings.Fields(line), " "))
	return `(?m)^\s*` + strings.NewReplacer("…", ".*", " ", `\s+`).Replace(pattern) + `\s*$`
}

// The tutorial works exactly as written: a new provider is added, tried, sent, changed while Holdfast is running, and load
// tested.
func TestAProviderIsAddedByThePage(t *testing.T) {
	t.Parallel()
	f := &follower{dir: t.TempDir()}
	require.NoError(t, os.Mkdir(filepath.Join(f.dir, "bin"), 0o750))
	for _, program := range []string{holdfast, benchProgram(t)} {
		require.NoError(t, os.Symlink(program, filepath.Join(f.dir, "bin", filepath.Base(program))))
	}
	i := newInstallation(t)
	f.env = i.environment()
	var n *node
	for k, step := range stepsOf(t, "docs/add-a-provider.md", "Steps") {
		switch {
		case k == 0:
			f.prelude = step.text
			f.run(t, "")
		case step.language == "text":
			f.sees(t, step.text)
		case step.language == "json" || step.language == "yaml":
			f.write(t, step)
		case step.text == "HOLDFAST_PROVIDERS_DIR=my-providers make run\n":
			// make run records both for commands on the same machine.
			definitions := []string{
				"HOLDFAST_PROVIDERS_DIR=" + filepath.Join(f.dir, "my-providers"), "ORDERS_WEBHOOK_SECRET=" + uuid.NewString(),
			}
			n = i.start(t, "serve", definitions...)
			f.env = append(append(f.env, definitions...), "HOLDFAST_INGRESS_ADDR="+strings.TrimPrefix(n.ingress, "http://"),
				fmt.Sprintf("PID_OF_HOLDFAST=%d", n.command.Process.Pid))
		default:
			f.run(t, step.text)
		}
	}
	require.NotNil(t, n, "the page starts Holdfast")
	eventually(t, 30*time.Second, "the definition is reloaded", func() error {
		if !strings.Contains(n.log.String(), "providers.reloaded") {
			return errors.New("the log does not say so")
		}
		return nil
	})
	require.NotContains(t, n.log.String(), "providers.rejected")
}
