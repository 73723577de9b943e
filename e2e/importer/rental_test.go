package importer

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// rental is the rental backend. Times are ages: everything happened before the test.
type rental struct {
	oldSystem

	now time.Time
}

func (r *rental) at(ago time.Duration) string { return quote(r.now.Add(-ago).Format(time.RFC3339Nano)) }

// event inserts a row of an event, with the system's notes about it.
func (r *rental) event(t *testing.T, id int, ago time.Duration, body []byte) {
	t.Helper()
	name := eventOf(t, body)
	entity, action, _ := strings.Cut(name, "_")
	r.exec(t, fmt.Sprintf("INSERT INTO rentprog_webhook_events VALUES (%d, %s, %s, %s, %s, %s, 'tbilisi', '12', %s, %s)", id, r.at(ago),
		quote(name), quote(entity), quote(action), quote(idOf(t, body)), quote("Изменение "+fmt.Sprint(id)), quote(string(body))))
}

// dead inserts a dead letter; eventID is "" if it has none.
func (r *rental) dead(t *testing.T, status string, ago time.Duration, eventID string, body []byte) {
	t.Helper()
	r.exec(t, fmt.Sprintf(
		"INSERT INTO rentprog_webhook_dead (created_at, payload, error, status, event_id, event_name, retry_count, last_retry_at)"+
			" VALUES (%s, %s, 'timeout of the database', %s, nullif(%s, ''), %s, 2, %s)",
		r.at(ago), quote(string(body)), quote(status), quote(eventID), quote(eventOf(t, body)), r.at(ago/2)))
}

// logged inserts a body into the error log.
func (r *rental) logged(t *testing.T, ago time.Duration, body []byte) {
	t.Helper()
	r.exec(t, "INSERT INTO rentprog_webhook_error_log (created_at, phase, kind, error, payload) VALUES ("+r.at(ago)+
		", 'parse', 'Error', 'no id', "+quote(string(body))+")")
}

func (r *rental) entity(t *testing.T, table string, id int, ago time.Duration, data string) {
	t.Helper()
	r.exec(t, fmt.Sprintf("INSERT INTO rentprog_%s VALUES (%d, %s, %s)", table, id, quote(data), r.at(ago)))
}

// car returns an update of a car, as RentProg sends it.
func car(id int, changes string) []byte {
	return fmt.Appendf(nil, `{"event":"car_update","payload":"{\"id\"=>%d, %s}"}`, id, strings.ReplaceAll(changes, `"`, `\"`))
}

const (
	hour, minute = time.Hour, time.Minute
)

// Bodies of RentProg in addition to the fixtures.
var (
	givenUp    = []byte(`{"event":"client_update","payload":"{\"id\"=>300001, \"phone\"=>[nil, \"+995\"]}"}`)
	unreadable = []byte(`{"event":"car_update","payload":"{\"id\"=>7, \"note\"=>\"cut off"}`)
	recent     = car(65008, `"mileage"=>[1, 2]`)
	recentDead = car(65009, `"mileage"=>[1, 2]`)
	both       = car(65010, `"mileage"=>[1, 2]`) // arrives live, and the old system processes it, too
	failsThere = car(65011, `"mileage"=>[1, 2]`) // arrives live, and fails in the old system
)

