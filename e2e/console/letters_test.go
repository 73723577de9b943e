package console

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/operator/access"
)

// broken is a provider whose entity IDs fail in two ways: for a body with the ID "rule" the expression fails, which is retried
// for half a minute, and an ID with a line end violates the contract, which isn't retried. Neither is replayed automatically.
const broken = `
name: broken
extends: standard-webhooks
type: .body.type // "note"
occurred_at: []
redact: [.body.secret]
replay: {base: 24h}
entities:
  - kind: note
    id: if .body.id == "rule" then (.body.id | tonumber | tostring) else .body.id end
    op: snapshot
    state: .body
`

// bury creates dead letters of broken, each of the same type, and returns their numbers.
func bury(t *testing.T, kind string, n int) []string {
	t.Helper()
	return buryFor(t, kind, n, "bad\n")
}

// buryFor creates dead letters whose entities have an ID. All are sent before the first is awaited.
func buryFor(t *testing.T, kind string, n int, id string) (letters []string) {
	t.Helper()
	var events []string
	for range n {
		body := fmt.Sprintf(`{"type":%q,"id":%q,"amount":1.10,"big":12345678901234567890}`, kind, id)
		events = append(events, holdfast.sendTo(t, "broken", uniqueID("evt"), body))
	}
	for _, event := range events {
		e := holdfast.awaitEvent(t, event, "a dead letter", func(e eventOf) bool { return len(e.DeadLetters) == 1 })
		letters = append(letters, strconv.FormatInt(e.DeadLetters[0].ID, 10))
	}
	return letters
}

// stateOf returns the state of a dead letter.
func stateOf(t *testing.T, id string) string {
	t.Helper()
	var letter struct {
		State string `json:"state"`
	}
	require.Equal(t, 200, holdfast.api(t, "GET", "/dead-letters/"+id, &letter))
	return letter.State
}

func TestDeadLettersAreGroupedByCause(t *testing.T) {
	t.Parallel()
	ids := buryFor(t, uniqueID("grouped"), 2, "rule")
	b := newBrowser(t).as(access.RoleViewer)
	require.Equal(t, 200, b.open("/console/dead-letters?provider=broken"))
	require.Equal(t, "Dead letters · Holdfast", b.title())
	require.Contains(t, b.page(), "entities[0].id")
	require.Contains(t, b.page(), "jq_failed")
	b.requireAccessible()

	b.submit(`a[href*="code=jq_failed"][href*="/list?"]`)
	require.Contains(t, b.path(), "/console/dead-letters/list?class=failed&code=jq_failed&provider=broken&rule=entities%5B0%5D.id&step=")
	for _, id := range ids {
		require.Equal(t, 1, b.count(`a[href="/console/dead-letters/`+id+`"]`))
	}
	require.Zero(t, b.count("input[name=id]"), "a viewer changes nothing")
	b.requireAccessible()

	b.submit(`a[href="/console/dead-letters/` + ids[0] + `"]`)
	require.Equal(t, "Dead letter "+ids[0]+" · Holdfast", b.title())
	require.Contains(t, b.page(), "evaluate entities[0].id")
	require.Contains(t, b.text("#text"), "12345678901234567890", "no number loses its digits")
	require.Contains(t, b.text("#text"), "1.10")
	require.Zero(t, b.count("main form"))
	b.requireAccessible()
}

