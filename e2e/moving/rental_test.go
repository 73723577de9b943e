package moving

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// rental is the rental backend. Times are ages: all of it happened before the test.
type rental struct {
	oldSystem

	now time.Time
}

func (r *rental) at(ago time.Duration) string { return quote(r.now.Add(-ago).Format(time.RFC3339Nano)) }

// event inserts a row of an event, with what this system noted next to it.
func (r *rental) event(t *testing.T, id int, ago time.Duration, body []byte) {
	t.Helper()
	name := eventOf(t, body)
	entity, action, _ := strings.Cut(name, "_")
	r.exec(t, fmt.Sprintf("INSERT INTO rentprog_webhook_events VALUES (%d, %s, %s, %s, %s, %s, 'tbilisi', '12', %s, %s)", id, r.at(ago),
		quote(name), quote(entity), quote(action), quote(idOf(t, body)), quote("Изменение "+fmt.Sprint(id)), quote(string(body))))
}

// dead inserts a dead letter; eventID is "" where it has none.
func (r *rental) dead(t *testing.T, status string, ago time.Duration, eventID string, body []byte) {
	t.Helper()
	r.exec(t, fmt.Sprintf(
		"INSERT INTO rentprog_webhook_dead (created_at, payload, error, status, event_id, event_name, retry_count, last_retry_at)"+
			" VALUES (%s, %s, 'timeout of the database', %s, nullif(%s, ''), %s, 2, %s)",
		r.at(ago), quote(string(body)), quote(status), quote(eventID), quote(eventOf(t, body)), r.at(ago/2)))
}

// car is an update of a car, as RentProg sends it.
func car(id int, changes string) []byte {
	return fmt.Appendf(nil, `{"event":"car_update","payload":"{\"id\"=>%d, %s}"}`, id, strings.ReplaceAll(changes, `"`, `\"`))
}

