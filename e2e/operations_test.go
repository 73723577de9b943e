package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"

	"holdfast/internal/devstack/stacktest"
)

const (
	// exampleWorkflow is the workflow ID in the commands of the pages.
	exampleWorkflow = "stripe:evt_123"
	// exampleTime is a time before the events of a test.
	exampleTime = "2026-01-02T15:04:05Z"
)

var shellBlock = regexp.MustCompile("(?s)\n```sh\n(.*?)\n```\n")

// documented returns the blocks of commands on a page.
func documented(t *testing.T, page string) (blocks []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "docs", page))
	require.NoError(t, err)
	for _, match := range shellBlock.FindAllStringSubmatch(string(text), -1) {
		blocks = append(blocks, match[1])
	}
	return blocks
}

// ends reports whether the block ends an open run, by cancel or terminate.
func ends(block string) bool {
	return regexp.MustCompile(`workflow (cancel|terminate)`).MatchString(block)
}

// isAboutEvents reports whether the block acts on a dead event.
func isAboutEvents(block string) bool {
	return strings.Contains(block, exampleWorkflow) || resets(block)
}

func resets(block string) bool { return strings.Contains(block, "reset") }

// startsAgain reports whether the block starts the workflow of a processed event again.
func startsAgain(block string) bool { return strings.Contains(block, "workflow start") }

// pagesOfCommands are the pages whose commands are run.
var pagesOfCommands = []string{"operations.md", "playbook.md", "retention.md", "keys-and-entities.md", "verify.md"}

// Every command of these pages does what the page says, with the real programs against the real server:
//   - those that end a run work without a worker
//   - after a definition has been corrected, each reset rescues its event, by ID, by query and by the list of dead letters
//   - starting a processed event again with its inputs processes it once more, without effect
//   - all others succeed
func TestTheDocumentedCommandsWork(t *testing.T) {
	t.Parallel()
	var blocks []string
	for _, page := range pagesOfCommands {
		found := documented(t, page)
		require.NotEmpty(t, found, "a page without commands tests nothing: %s", page)
		blocks = append(blocks, found...)
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "homemade.yaml")
	require.NoError(t, os.WriteFile(file, []byte(definitionOf("json")), 0o644))
	i := newInstallation(t, "HOLDFAST_PROVIDERS_DIR="+dir, "GITHUB_WEBHOOK_SECRET="+secret)
	n := i.start(t, "serve")
	var events []string
	dead := map[string]string{} // block → its event
	processed := ""             // the event that is started again: tctl accepts only JSON
	for _, block := range blocks {
		if startsAgain(block) {
			processed = i.sendNote(t, n, `{"n": 12345678901234567890}`)
			i.awaitStatus(t, processed, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED)
		} else if !ends(block) && isAboutEvents(block) {
			dead[block] = i.sendPoison(t, n)
			i.awaitStatus(t, dead[block], enumspb.WORKFLOW_EXECUTION_STATUS_FAILED)
			events = append(events, dead[block])
		}
	}
	i.awaitListed(t, len(dead))
	n.terminate(t)

	n = i.start(t, "ingress")
	for _, block := range blocks {
		if ends(block) {
			id := i.sendPoison(t, n)
			events = append(events, id)
			i.shell(t, n, block, id)
			if strings.Contains(block, "terminate") {
				i.awaitStatus(t, id, enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED)
			}
		}
	}

	require.NoError(t, os.WriteFile(file, []byte(definitionOf("text")), 0o644))
	i.start(t, "worker")
	i.awaitQuiet(t, events)
	// Blocks about one event come first: a batch would do their work.
	slices.SortStableFunc(blocks, func(a, b string) int {
		return strings.Count(b, exampleWorkflow) - strings.Count(a, exampleWorkflow)
	})
	for _, block := range blocks {
		if ends(block) {
			continue
		}
		if startsAgain(block) {
			i.startAgain(t, n, block, processed)
			continue
		}
		i.shell(t, n, block, dead[block])
		if resets(block) {
			i.awaitStatus(t, dead[block], enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED)
			i.awaitQuiet(t, events)
		}
	}
	i.awaitCount(t, time.Minute, 0, openDeadLetters+" AND error_code <> 'canceled' AND step <> 'run'")
}