// fill inserts rows in every status.
func (r *rental) fill(t *testing.T) {
	t.Helper()
	created, updated, driven := fixture(t, "rental/booking_create"), fixture(t, "rental/booking_update"), fixture(t, "rental/car_update")
	// In the table of events: processed, failed at the upsert, given up, and rescued by a replay or by the system itself.
	r.event(t, 1, 72*hour, driven)
	r.event(t, 2, 48*hour, created)
	r.event(t, 3, 24*hour, updated)
	r.dead(t, "worker_fail", 24*hour-minute, "3", updated)
	r.event(t, 4, 20*hour, givenUp)
	r.dead(t, "max_retries", 20*hour-minute, "4", givenUp)
	r.event(t, 5, 10*hour, car(65002, `"mileage"=>[1, 2]`))
	r.dead(t, "replayed", 10*hour-minute, "5", car(65002, `"mileage"=>[1, 2]`))
	r.event(t, 6, 9*hour, car(65003, `"mileage"=>[1, 2]`))
	r.dead(t, "processed", 9*hour-minute, "", car(65003, `"mileage"=>[1, 2]`))
	// A failed replay: its first row is replayed, the second one waits.
	r.event(t, 7, 8*hour, car(65004, `"mileage"=>[1, 2]`))
	r.dead(t, "replayed", 8*hour-minute, "7", car(65004, `"mileage"=>[1, 2]`))
	r.dead(t, "worker_fail", 7*hour, "7", car(65004, `"mileage"=>[1, 2]`))
	// It failed before it had a row, and the same car changed after it.
	r.dead(t, "worker_fail", 5*hour, "", car(65001, `"note"=>[nil, "scratch"], "mileage"=>[102000, 102500]`))
	r.exec(t, "UPDATE rentprog_webhook_dead SET event_name = NULL WHERE created_at = "+r.at(5*hour))
	r.event(t, 8, 4*hour, car(65001, `"mileage"=>[102500, 103000]`))
	r.entity(t, "cars", 65001, 4*hour, `{"id": 65001, "plate": "A 1", "mileage": 103000}`)
	r.entity(t, "clients", 300001, 30*hour, `{"id": 300001, "name": "Ada"}`)
	r.entity(t, "bookings", 500001, 48*hour, `{"id": 500001, "price": 150.5}`)
	// Rescued, and not in the table of events; of an unknown shape; only in the error log, which has another one of an event.
	r.dead(t, "replayed", 3*hour, "", car(65005, `"mileage"=>[1, 2]`))
	r.dead(t, "worker_fail", 6*hour, "", unreadable)
	r.logged(t, 6*hour, car(65006, `"mileage"=>[1, 2]`))
	r.logged(t, 6*hour, car(65006, `"mileage"=>[1, 2]`))
	r.logged(t, 72*hour-minute, driven)
	r.exec(t, "INSERT INTO rentprog_webhook_error_log (phase, kind, error) VALUES ('ws', 'Error', 'closed')")
	r.fillHoursApart(t)
	// Two equal ones within 15 minutes: two events, whose headers this system has not kept.
	r.event(t, 9, 2*hour, car(65007, `"open"=>[true, false]`))
	r.event(t, 10, 2*hour-5*minute, car(65007, `"open"=>[true, false]`))
	// It failed hours ago, and another event with the same body arrives live.
	r.dead(t, "worker_fail", 6*hour, "", both)
	// A moment ago.
	r.event(t, 11, 3*minute, recent)
	r.event(t, 12, 2*minute, recentDead)
	r.dead(t, "worker_fail", minute, "12", recentDead)
}

// fillHoursApart inserts rows with one body, hours apart: some are of one event, and some of two.
func (r *rental) fillHoursApart(t *testing.T) {
	t.Helper()
	// The replay that rescued it created its row in the table of events.
	r.dead(t, "replayed", 5*hour, "", car(65020, `"mileage"=>[1, 2]`))
	r.event(t, 20, 149*minute, car(65020, `"mileage"=>[1, 2]`))
	// It never had a row, and a replay failed.
	r.dead(t, "replayed", 8*hour, "", car(65021, `"mileage"=>[1, 2]`))
	r.dead(t, "worker_fail", 4*hour-minute, "", car(65021, `"mileage"=>[1, 2]`))
	// Lost, and the same car changed after it.
	r.logged(t, 7*hour, car(65022, `"note"=>[nil, "dent"]`))
	r.entity(t, "cars", 65022, 5*hour, `{"id": 65022, "plate": "B 2"}`)
	// Lost twice, lost after it had succeeded, and lost after it had failed; the log also has the last retry of that one.
	r.logged(t, 3*hour, car(65006, `"mileage"=>[1, 2]`))
	r.event(t, 21, 48*hour, car(65023, `"mileage"=>[1, 2]`))
	r.logged(t, 6*hour, car(65023, `"mileage"=>[1, 2]`))
	r.dead(t, "worker_fail", 40*hour, "", car(65024, `"mileage"=>[1, 2]`))
	r.logged(t, 20*hour-minute, car(65024, `"mileage"=>[1, 2]`))
	r.logged(t, 2*hour, car(65024, `"mileage"=>[1, 2]`))
	// The dead letter has no body.
	r.event(t, 22, 11*hour, car(65025, `"mileage"=>[1, 2]`))
	r.exec(t, "INSERT INTO rentprog_webhook_dead (created_at, status, event_id) VALUES ("+r.at(11*hour-minute)+", 'worker_fail', '22')")
}

