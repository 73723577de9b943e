package persistence_test

import (
	"bufio"
	"context"
	"encoding/binary"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"holdfast/delivery"
	"holdfast/delivery/dispatch"
	"holdfast/event"
	"holdfast/persistence"
)

// attempts is what an endpoint sees of several processes.
type attempts struct {
	mu      sync.Mutex
	posts   map[string]map[*killable]bool // by event
	running map[*killable]map[int64]int   // by destination
	most    int                           // at once, of one destination
	direct  int                           // that skipped the queue
}

func newAttempts() *attempts {
	return &attempts{posts: map[string]map[*killable]bool{}, running: map[*killable]map[int64]int{}}
}

// killable is a process with a store and a dispatcher that can be killed: from then on, neither PostgreSQL nor an endpoint sees
// anything that it does.
type killable struct {
	*database
	*dispatch.Dispatcher

	seen  *attempts
	wires *wires
	ends  death
	took  time.Duration // of an attempt

	died chan struct{} // closed under the lock of seen
}

// death is where a process is killed.
type death int

const (
	deathSending        death = iota // while it sends some byte to PostgreSQL
	deathReceiving                   // before it receives the result of some statement
	deathHandingOver                 // after its commit is confirmed, before the attempt
	deathBeforePost                  // when the attempt begins
	deathAfterPost                   // before it has the response
	deathSendingResult               // while it sends some byte after the response, such as the result
	deathAwaitingResult              // before it receives the result of some statement after the response
	deaths
	deathNever
)

func (a *attempts) startProcess(db *database, ends death, random *rand.Rand) *killable {
	p := &killable{seen: a, ends: ends, wires: &wires{open: map[net.Conn]bool{}}, died: make(chan struct{}), took: time.Millisecond}
	p.wires.cut = p.die
	cfg := db.cfg
	cfg.URL, cfg.ApplicationName = p.wires.listen(db.t, cfg.URL), "killable"
	store, err := persistence.Open(context.Background(), cfg)
	require.NoError(db.t, err)
	p.database = &database{Store: store, t: db.t, url: db.url, cfg: cfg, sql: db.sql}
	p.Dispatcher, err = dispatch.New(dispatch.Options{Queue: store.QueueView(), HTTP: p, Slots: 64, Errors: discard{}})
	require.NoError(db.t, err)
	p.Start()
	store.Subscriptions.DeliverThrough(p)
	if ends == deathSending {
		p.wires.arm(1+random.IntN(14_000), 0)
	}
	if ends == deathReceiving {
		p.wires.arm(0, 1+random.IntN(60))
	}
	return p
}

// die kills the process.
func (p *killable) die() {
	p.seen.mu.Lock()
	defer p.seen.mu.Unlock()
	if !p.isDead() {
		close(p.died)
		delete(p.seen.running, p)
		p.wires.close()
	}
}

func (p *killable) isDead() bool {
	select {
	case <-p.died:
		return true
	default:
		return false
	}
}

// clean releases what a dead process has left in this one.
func (p *killable) clean() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	_ = p.Stop(ctx, 0)
	p.Close()
}

// Reserve implements delivery.Reserver.
func (p *killable) Reserve(destinationID int64, bytes int) delivery.Reservation {
	if r := p.Dispatcher.Reserve(destinationID, bytes); r != nil {
		return handover{r, p}
	}
	return nil
}

type handover struct {
	delivery.Reservation
	of *killable
}

func (h handover) Start(j delivery.Job, t delivery.Target, m delivery.Message) {
	if h.of.ends == deathHandingOver {
		h.of.die()
	}
	h.of.seen.mu.Lock()
	h.of.seen.direct++
	h.of.seen.mu.Unlock()
	if h.of.isDead() {
		h.Free()
		return
	}
	h.Reservation.Start(j, t, m)
}

// Send implements dispatch.Sender.
func (p *killable) Send(_ context.Context, _ delivery.Target, j delivery.Job, _ delivery.Message) delivery.Result {
	dead := delivery.Result{Kind: delivery.Ours, Code: "dead", At: time.Now()}
	if p.ends == deathBeforePost {
		p.die()
	}
	if !p.begin(j) {
		return dead
	}
	timer := time.NewTimer(p.took)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-p.died:
		return dead
	}
	if p.ends == deathAfterPost {
		p.die()
	}
	if p.ends == deathSendingResult {
		p.wires.arm(1+rand.IntN(3000), 0)
	}
	if p.ends == deathAwaitingResult {
		p.wires.arm(0, 1+rand.IntN(12))
	}
	p.seen.mu.Lock()
	defer p.seen.mu.Unlock()
	if p.isDead() {
		return dead
	}
	p.seen.running[p][j.DestinationID]--
	return delivery.Result{Kind: delivery.OK, Code: "200", At: time.Now()}
}