func TestOneDeadLetterIsDiscardedReopenedAndReplayed(t *testing.T) {
	t.Parallel()
	id := bury(t, uniqueID("one"), 1)[0]
	b := newBrowser(t).withoutScripts().as(access.RoleOperator)
	b.open("/console/dead-letters/" + id)
	b.submit(`a[href$="/discard"]`)
	require.Equal(t, "Discard dead letter "+id+" · Holdfast", b.title())
	b.fill("#reason", "a test of the sender")
	b.submit(".confirm button")
	require.Equal(t, "/console/dead-letters/"+id, b.path(), "one lands on the result")
	require.Contains(t, b.page(), "Discarded.")
	require.Contains(t, b.page(), "a test of the sender")
	require.Equal(t, "discarded", stateOf(t, id))
	require.Contains(t, b.page(), "dead_letter.discard")

	b.submit(`a[href$="/reopen"]`)
	b.submit(".confirm button")
	require.Contains(t, b.page(), "Reopened.")
	require.Equal(t, "open", stateOf(t, id))

	b.submit(`form[action$="/replay"] button`)
	require.True(t, strings.HasPrefix(b.path(), "/console/events/"), b.path())
	require.Contains(t, b.page(), "A run of the event was started")
	eventually(t, "the second failure", func() error {
		var letter struct {
			Failures int `json:"failures"`
		}
		if holdfast.api(t, "GET", "/dead-letters/"+id, &letter); letter.Failures != 2 {
			return fmt.Errorf("it is %+v", letter)
		}
		return nil
	})
}

func TestADiscardNeedsAReason(t *testing.T) {
	t.Parallel()
	id := bury(t, uniqueID("reason"), 1)[0]
	b := newBrowser(t).as(access.RoleOperator)
	b.open("/console/dead-letters/" + id + "/discard")
	b.requireAccessible()
	b.fill("#reason", " ")
	require.Equal(t, 400, b.submit(".confirm button"))
	require.Contains(t, b.page(), "reason")
	require.Equal(t, "open", stateOf(t, id))
	viewer := newBrowser(t).as(access.RoleViewer)
	require.Equal(t, 403, viewer.open("/console/dead-letters/"+id+"/discard"))
}

// Actions apply exactly to the selected rows.
func TestActionsApplyToTheSelection(t *testing.T) {
	t.Parallel()
	kind := uniqueID("selected")
	ids := bury(t, kind, 3)
	list := "/console/dead-letters/list?state=open&type=" + kind
	b := newBrowser(t).withoutScripts().as(access.RoleOperator)
	b.open(list)
	require.Equal(t, "Replay all 3 that match", b.text("#all"))
	b.submit(`button[value=discard]`)
	require.Contains(t, b.page(), "Nothing was selected.")
	b.click(`input[value="` + ids[0] + `"]`)
	b.click(`input[value="` + ids[2] + `"]`)
	b.submit(`button[value=discard]`)
	require.Equal(t, "Discard the 2 selected · Holdfast", b.title())
	b.fill("#reason", "a test of the sender")
	b.submit(".confirm button")
	require.Contains(t, b.page(), "2 of the 2 selected were discarded.")
	require.Contains(t, b.path(), "type="+kind, "one is where one was")
	require.Equal(t, 1, b.count("input[name=id]"))
	require.Equal(t, []string{"discarded", "open", "discarded"},
		[]string{stateOf(t, ids[0]), stateOf(t, ids[1]), stateOf(t, ids[2])})

	b.open("/console/dead-letters/selected?do=replay&id=" + ids[0] + "&id=" + ids[1])
	b.submit(".confirm button")
	require.Contains(t, b.page(), "1 of the 2 selected were run again.")
	require.Contains(t, b.page(), ids[0]+": ", "it says which one was refused")
}

// A replay of all matches: plan, run, watch. If something has changed since the plan was shown, it is shown again.
func TestAReplayFromItsPlanToItsEnd(t *testing.T) {
	t.Parallel()
	kind := uniqueID("replayed")
	bury(t, kind, 2)
	b := newBrowser(t).as(access.RoleOperator)
	b.open("/console/dead-letters/list?state=open&type=" + kind)
	b.submit("#all")
	require.Contains(t, b.page(), "2 dead letters match")
	b.requireAccessible()
	bury(t, kind, 1)
	b.submit(".confirm button")
	require.Contains(t, b.page(), "2 matched when you opened the plan")
	b.fill("#reason", "the definition is mended")
	b.submit(".confirm button")
	require.True(t, strings.HasPrefix(b.path(), "/console/operations/replays/"), b.path())
	require.Contains(t, b.page(), "Replaying 3 dead letters.")
	b.requireAccessible()
	b.await("#progress", "completed")
	require.Contains(t, b.text("#progress"), "100 %")
	require.Contains(t, b.text("#counts + dl"), "Failed again\n3")
	require.Zero(t, b.count(`form[action$="/pause"]`))
	b.open("/console/operations")
	require.Contains(t, b.page(), kind)
	b.requireAccessible()
}