// A rental backend is migrated, with rows in every status, while its events also go to Holdfast:
//   - exported and imported events are stored once: none is lost, and none that arrived live is duplicated
//   - nothing runs and nothing is delivered, until an operator starts it after the cut-over
//   - a redelivery by RentProg is a duplicate, or rescues a failed event
//   - failed events are delivered once; an earlier change is folded before a later one
//   - at the end the two agree, except for events processed only here
func TestTheRentalBackendMovesIn(t *testing.T) {
	t.Parallel()
	old := &rental{oldSystem: newOldPostgres(t, "rental"), now: time.Now().UTC()}
	old.fill(t)
	i := start(t, "RENTPROG_WEBHOOK_TOKEN=token-of-the-test", "UMNICO_WEBHOOK_TOKEN=token-of-the-test", "HOLDFAST_REPLAY_INTERVAL=1s")
	crm := newEndpoint(t)
	i.subscribe(t, crm, "rentprog", false)
	alive := i.sendCar(t, both)
	i.sendCar(t, failsThere)
	i.post(t, "/webhooks/umnico/token-of-the-test", fixture(t, "rental/umnico_message.incoming"))
	i.settle(t)
	old.now = time.Now().UTC()
	old.event(t, 13, 0, both)
	old.dead(t, "worker_fail", 0, "", failsThere)

	file := i.write(t, "rental.ndjson", old.export(t, filepath.Join(root, "docs", "moving", "rental.sql")))
	i.bringsTheRentalBackend(t, file)
	i.awaitReplayLooks(t)
	require.Equal(t, 15, i.count(t, openDeadLetters))
	i.requireDelivered(t, crm)
	differences, isSame := i.compare(t, file)
	require.False(t, isSame)
	require.Equal(t, []string{`dead_letter status car_update status "waits" "processed"`}, differences)
	onlyProcessedHere, there := i.onlyProcessedHere(t, file), i.eventOf(t, "car", "65023")

	i.subscribe(t, crm, "rentprog", true)
	delivered := i.redeliversCars(t, crm)
	i.replay(t, "rentprog", 1)
	i.send(t, onlyProcessedHere, "all")
	delivered = append(delivered, i.eventOf(t, "car", "65004"), i.eventOf(t, "car", "65011"), i.eventOf(t, "car", "65021"),
		i.eventOf(t, "car", "65022"), i.eventOf(t, "car", "65025"))
	for _, lost := range []string{"65006", "65023", "65024"} {
		delivered = append(delivered, without(i.eventsOf(t, "car", lost, "", ""), there)...)
	}
	delivered = append(delivered, i.eventsOf(t, "client", "300001", "client_update", "")...)
	delivered = append(delivered, i.eventsOf(t, "car", "65001", "", "note")...)
	delivered = append(delivered, i.eventsOf(t, "booking", "500001", "booking_update", "")...)
	delivered = append(delivered, without(i.eventsOf(t, "car", "65010", "", ""), alive)...)
	require.Len(t, delivered, 16)
	i.requireDelivered(t, crm, delivered...)
	require.Contains(t, i.entity(t, "rentprog", "car", "65001"), `"scratch"`)
	require.Contains(t, i.entity(t, "rentprog", "car", "65022"), `"dent"`)

	differences, _ = i.compare(t, file)
	require.Equal(t, append([]string{`dead_letter status booking_update status "waits" "processed"`},
		append(slices.Repeat([]string{`dead_letter status car_update status "waits" "processed"`}, 13),
			`dead_letter status client_update status "waits" "processed"`)...), differences)
	before := i.contents(t)
	require.Equal(t, "event 0 new, 12 there; dead_letter 0 new, 16 there; entity 0 new, 4 there", counted(i.importFile(t, file)))
	require.Equal(t, before, i.contents(t))
}

func (i *installation) sendCar(t *testing.T, body []byte) (eventID string) {
	t.Helper()
	eventID, _ = i.post(t, "/webhooks/rentprog/token-of-the-test", body)
	return eventID
}

