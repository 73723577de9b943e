package persistence_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/providers/auth"
)

// The cost of an event of the bulk lane from the inbox to its entities, in this process and in PostgreSQL: Stripe events of about
// 600 bytes, each of another customer or all of a hundred.
func BenchmarkBatch(b *testing.B) {
	for _, size := range []int{50, 200, 400} {
		for _, customers := range []int{100, 1_000_000} {
			b.Run(fmt.Sprintf("of=%d/customers=%d", size, customers), func(b *testing.B) { benchmarkBatch(b, size, customers) })
		}
	}
}

func benchmarkBatch(b *testing.B, size, customers int) {
	db := open(b)
	s := newEventSource(b, nil)
	events := 0
	fill := func(n int) {
		rows := make([][]any, n)
		for i := range rows {
			events++
			r, body := s.stripe(events, customers)
			receipt, err := json.Marshal(r)
			require.NoError(b, err)
			rows[i] = []any{r.WorkflowID(), r.ID, "bulk", r.Provider, receipt, body, false, r.ReceivedAt}
		}
		_, err := db.sql.CopyFrom(b.Context(), pgx.Identifier{"inbox"}, []string{
			"workflow_id", "event_id", "lane", "provider", "receipt", "raw_body", "reject", "received_at",
		}, pgx.CopyFromRows(rows))
		require.NoError(b, err)
	}
	fill(5 * size)
	for range 5 {
		s.takeBatch(db, size)
	}
	fill(b.N * size)
	db.exec("ANALYZE")
	postgres, ours := cpuOfPostgres(b, db), cpuOfUs()
	b.ResetTimer()
	for range b.N {
		require.Equal(b, size, s.takeBatch(db, size))
	}
	b.StopTimer()
	perEvent := func(d time.Duration) float64 { return float64(d.Microseconds()) / float64(b.N*size) }
	b.ReportMetric(perEvent(cpuOfUs()-ours), "go-µs/event")
	b.ReportMetric(perEvent(cpuOfPostgres(b, db)-postgres), "pg-µs/event")
	b.ReportMetric(perEvent(b.Elapsed()), "µs/event")
}

// stripe returns the nth event, as the ingress would receive it.
func (s *eventSource) stripe(n, customers int) (event.Receipt, []byte) {
	id := fmt.Sprintf("cus_%024d", n%customers)
	body := fmt.Appendf(nil, `{"id":"evt_%024d","object":"event","api_version":"2025-04-30","created":%d,"data":{"object":{"id":%q,`+
		`"object":"customer","address":null,"balance":%d,"created":1700000000,"currency":"eur","delinquent":false,`+
		`"description":"A customer of the benchmark","email":"someone@example.com","invoice_prefix":"AB12CD","livemode":false,`+
		`"metadata":{"tier":"gold","seat":"12"},"name":"Jenny Rosen","phone":null,"preferred_locales":[],"shipping":null,`+
		`"tax_exempt":"none"}},"livemode":false,"pending_webhooks":1,"request":{"id":"req_1","idempotency_key":null},`+
		`"type":"customer.updated"}`, n, noon.Unix()+int64(n), id, n)
	p, _ := s.catalogue.Lookup("stripe")
	r := &auth.Request{Method: "POST", Header: map[string][]string{"content-type": {"application/json"}}, Body: body}
	require.NoError(s.t, p.SignWithSecrets(r, noon))
	require.NoError(s.t, p.Authenticate(r, noon))
	items, err := p.Split(r)
	require.NoError(s.t, err)
	item := items[0]
	return event.Receipt{
		ID: uuid.Must(uuid.NewV7()).String(), Provider: "stripe", Key: item.Key, KeyFrom: item.KeyFrom, Type: item.Type,
		Priority: item.Priority, ReceivedAt: noon, Headers: item.Headers, RequestID: uuid.NewString(), CorrelationID: uuid.NewString(),
	}, item.Body
}

func cpuOfUs() time.Duration {
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// cpuOfPostgres returns the CPU time of the server's running processes: the pools of a benchmark stay open.
func cpuOfPostgres(b *testing.B, db *database) (total time.Duration) {
	b.Helper()
	const perTick = 10 * time.Millisecond
	rows, err := db.sql.Query(context.Background(), `SELECT pid::text FROM pg_stat_activity`)
	require.NoError(b, err)
	pids, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(b, err)
	for _, pid := range pids {
		stat, err := os.ReadFile("/proc/" + pid + "/stat")
		if err != nil {
			continue // the process has ended
		}
		_, rest, _ := strings.Cut(string(stat), ") ")
		for _, ticks := range strings.Fields(rest)[11:13] {
			n, err := strconv.Atoi(ticks)
			require.NoError(b, err)
			total += time.Duration(n) * perTick
		}
	}
	return total
}