// A rental backend moves in, with rows in every status, and its events also go to Holdfast from now on:
//   - what is exported and imported is there once: nothing is lost, and nothing that came alive is there twice
//   - nothing runs and nothing is delivered, until an operator says so after the cut-over
//   - what RentProg sends again is a duplicate, or rescues what had failed
//   - what failed is delivered once; a change that came before a later one takes its place before it
//   - at the end the two have the same, but for what has been processed here only
func TestTheRentalBackendMovesIn(t *testing.T) {
	t.Parallel()
	old := &rental{oldSystem: newOldPostgres(t, "rental"), now: time.Now().UTC()}
	created, updated, driven := fixture(t, "rental/booking_create"), fixture(t, "rental/booking_update"), fixture(t, "rental/car_update")
	const hour, minute = time.Hour, time.Minute
	// In the table of events: processed, failed at the upsert, given up, and rescued by a replay or by the system itself.
	old.event(t, 1, 72*hour, driven)
	old.event(t, 2, 48*hour, created)
	old.event(t, 3, 24*hour, updated)
	old.dead(t, "worker_fail", 24*hour-minute, "3", updated)
	given := []byte(`{"event":"client_update","payload":"{\"id\"=>300001, \"phone\"=>[nil, \"+995\"]}"}`)
	old.event(t, 4, 20*hour, given)
	old.dead(t, "max_retries", 20*hour-minute, "4", given)
	old.event(t, 5, 10*hour, car(65002, `"mileage"=>[1, 2]`))
	old.dead(t, "replayed", 10*hour-minute, "5", car(65002, `"mileage"=>[1, 2]`))
	old.event(t, 6, 9*hour, car(65003, `"mileage"=>[1, 2]`))
	old.dead(t, "processed", 9*hour-minute, "", car(65003, `"mileage"=>[1, 2]`))
	// A replay that failed: its first row is replayed, the second one waits.
	old.event(t, 7, 8*hour, car(65004, `"mileage"=>[1, 2]`))
	old.dead(t, "replayed", 8*hour-minute, "7", car(65004, `"mileage"=>[1, 2]`))
	old.dead(t, "worker_fail", 7*hour, "7", car(65004, `"mileage"=>[1, 2]`))
	// It failed before it had a row, and the same car changed after it.
	noted := car(65001, `"note"=>[nil, "scratch"], "mileage"=>[102000, 102500]`)
	old.dead(t, "worker_fail", 5*hour, "", noted)
	old.event(t, 8, 4*hour, car(65001, `"mileage"=>[102500, 103000]`))
	old.exec(t, "INSERT INTO rentprog_cars VALUES (65001, '{\"id\": 65001, \"plate\": \"A 1\", \"mileage\": 103000}', "+old.at(4*hour)+")")
	old.exec(t, "INSERT INTO rentprog_clients VALUES (300001, '{\"id\": 300001, \"name\": \"Ada\"}', "+old.at(30*hour)+")")
	old.exec(t, "INSERT INTO rentprog_bookings VALUES (500001, '{\"id\": 500001, \"price\": 150.5}', "+old.at(48*hour)+")")
	// Rescued, and not in the table of events; only in the error log; of no shape that anybody reads.
	old.dead(t, "replayed", 3*hour, "", car(65005, `"mileage"=>[1, 2]`))
	logged := car(65006, `"mileage"=>[1, 2]`)
	for _, body := range [][]byte{logged, logged, driven} {
		old.exec(t, "INSERT INTO rentprog_webhook_error_log (created_at, phase, kind, error, payload) VALUES ("+old.at(6*hour)+
			", 'parse', 'Error', 'no id', "+quote(string(body))+")")
	}
	old.exec(t, "INSERT INTO rentprog_webhook_error_log (phase, kind, error) VALUES ('ws', 'Error', 'closed')")
	unreadable := []byte(`{"event":"car_update","payload":"{\"id\"=>7, \"note\"=>\"cut off"}`)
	old.dead(t, "worker_fail", 6*hour, "", unreadable)
	// Twice the same within 15 minutes: two events, whose headers this system has not kept.
	old.event(t, 9, 2*hour, car(65007, `"open"=>[true, false]`))
	old.event(t, 10, 2*hour-5*minute, car(65007, `"open"=>[true, false]`))
	// A moment ago.
	recent, recentDead := car(65008, `"mileage"=>[1, 2]`), car(65009, `"mileage"=>[1, 2]`)
	old.event(t, 11, 3*minute, recent)
	old.event(t, 12, 2*minute, recentDead)
	old.dead(t, "worker_fail", minute, "12", recentDead)

	i := start(t, "RENTPROG_WEBHOOK_TOKEN=token-of-the-test", "UMNICO_WEBHOOK_TOKEN=token-of-the-test", "HOLDFAST_REDRIVE_INTERVAL=1s")
	crm := newEndpoint(t)
	i.subscribe(t, crm, "rentprog", false)
	send := func(body []byte) (eventID, status string) {
		return i.post(t, "/webhooks/rentprog/token-of-the-test", body)
	}

	// The shadow: both get these. The old system fails at one of them.
	both, only := car(65010, `"mileage"=>[1, 2]`), car(65011, `"mileage"=>[1, 2]`)
	live, _ := send(both)
	send(only)
	i.post(t, "/webhooks/umnico/token-of-the-test", fixture(t, "rental/umnico_message.incoming"))
	i.settle(t)
	old.now = time.Now().UTC()
	old.event(t, 13, 0, both)
	old.dead(t, "worker_fail", 0, "", only)

	file := i.write(t, "rental.ndjson", old.export(t, filepath.Join(root, "docs", "moving", "rental.sql")))
	before := i.contents(t)
	require.Contains(t, i.mustRun(t, "import", file, "--dry-run"), "nothing is changed")
	require.Equal(t, before, i.contents(t))
	done := i.importFile(t, file)
	require.Equal(t, "event 9 new, 1 there; dead_letter 7 new, 1 there; entity 3 new, 0 there", counted(done))
	require.Equal(t, 12, i.count(t, processedEvents), "with the three that came alive")
	require.Equal(t, 7, i.count(t, openDeadLetters))
	require.Equal(t, 2, i.count(t, "SELECT count(*) FROM dead_letters WHERE state = 'exhausted'"), "given up, and only in the error log")
	require.Equal(t, 1, i.count(t, "SELECT count(*) FROM dead_letters WHERE error_message = 'timeout of the database' AND attempts = 3 AND type = 'client_update'"))
	require.JSONEq(t, `{"id":65001,"plate":"A 1","mileage":103000,"action":"update","last_event":
		{"name":"car_update","branch":"tbilisi","actor_id":"12","description":"Изменение 8"}}`, i.entity(t, "rentprog", "car", "65001"))

	i.awaitRedriveLooks(t)
	require.Equal(t, 7, i.count(t, openDeadLetters))
	i.requireDelivered(t, crm)
	differences, isSame := i.compare(t, file)
	require.False(t, isSame)
	require.Equal(t, []string{`dead_letter status car_update status "waits" "processed"`}, differences)

	// The cut-over.
	i.subscribe(t, crm, "rentprog", true)
	require.Equal(t, 12, i.count(t, processedEvents))
	for _, body := range [][]byte{both, only, recent} {
		send(body)
	}
	i.settle(t)
	require.Equal(t, 12, i.count(t, allEvents), "they are duplicates")
	i.requireDelivered(t, crm)
	send(recentDead)
	i.settle(t)
	i.awaitCount(t, 6, openDeadLetters)
	rescued := i.eventOf(t, "car", "65009")
	i.requireDelivered(t, crm, rescued)
	again, _ := send(car(65002, `"mileage"=>[1, 2]`)) // after ten hours it is another event, which is marked
	i.settle(t)
	require.Equal(t, 1, i.count(t, "SELECT count(*) FROM events WHERE id = $1::uuid AND possible_duplicate_of IS NOT NULL", again))

	i.redrive(t, "rentprog", 1)
	delivered := []string{rescued, again, i.eventOf(t, "car", "65004"), i.eventOf(t, "car", "65006")}
	delivered = append(delivered, i.eventsOf(t, "client", "300001", "client_update", "")...)
	delivered = append(delivered, i.eventsOf(t, "car", "65001", "", "note")...)
	delivered = append(delivered, i.eventsOf(t, "booking", "500001", "booking_update", "")...)
	require.Len(t, delivered, 7)
	i.requireDelivered(t, crm, delivered...)
	require.NotContains(t, crm.received(), live)
	require.Contains(t, i.entity(t, "rentprog", "car", "65001"), `"scratch"`)

	differences, _ = i.compare(t, file)
	require.Equal(t, append([]string{`dead_letter status booking_update status "waits" "processed"`},
		append(slices.Repeat([]string{`dead_letter status car_update status "waits" "processed"`}, 5),
			`dead_letter status client_update status "waits" "processed"`)...), differences)
	before = i.contents(t)
	require.Equal(t, "event 0 new, 10 there; dead_letter 0 new, 8 there; entity 0 new, 3 there", counted(i.importFile(t, file)))
	require.Equal(t, before, i.contents(t))
}