func (p *killable) begin(j delivery.Job) bool {
	a := p.seen
	a.mu.Lock()
	defer a.mu.Unlock()
	if p.isDead() {
		return false
	}
	if a.posts[j.EventID] == nil {
		a.posts[j.EventID] = map[*killable]bool{}
	}
	if a.posts[j.EventID][p] {
		p.t.Errorf("a process has attempted %s twice", j.EventID)
	}
	a.posts[j.EventID][p] = true
	if a.running[p] == nil {
		a.running[p] = map[int64]int{}
	}
	a.running[p][j.DestinationID]++
	now := 0
	for _, of := range a.running {
		now += of[j.DestinationID]
	}
	a.most = max(a.most, now)
	return true
}

// wires are the connections of a process to PostgreSQL.
type wires struct {
	cut      func()
	listener net.Listener

	mu              sync.Mutex
	open            map[net.Conn]bool
	isClosed        bool
	bytes, commands int // until the cut; 0 is never
}

// arm cuts all connections within a number of bytes to the server, or before a number of completed statements is received.
func (w *wires) arm(bytes, commands int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.bytes, w.commands = bytes, commands
}

func (w *wires) listen(t testing.TB, server string) string {
	u, err := url.Parse(server)
	require.NoError(t, err)
	w.listener, err = net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := u.Host
	u.Host = w.listener.Addr().String()
	query := u.Query()
	query.Set("sslmode", "disable")
	u.RawQuery = query.Encode()
	go func() {
		for {
			client, err := w.listener.Accept()
			if err != nil {
				return
			}
			go w.forward(client, address)
		}
	}()
	return u.String()
}

// add reports whether the connections may be used.
func (w *wires) add(all ...net.Conn) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range all {
		w.open[c] = true
	}
	return !w.isClosed
}

func (w *wires) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.isClosed = true
	_ = w.listener.Close()
	for c := range w.open {
		_ = c.Close()
	}
}

// burn counts down, and reports whether the cut is reached and what is left before it.
func (w *wires) burn(fuse *int, by int) (left int, isCut bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch left = *fuse; {
	case left == 0 || left > by:
		*fuse = max(0, left-by)
		return by, false
	default:
		return left - 1, true
	}
}

func (w *wires) forward(client net.Conn, address string) {
	defer client.Close()
	server, err := net.Dial("tcp", address)
	if err != nil {
		return
	}
	defer server.Close()
	if !w.add(client, server) {
		return
	}
	go func() {
		defer server.Close()
		chunk := make([]byte, 64<<10)
		for {
			n, err := client.Read(chunk)
			if err != nil {
				return
			}
			left, isCut := w.burn(&w.bytes, n)
			_, err = server.Write(chunk[:left])
			if isCut {
				w.cut()
			}
			if isCut || err != nil {
				return
			}
		}
	}()
	answers := bufio.NewReader(server)
	for {
		header, err := answers.Peek(5) // type, length
		if err != nil {
			return
		}
		message := make([]byte, 1+binary.BigEndian.Uint32(header[1:]))
		if _, err := io.ReadFull(answers, message); err != nil {
			return
		}
		if message[0] == 'C' { // CommandComplete
			if _, isCut := w.burn(&w.commands, 1); isCut {
				w.cut()
				return
			}
		}
		if _, err := client.Write(message); err != nil {
			return
		}
	}
}

var cuts = flag.Int("cuts", 112, "how many processes are killed while they deliver")