func TestAReplayIsPausedAndCanceled(t *testing.T) {
	t.Parallel()
	kind := uniqueID("paused")
	bury(t, kind, 3)
	b := newBrowser(t).withoutScripts().as(access.RoleOperator)
	b.open("/console/dead-letters/replay?type=" + kind)
	b.fill("#rate", "0.01")
	b.submit(".confirm button")
	at := b.path()
	b.submit(`form[action$="/pause"] button`)
	require.Contains(t, b.page(), "Paused.")
	require.Equal(t, "paused", b.text("#state"))
	b.submit(`form[action$="/resume"] button`)
	require.Equal(t, "running", b.text("#state"))
	b.submit(`a[href$="/cancel"]`)
	require.Contains(t, b.page(), "can't be undone")
	b.submit(".confirm button")
	require.Equal(t, at, b.path())
	require.Equal(t, "canceled", b.text("#state"))
	require.Equal(t, 404, b.open("/console/operations/replays/nothing"))
	require.Equal(t, 404, b.open("/console/operations/nothing/1"))
	viewer := newBrowser(t).as(access.RoleViewer)
	viewer.open(at)
	require.Zero(t, viewer.count("main form"))
}

// fixable is a provider whose mapping a test breaks and fixes.
const fixable = `
name: fixable
extends: standard-webhooks
type: .body.type // "note"
occurred_at: []
entities:
  - kind: note
    id: .body.number
    op: snapshot
    state: .body
`

// unkeyed is a provider whose key names a field that its events don't have, until a test corrects it.
const unkeyed = `
name: unkeyed
extends: standard-webhooks
type: '"note"'
occurred_at: []
key:
  certainty: certain
  parts: [.body.number]
`

// define changes a definition while Holdfast runs, and waits until the provider's page shows a part of it.
func define(t *testing.T, b *browser, provider, definition, part string) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(holdfast.dir, "providers", provider+".yaml"), []byte(definition), 0o644))
	holdfast.reload(t)
	eventually(t, "the changed definition", func() error {
		b.open("/console/providers/" + provider)
		if page := b.page(); !strings.Contains(page, part) {
			return errors.New(page)
		}
		return nil
	})
}