// RentProg sends IDs of events in headers, which the old tables don't have: its events in them can't be found again. So the export ends
// where the shadow begins.
func TestTheExportEndsWhereTheShadowBegins(t *testing.T) {
	t.Parallel()
	old := &rental{oldSystem: newOldPostgres(t, "rental"), now: time.Now().UTC()}
	before, after := car(1, `"mileage"=>[1, 2]`), car(2, `"mileage"=>[1, 2]`)
	old.event(t, 1, time.Hour, before)
	old.event(t, 2, 0, after)
	old.dead(t, "worker_fail", -time.Minute, "2", after)
	i := start(t, "RENTPROG_WEBHOOK_TOKEN=token-of-the-test")
	i.post(t, "/webhooks/rentprog/token-of-the-test", after, "X-Event-Id", "e2")
	i.settle(t)
	query := i.write(t, "since.sql", []byte("\\set shadow "+old.now.Add(-time.Minute).Format(time.RFC3339)+"\n\\i "+
		filepath.Join(root, "docs", "moving", "rental.sql")+"\n"))
	file := i.write(t, "rental.ndjson", old.export(t, query))
	require.Equal(t, "event 1 new, 0 there", counted(i.importFile(t, file)))
	differences, isSame := i.compare(t, file)
	require.True(t, isSame, differences)
}