// bringsTheRentalBackend imports its file: every event is stored once, unchanged, and a dry run changes nothing.
func (i *installation) bringsTheRentalBackend(t *testing.T, file string) {
	t.Helper()
	before := i.contents(t)
	require.Contains(t, i.mustRun(t, "import", file, "--dry-run"), "nothing is changed")
	require.Equal(t, before, i.contents(t))
	require.Equal(t, "event 11 new, 1 there; dead_letter 15 new, 1 there; entity 4 new, 0 there", counted(i.importFile(t, file)))
	require.Equal(t, 14, i.count(t, processedEvents), "with the three that came alive")
	require.Equal(t, 15, i.count(t, openDeadLetters))
	require.Equal(t, 6, i.count(t, "SELECT count(*) FROM dead_letters WHERE state = 'exhausted'"), "given up, and only in the error log")
	require.Equal(t, 1, i.count(t,
		"SELECT count(*) FROM dead_letters WHERE error_message = 'timeout of the database' AND attempts = 3 AND type = 'client_update'"))
	require.JSONEq(t, `{"id":65001,"plate":"A 1","mileage":103000,"action":"update","last_event":
		{"name":"car_update","branch":"tbilisi","actor_id":"12","description":"Изменение 8"}}`, i.entity(t, "rentprog", "car", "65001"))
}

// redeliversCars redelivers events processed here or there, and failed ones. It returns the events that this delivers.
func (i *installation) redeliversCars(t *testing.T, crm *endpoint) (delivered []string) {
	t.Helper()
	for _, body := range [][]byte{both, failsThere, recent} {
		i.sendCar(t, body)
	}
	i.settle(t)
	require.Equal(t, 14, i.count(t, allEvents), "they are duplicates")
	i.requireDelivered(t, crm)
	i.sendCar(t, recentDead)
	i.settle(t)
	i.awaitCount(t, 14, openDeadLetters)
	rescued := i.eventOf(t, "car", "65009")
	i.requireDelivered(t, crm, rescued)
	again := i.sendCar(t, car(65002, `"mileage"=>[1, 2]`)) // after ten hours it is another event, which is marked
	i.settle(t)
	require.Equal(t, 1, i.count(t, "SELECT count(*) FROM events WHERE id = $1::uuid AND possible_duplicate_of IS NOT NULL", again))
	return []string{rescued, again}
}

// RentProg sends event IDs in headers, which the old tables don't have, so its events in them can't be matched. The export
// therefore ends where the shadow phase begins. An event without a row in the table of events has only the time of its failure,
// which may be later: such events are exported for another hour.
func TestTheExportEndsWhereTheShadowBegins(t *testing.T) {
	t.Parallel()
	old := &rental{oldSystem: newOldPostgres(t, "rental"), now: time.Now().UTC()}
	before, after := car(1, `"mileage"=>[1, 2]`), car(2, `"mileage"=>[1, 2]`)
	old.event(t, 1, 3*hour, before)
	old.event(t, 2, 0, after)
	old.dead(t, "worker_fail", -time.Minute, "2", after)
	old.dead(t, "worker_fail", 90*minute, "", car(3, `"mileage"=>[1, 2]`))
	old.logged(t, 80*minute, car(4, `"mileage"=>[1, 2]`))
	old.dead(t, "worker_fail", 30*minute, "", car(5, `"mileage"=>[1, 2]`))
	i := start(t, "RENTPROG_WEBHOOK_TOKEN=token-of-the-test")
	i.post(t, "/webhooks/rentprog/token-of-the-test", after, "X-Event-Id", "e2")
	i.settle(t)
	query := i.write(t, "since.sql", []byte("\\set shadow "+old.now.Add(-2*hour).Format(time.RFC3339)+"\n\\i "+
		filepath.Join(root, "docs", "moving", "rental.sql")+"\n"))
	file := i.write(t, "rental.ndjson", old.export(t, query))
	require.Equal(t, "event 1 new, 0 there; dead_letter 2 new, 0 there", counted(i.importFile(t, file)))
	differences, isSame := i.compare(t, file)
	require.True(t, isSame, differences)
}