// The mapping of a provider works, then someone breaks it: a text of two lines is no ID. In the console, an operator sees what has
// failed and why, asks whether a replay would succeed before and after the definition is fixed, replays, follows the event to its
// end, and finds the entity as the event says.
func TestABrokenMappingIsUnderstoodFixedAndReplayed(t *testing.T) {
	t.Parallel()
	b := newBrowser(t).as(access.RoleOperator)
	draft := holdfast.sendTo(t, "fixable", uniqueID("evt"), `{"number":"n-1","status":"draft","text":"one line"}`)
	holdfast.awaitEvent(t, draft, "processed", func(e eventOf) bool { return e.Status == "processed" })
	define(t, b, "fixable", strings.Replace(fixable, "id: .body.number", "id: .body.text", 1), ".body.text")
	event := holdfast.sendTo(t, "fixable", uniqueID("evt"),
		`{"number":"n-1","status":"paid","text":"two\nlines","nested":{"a":[1,2.50,true,null],"b":{}}}`)
	e := holdfast.awaitEvent(t, event, "a dead letter", func(e eventOf) bool { return len(e.DeadLetters) == 1 })
	path := fmt.Sprintf("/console/dead-letters/%d", e.DeadLetters[0].ID)

	b.open("/console/dead-letters?provider=fixable")
	require.Contains(t, b.page(), "entities[0].id")
	b.submit(`a[href="` + path + `"]`)
	require.Zero(t, b.count("#tried"))
	b.submit(`a[href*="try="]`)
	require.Contains(t, b.text("#tried"), "Parsing would fail again: ")
	require.Contains(t, b.text("#tried"), "entities[0].id")
	b.requireAccessible()

	define(t, b, "fixable", fixable, ".body.number")
	b.open(path)
	b.submit(`a[href*="try="]`)
	require.Contains(t, b.text("#tried"), "Parsing would succeed, with these changes")
	require.Contains(t, b.text("#tried"), "n-1")
	b.requireAccessible()
	require.Equal(t, "open", stateOf(t, strconv.FormatInt(e.DeadLetters[0].ID, 10)), "trying changes nothing")
	require.Contains(t, b.text("#text"), "2.50")
	b.click("pre.json .line:nth-child(5) button.fold")
	require.NotContains(t, b.text("#text"), "2.50", "it is folded")
	require.Contains(t, b.text("#text"), "n-1")

	b.submit(`form[action$="/replay"] button`)
	require.Equal(t, "/console/events/"+event, b.path())
	b.await("#status", "processed")
	b.submit(`a[href="/console/entities/fixable/note/n-1"]`)
	require.Regexp(t, `status\s+"?paid`, b.text("section[aria-labelledby=origins]"))
	require.Contains(t, b.text("section[aria-labelledby=timeline]"), "draft", "and what it was before")
	b.requireAccessible()
	viewer := newBrowser(t).as(access.RoleViewer)
	viewer.open(path + "?try=yes")
	require.Zero(t, viewer.count("#tried"), "the result has content that viewers may not see")
}

// An event dies because its definition finds no key. Once the definition is corrected and the event is replayed, the event is found
// by its new key, in the console and in the API, and the page at its old address shows both keys.
func TestACorrectedEventIsFoundByItsNewKey(t *testing.T) {
	t.Parallel()
	b := newBrowser(t).as(access.RoleOperator)
	key := uniqueID("note")
	event := holdfast.sendTo(t, "unkeyed", uniqueID("evt"), fmt.Sprintf(`{"id":%q}`, key))
	holdfast.awaitEvent(t, event, "a dead letter", func(e eventOf) bool { return len(e.DeadLetters) == 1 })
	page := "/console/events/" + event
	b.open(page)
	require.Contains(t, b.page(), "the definition finds none")
	old := regexp.MustCompile(`unkeyed:missing:[0-9a-f]+`).FindString(b.page())
	require.NotEmpty(t, old)

	define(t, b, "unkeyed", strings.Replace(unkeyed, ".body.number", ".body.id", 1), ".body.id")
	b.open(page)
	b.submit(`form[action$="/replay"] button`)
	b.await("#status", "processed")
	for _, text := range []string{key, "unkeyed:" + key, old} {
		b.open("/console/find?" + url.Values{"q": {text}}.Encode())
		require.Equal(t, page, b.path(), text)
	}
	for _, name := range []string{old, "unkeyed:" + key} {
		b.open("/console/events/" + name)
		require.Contains(t, b.page(), key+" Copy by the corrected definition", name)
		require.Regexp(t, `Accepted with the key\s+missing:`, b.page(), name)
		b.requireAccessible()
		var found struct {
			ID           string `json:"id"`
			CorrectedKey string `json:"corrected_key"`
		}
		require.Equal(t, 200, holdfast.api(t, "GET", "/events/"+name, &found), name)
		require.Equal(t, event, found.ID, name)
		require.Equal(t, key, found.CorrectedKey, name)
	}
	var list struct {
		Items []struct {
			ID string `json:"id"`
		} `json:"items"`
	}
	require.Equal(t, 200, holdfast.api(t, "GET", "/events?key="+key, &list))
	require.Len(t, list.Items, 1)
	require.Equal(t, event, list.Items[0].ID)
}
