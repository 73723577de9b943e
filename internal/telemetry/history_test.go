package telemetry

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func value(v float64) *float64 { return &v }

func get(t *testing.T, h *History, query string) (status int, result HistoryResult) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", "/metrics/history"+query, nil))
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &result))
	return w.Code, result
}

// The last points are kept, oldest first, with a gap where a series was missing.
func TestAHistoryKeepsTheLastPoints(t *testing.T) {
	t.Parallel()
	n := 0.0
	gather := func() []family {
		n++
		families := []family{
			{Name: "holdfast_a", Series: []series{{Labels: map[string]string{"p": "x"}, Value: value(n)}}},
			{Name: "go_goroutines", Series: []series{{Value: value(1)}}},
		}
		if n != 4 {
			count := uint64(n)
			families = append(families, family{Name: "holdfast_b", Series: []series{{Count: &count, Sum: value(n / 2)}}})
		}
		return families
	}
	h := newHistory(gather, time.Minute, 3)
	_, empty := get(t, h, "")
	require.Zero(t, empty.Points)
	for range 5 {
		h.record(time.Now())
	}
	_, all := get(t, h, "")
	require.Equal(t, 3, all.Points)
	require.Len(t, all.Series, 3)
	require.Equal(t, HistorySeries{"holdfast_a", map[string]string{"p": "x"}, []*float64{value(3), value(4), value(5)}}, all.Series[0])
	require.Equal(t, []*float64{value(3), nil, value(5)}, all.Series[1].Values)
	require.Equal(t, "holdfast_b_sum", all.Series[2].Name)

	_, some := get(t, h, "?name=holdfast_b&since=2m")
	require.Len(t, some.Series, 2)
	require.Equal(t, []*float64{nil, value(2.5)}, some.Series[1].Values)
	status, _ := get(t, h, "?since=yesterday")
	require.Equal(t, 400, status)
}

// A gauge with NaN, such as a ratio of nothing, doesn't break the response.
func TestAHistoryHasNoPointForNaN(t *testing.T) {
	t.Parallel()
	gather := func() []family { return []family{{Name: "holdfast_a", Series: []series{{Value: value(math.NaN())}}}} }
	h := newHistory(gather, time.Minute, 3)
	h.record(time.Now())
	_, all := get(t, h, "")
	require.Equal(t, []*float64{nil}, all.Series[0].Values)
}

// However many series there are, the history stays within its bounds and reports what it leaves out.
func TestAHistoryIsBounded(t *testing.T) {
	t.Parallel()
	round := 0
	h := newHistory(func() []family {
		round++
		f := family{Name: "holdfast_many"}
		for i := range 1000 {
			f.Series = append(f.Series, series{Labels: map[string]string{"i": fmt.Sprint(round, i)}, Value: value(1)})
		}
		return []family{f}
	}, time.Minute, 4)
	for range 10 {
		h.record(time.Now())
	}
	_, all := get(t, h, "")
	require.Len(t, all.Series, historySeries)
	require.Equal(t, 4, all.Points)
	require.LessOrEqual(t, len(h.dropped), historySeries)
	require.Positive(t, all.Dropped)
}