// startAgain runs a block that starts a processed event again. Its row keeps its bytes, and gets the ID of the new run.
func (i *installation) startAgain(t *testing.T, n *node, block, workflowID string) {
	t.Helper()
	const row = "SELECT id::text, run_id, convert_from(raw_body, 'UTF8') FROM events WHERE workflow_id = $1"
	var before, after [3]string
	i.query(t, row, []any{workflowID}, &before[0], &before[1], &before[2])
	i.shell(t, n, block, workflowID)
	i.awaitStatus(t, workflowID, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED)
	i.query(t, row, []any{workflowID}, &after[0], &after[1], &after[2])
	require.NotEqual(t, before[1], after[1])
	before[1] = after[1]
	require.Equal(t, before, after)
}

func (i *installation) sendPoison(t *testing.T, n *node) (workflowID string) {
	t.Helper()
	return i.sendNote(t, n, poison)
}

func (i *installation) sendNote(t *testing.T, n *node, body string) (workflowID string) {
	t.Helper()
	id := uniqueID("msg")
	a := n.sendStandard(t, "/webhooks/homemade", id, []byte(body))
	require.Equal(t, 202, a.status, string(a.body))
	return "homemade:" + id
}

// awaitQuiet waits until no batch is in progress and no run of these events is open: Temporal can't reset a run whose first
// task isn't done, and a batch resets all.
func (i *installation) awaitQuiet(t *testing.T, events []string) {
	t.Helper()
	c := i.dial(t)
	eventually(t, busy*time.Minute, "all batches and runs have ended", func() error {
		batches, err := c.WorkflowService().ListBatchOperations(context.Background(),
			&workflowservice.ListBatchOperationsRequest{Namespace: i.namespace})
		if err != nil {
			return err
		}
		for _, batch := range batches.GetOperationInfo() {
			if batch.GetState() == enumspb.BATCH_OPERATION_STATE_RUNNING {
				return fmt.Errorf("the batch %s is under way", batch.GetJobId())
			}
		}
		for _, id := range events {
			found, err := c.DescribeWorkflowExecution(context.Background(), id, "")
			var gone *serviceerror.NotFound // deleted by a block
			if errors.As(err, &gone) {
				continue
			}
			if err != nil {
				return err
			}
			if found.GetWorkflowExecutionInfo().GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING {
				return fmt.Errorf("the run of %s is open", id)
			}
		}
		return nil
	})
}

// awaitListed waits until queries find this many failed runs.
func (i *installation) awaitListed(t *testing.T, n int) {
	t.Helper()
	c := i.dial(t)
	eventually(t, time.Minute, "the failed runs are listed", func() error {
		found, err := c.CountWorkflow(context.Background(), &workflowservice.CountWorkflowExecutionsRequest{
			Query: `WorkflowType = "ProcessEvent" AND ExecutionStatus = "Failed"`,
		})
		if err == nil && int(found.GetCount()) < n {
			err = errors.New("not yet")
		}
		return err
	})
}

// shell runs a block like an operator who has read the page: with the operator's own names and timeouts.
func (i *installation) shell(t *testing.T, n *node, block, workflowID string) {
	t.Helper()
	require.NoError(t, i.tryShell(t, n, block, workflowID))
}

func (i *installation) tryShell(t *testing.T, n *node, block, workflowID string) error {
	t.Helper()
	script := strings.NewReplacer(exampleWorkflow, workflowID, `"stripe"`, `"homemade"`, "--provider stripe", "--provider homemade",
		"https://staging.example", n.ingress, "--duration 5m", "--duration 2s",
		exampleTime, time.Now().Add(-time.Hour).UTC().Format(time.RFC3339)).Replace(block)
	temporalProgram, err := stacktest.TemporalBinary()
	require.NoError(t, err)
	programs := t.TempDir()
	for name, path := range map[string]string{
		"temporal": temporalProgram, "tctl": filepath.Join(root, "bin", "tctl"), "holdfast": holdfast,
		"holdfast-bench": benchProgram(t),
	} {
		require.NoError(t, os.Symlink(path, filepath.Join(programs, name)))
	}
	ctx, cancel := context.WithTimeout(context.Background(), busy*2*time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", script)
	command.Dir = programs
	command.Env = append(i.environment(), "PATH="+programs+":"+os.Getenv("PATH"),
		"TEMPORAL_CLI_ADDRESS="+i.temporal(), "TEMPORAL_CLI_NAMESPACE="+i.namespace)
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("%s\n%s%w", script, out, err)
	}
	return nil
}
