package chaos

import (
	"os"
	"path/filepath"
	"time"

	"github.com/stretchr/testify/require"
)

// The clock of the standby's machine differs by minutes, so that time jumps in PostgreSQL when it is promoted: for leases,
// retries and idempotency windows. Or the clocks of the ingresses jump, for event IDs and the order of events.
var clockFaults = []scenario{
	{id: "F94", name: "new_primarys_clock_is_ahead", replicated: true, twice: true, fault: func(w *world) { w.failOverTo("+120") }},
	{id: "F94", name: "new_primarys_clock_is_behind", replicated: true, twice: true, fault: func(w *world) { w.failOverTo("-120") }},
	{id: "F94", name: "ingress_clocks_step", code: stepping, twice: true, fault: func(w *world) {
		w.rollTo(stepping.build(w.t), w.ingresses)
		w.sleep(5 * outage)
		w.rollTo("", w.ingresses)
	}},
}

// fakeTime is Debian's libfaketime, which gives a process another clock.
const fakeTime = "/usr/lib/*/faketime/libfaketime.so.1"

// failOverTo promotes a standby whose clock differs by a number of seconds, after the primary was lost with its disk.
func (w *world) failOverTo(difference string) {
	found, err := filepath.Glob(fakeTime)
	require.NoError(w.t, err)
	require.NotEmpty(w.t, found, "apt-get install libfaketime")
	w.standby.kill()
	w.t.Setenv("FAKETIME", difference)
	w.t.Setenv("DONT_FAKE_MONOTONIC", "1")
	w.t.Setenv("LD_PRELOAD", found[0])
	w.standby.start(w.t)
	for _, name := range []string{"FAKETIME", "LD_PRELOAD"} {
		require.NoError(w.t, os.Unsetenv(name)) // only for the standby
	}
	w.sql.awaitSynchronous(w.t)

	w.sleep(outage)
	w.sql.destroy(w.t)
	w.promote()
	var ahead float64
	require.NoError(w.t, w.sql.connect(w.t, w.name).QueryRow(w.t.Context(), "SELECT extract(epoch FROM now() - $1)::float8",
		time.Now()).Scan(&ahead))
	require.InDelta(w.t, 120, max(ahead, -ahead), 10, "the difference of the clocks")
	w.sleep(outage)
}