// Processes die wherever they are between the insert of a delivery and its result, several at once, and an event that a worker
// doesn't confirm is written again. Each event is delivered, none without an attempt, and never more at once than the destination
// allows. `go test ./persistence -run AnyCut -cuts 2000 -v` shows where they died.
func TestNoDeliveryIsLostByAnyCut(t *testing.T) {
	t.Parallel()
	const atOnce, limit, destinations = 7, 2, 3
	db := open(t, func(c *persistence.Config) { c.MaxConns = 4 })
	for n := range destinations {
		name := fmt.Sprint("d", n)
		db.subscribe(name, delivery.Events{Types: []string{name}})
		db.exec(`UPDATE destinations SET settings = settings || jsonb_build_object('in_flight', $1::integer)`, limit)
	}
	a, random := newAttempts(), rand.New(rand.NewPCG(1, 53))
	died := map[death]int{}
	events, unconfirmed := 0, 0
	for killed := 0; killed < *cuts; killed += atOnce {
		var wrote []event.Receipt
		var lock sync.Mutex
		var all errgroup.Group
		var group []*killable
		for n := range atOnce {
			p := a.startProcess(db, death(n)%deaths, random)
			group = append(group, p)
			all.Go(func() error {
				for range 6 {
					r, content := eventOf(rand.IntN(destinations))
					_, err := p.Writer.Write(t.Context(), event.WholeEvent, r, body, content, runOf(r))
					lock.Lock()
					wrote = append(wrote, r)
					if err != nil {
						unconfirmed++
					}
					lock.Unlock()
					select {
					case <-p.died:
						return nil
					case <-time.After(time.Duration(rand.IntN(30)) * time.Millisecond):
					}
				}
				return nil
			})
		}
		require.NoError(t, all.Wait())
		for _, p := range group {
			if p.isDead() {
				died[p.ends]++
			}
			p.die()
			p.clean()
		}
		db.untilNone(`pg_stat_activity WHERE datname = current_database() AND application_name = 'killable'`)
		for _, r := range wrote {
			p := parsed()
			p.Type = r.Type
			db.mustProcess(r, p)
		}
		for n := range int64(destinations) {
			db.passes(n+1, time.Minute) // their leases end
		}
		require.NoError(t, db.Outbox.Rearm(t.Context()))
		survivor := a.startProcess(db, deathNever, random)
		db.untilNone(`delivery_queue`)
		require.NoError(t, survivor.Stop(t.Context(), time.Minute))
		survivor.Close()
		for _, r := range wrote {
			require.NotEmpty(t, a.posts[r.ID], "no attempt of %s", r.ID)
		}
		events += len(wrote)
		require.Equal(t, events, value[int](db, `SELECT count(*) FROM deliveries WHERE status = 'delivered'`))
	}
	require.LessOrEqual(t, a.most, limit)
	repeated := 0
	for _, by := range a.posts {
		repeated += len(by) - 1
	}
	t.Logf("%d events, %d of them unconfirmed, %d attempted again; %d skipped the queue, %d at once", events, unconfirmed, repeated,
		a.direct, a.most)
	for d := range deaths {
		require.NotZero(t, died[d], "nothing died at %d", d)
	}
	t.Log("killed at their place: ", fmt.Sprint(died))
}

func (d *database) untilNone(of string) {
	d.t.Helper()
	for value[int](d, `SELECT count(*) FROM `+of) > 0 {
		<-time.After(time.Millisecond)
	}
}

// eventOf returns an event for a destination.
func eventOf(destination int) (event.Receipt, event.Parsed) {
	r, p := receipt(), parsed()
	r.Type, p.Type = fmt.Sprint("d", destination), fmt.Sprint("d", destination)
	return r, p
}

// Four processes write and deliver events of one destination, first as fast as they can, then more slowly: never more than it
// allows are in flight, whether they skip the queue or not.
func TestFourProcessesKeepALimitTogether(t *testing.T) {
	t.Parallel()
	const limit, writers, each = 10, 4, 60
	db := open(t)
	db.subscribe("d1", delivery.Events{})
	db.edit(func(d *delivery.Destination) { d.InFlight = limit })
	a := newAttempts()
	var all errgroup.Group
	for range 4 {
		p := a.startProcess(db, deathNever, nil)
		p.took = 20 * time.Millisecond
		defer p.clean()
		for range writers {
			all.Go(func() error {
				for n := range each {
					r := receipt()
					if _, err := p.Writer.Write(t.Context(), event.WholeEvent, r, body, parsed(), runOf(r)); err != nil {
						return err
					}
					<-time.After(time.Duration(10+rand.IntN(1+8*n)) * time.Millisecond)
				}
				return nil
			})
		}
	}
	require.NoError(t, all.Wait())
	db.untilNone(`delivery_queue`)
	require.Len(t, a.posts, 4*writers*each)
	for id, by := range a.posts {
		require.Len(t, by, 1, id)
	}
	require.Equal(t, limit, a.most)
	t.Logf("%d of %d skipped the queue", a.direct, len(a.posts))
}
