package importer

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// replayOfTheGuide is the guide's command for dead letters of the shadow.
var replayOfTheGuide = regexp.MustCompile("`holdfast (dlq replay --provider NAME --code CODE)`")

// replayFailedHere replays the dead letters that failed here, as the guide describes.
func (i *installation) replayFailedHere(t *testing.T, provider, code string) {
	t.Helper()
	guide, err := os.ReadFile(filepath.Join(root, "docs", "moving.md"))
	require.NoError(t, err)
	found := replayOfTheGuide.FindSubmatch(guide)
	require.NotNil(t, found, "the guide's command")
	command := strings.NewReplacer("NAME", provider, "CODE", code).Replace(string(found[1]))
	i.mustRun(t, append(strings.Fields(command), "--yes", "--reason", "moving in")...)
	i.settle(t)
}

// Two events fail here while both systems run. The old system has processed one of them, and gives up on the other. Following the
// guide, the first is never delivered, and the second is delivered once.
func TestEventsThatFailInTheShadowAreDeliveredOnce(t *testing.T) {
	t.Parallel()
	i := start(t, "EVOLUTION_WEBHOOK_TOKEN=token-of-the-test", "HOLDFAST_REPLAY_AUTOMATIC=false")
	crm := newEndpoint(t)
	i.subscribe(t, crm, "evolution", false)
	execute(t, i.database, `CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'full'; END $$;
		CREATE TRIGGER fail BEFORE INSERT OR UPDATE ON events FOR EACH ROW WHEN (NEW.status = 'processed') EXECUTE FUNCTION fail()`)
	processed, givenUp := chatOf(t, "PROCESSED"), chatOf(t, "GIVENUP")
	for _, body := range [][]byte{processed, givenUp} {
		i.post(t, "/webhooks/evolution/"+shop, body, "X-Webhook-Token", "token-of-the-test")
	}
	i.awaitCount(t, 2, openDeadLetters)
	execute(t, i.database, "DROP TRIGGER fail ON events")

	file := i.write(t, "last.ndjson", append(line(t, "event", processed), line(t, "dead_letter", givenUp)...))
	require.Equal(t, "event 0 new, 1 there; dead_letter 0 new, 1 there", counted(i.importFile(t, file)))
	differences, _ := i.compare(t, file)
	require.Equal(t, []string{`event status messages.upsert status "processed" "waits"`}, differences)
	i.replayFailedHere(t, "evolution", "sqlstate_P0001")
	differences, _ = i.compare(t, file)
	require.Equal(t, []string{`dead_letter status messages.upsert status "waits" "processed"`}, differences)
	unsent := i.onlyProcessedHere(t, file)

	i.subscribe(t, crm, "evolution", true)
	i.mustRun(t, "dlq", "replay", "--provider", "evolution", "--yes", "--reason", "moving in")
	i.send(t, unsent, "all")
	i.requireDelivered(t, crm, i.eventOf(t, "message", shop+":GIVENUP"))
}

// line returns a record of an event that the old system received a minute ago.
func line(t *testing.T, record string, body []byte) []byte {
	t.Helper()
	text, err := json.Marshal(map[string]any{
		"record": record, "provider": "evolution", "body": string(body), "received_at": time.Now().Add(-minute).UTC(),
	})
	require.NoError(t, err)
	return fmt.Appendln(text)
}
