package dispatch

import (
	"testing"
	"time"

	"holdfast/delivery"
)

// What it costs to tell of an attempt that has succeeded.
func BenchmarkReport(b *testing.B) {
	d, err := New(Options{Queue: newMemory(), Slots: 1, Errors: &told{}})
	if err != nil {
		b.Fatal(err)
	}
	r := preparedJob{Job: job(1, 1)}
	s := delivery.Outcome{Job: r.Job, Result: delivery.Result{Kind: delivery.OK, Code: "200", Took: time.Millisecond}}
	b.ReportAllocs()
	for b.Loop() {
		d.report(r, delivery.Message{Type: "order.paid"}, s)
	}
}
