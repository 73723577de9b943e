package chaos

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
)

var ingressFaults = []scenario{
	{id: "F19", name: "ingresses_killed", fault: func(w *world) {
		for _, n := range w.ingresses {
			for range 3 {
				n.crash()
				w.sleep(w.some(500*time.Millisecond, 2*time.Second))
			}
			n.kill()
			w.sleep(2 * time.Second)
			n.start(w.t)
		}
	}},
	{id: "F19", name: "ingresses_frozen", fault: func(w *world) {
		for _, n := range w.ingresses {
			n.freeze()
			w.sleep(outage / 2)
			n.thaw()
			w.sleep(time.Second)
		}
	}},
	{id: "F35", name: "file_descriptors_exhausted", fault: exhaustFiles},
}

// exhaustFiles limits an ingress to a few file descriptors, and occupies them.
func exhaustFiles(w *world) {
	n := w.ingresses[0]
	pid := n.pid()
	limit := func(files string) {
		out, err := exec.Command("prlimit", "--pid", fmt.Sprint(pid), "--nofile="+files).CombinedOutput()
		require.NoError(w.t, err, string(out))
	}
	now, err := w.use(n)
	require.NoError(w.t, err)
	before, err := os.ReadFile(fmt.Sprintf("/proc/%d/limits", pid))
	require.NoError(w.t, err)
	soft := "1024"
	for line := range strings.Lines(string(before)) {
		if rest, ok := strings.CutPrefix(line, "Max open files"); ok {
			soft = strings.Fields(rest)[0]
		}
	}
	limit(fmt.Sprintf("%d:", now.files+20))
	var idle []net.Conn
	for range 300 {
		if c, err := net.DialTimeout("tcp", strings.TrimPrefix(n.ingress, "http://"), time.Second); err == nil {
			idle = append(idle, c)
		}
	}
	w.sleep(outage / 2)
	for _, c := range idle {
		c.Close()
	}
	limit(soft + ":")
	require.Equal(w.t, pid, n.pid(), "the ingress has ended")
}
