package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"github.com/stretchr/testify/require"

	"holdfast/internal/devstack/stacktest"
)

// poweredDisk is an ext4 on a loop device on a volatileFile.
type poweredDisk struct {
	t       testing.TB
	dir     string // for its files
	mounted string // where the ext4 is mounted
	durable *os.File
	file    *volatileFile // since the last plug
	device  *fuse.Server  // has the file
}

// diskSize is the size of a powered disk. Its file is sparse.
const diskSize = 2 << 30

// newPoweredDisk mounts an empty disk over a directory.
func newPoweredDisk(t testing.TB, dir, over string) *poweredDisk {
	t.Helper()
	d := &poweredDisk{t: t, dir: dir, mounted: over}
	var err error
	d.durable, err = os.Create(filepath.Join(dir, "durable"))
	require.NoError(t, err)
	t.Cleanup(func() { d.durable.Close() })
	require.NoError(t, d.durable.Truncate(diskSize))
	require.NoError(t, os.Mkdir(d.fuse(), 0o700))
	d.command("mkfs.ext4", "-q", "-E", "nodiscard,lazy_itable_init=0,lazy_journal_init=0", d.durable.Name())
	d.plug()
	t.Cleanup(d.unplug)
	return d
}

// requirePower skips the test where no powered disk can be made.
func requirePower(t testing.TB) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("a disk that loses power can be mounted only by root")
	}
	for _, device := range []string{"/dev/fuse", "/dev/loop-control"} {
		file, err := os.OpenFile(device, os.O_RDWR, 0)
		if err != nil {
			t.Skipf("a disk that loses power needs FUSE and loop devices: %v", err)
		}
		file.Close()
	}
	if _, err := exec.LookPath("mkfs.ext4"); err != nil {
		t.Skipf("a disk that loses power has an ext4: %v", err)
	}
}

func (d *poweredDisk) fuse() string { return filepath.Join(d.dir, "fuse") }

// plug mounts what is durable.
func (d *poweredDisk) plug() {
	const name = "disk"
	d.file = &volatileFile{durable: d.durable, unsynced: map[int64][][]byte{}}
	root := &fs.Inode{}
	var err error
	d.device, err = fs.Mount(d.fuse(), root, &fs.Options{
		MountOptions: fuse.MountOptions{DirectMountStrict: true, FsName: name, MaxWrite: 1 << 20},
		OnAdd: func(ctx context.Context) {
			root.AddChild(name, root.NewPersistentInode(ctx, d.file, fs.StableAttr{Mode: fuse.S_IFREG}), false)
		},
	})
	require.NoError(d.t, err)
	closeOnExec(d.t, "/dev/fuse")
	d.command("mount", "-o", "loop", filepath.Join(d.fuse(), name), d.mounted)
}

// closeOnExec keeps our handles of a file from our children: the file system of a killed test would hang as long as they have one.
func closeOnExec(t testing.TB, path string) {
	t.Helper()
	const handles = "/proc/self/fd"
	open, err := os.ReadDir(handles)
	require.NoError(t, err)
	for _, handle := range open {
		if target, _ := os.Readlink(filepath.Join(handles, handle.Name())); target == path {
			fd, err := strconv.Atoi(handle.Name())
			require.NoError(t, err)
			syscall.CloseOnExec(fd)
		}
	}
}

// unplug unmounts it. What is still in use stays with its processes, and can't write any more after a cut.
func (d *poweredDisk) unplug() {
	if d.device == nil {
		return
	}
	if err := retry(10*time.Second, func() error { return run("umount", d.mounted) }); err != nil {
		d.t.Logf("%v: it is unmounted lazily", err)
		_ = run("umount", "--lazy", d.mounted)
	}
	if err := retry(10*time.Second, d.device.Unmount); err != nil { // the kernel detaches the loop device in the background
		d.t.Logf("unmount the file of the disk: %v: it is unmounted lazily", err)
		_ = run("umount", "--lazy", d.fuse())
	}
	d.device = nil
}

// sync makes everything durable.
func (d *poweredDisk) sync() { d.command("sync", "--file-system", d.mounted) }

// cutDuringWrites ends the power between two writes and syncs; they fail from then on. Without any it ends after a moment.
func (d *poweredDisk) cutDuringWrites(rng *rand.Rand) {
	const writes = 100
	cut := d.file.cutAt(1+rng.IntN(writes), rng)
	select {
	case <-cut.done:
		d.t.Logf("power cut: %d of %d unsynced sectors survive", cut.survived, cut.unsynced)
	case <-time.After(2 * time.Second):
		d.cut(rng)
	}
}

// cut ends the power now.
func (d *poweredDisk) cut(rng *rand.Rand) {
	cut := d.file.cutAt(0, rng)
	d.t.Logf("power cut: %d of %d unsynced sectors survive", cut.survived, cut.unsynced)
}

// restore mounts what has survived a cut. All processes must have ended.
func (d *poweredDisk) restore() {
	d.unplug()
	d.plug()
}

func (d *poweredDisk) command(name string, args ...string) {
	d.t.Helper()
	require.NoError(d.t, run(name, args...))
}

func run(name string, args ...string) error {
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %v: %w %s", name, args, err, out)
	}
	return nil
}

// retry calls it until it succeeds or the time is over.
func retry(limit time.Duration, try func() error) error {
	for deadline := time.Now().Add(limit); ; time.Sleep(20 * time.Millisecond) {
		if err := try(); err == nil || time.Now().After(deadline) {
			return err
		}
	}
}

// After a cut, what was synced is still there, what wasn't isn't, and nothing can be written until the power is back.
func TestADiskForgetsUnsyncedWrites(t *testing.T) {
	requirePower(t)
	dir := t.TempDir()
	over := filepath.Join(dir, "mounted")
	require.NoError(t, os.Mkdir(over, 0o700))
	d := newPoweredDisk(t, dir, over)
	name := filepath.Join(over, "file")
	require.NoError(t, os.WriteFile(name, []byte("synced"), 0o600))
	d.sync()
	file, err := os.OpenFile(name, os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = file.WriteString("forgot")
	require.NoError(t, err)

	d.cut(rand.New(rand.NewPCG(*seed, 0)))
	_, err = file.WriteString("failed")
	require.Error(t, errors.Join(err, file.Sync()))
	require.NoError(t, file.Close())

	d.restore()
	content, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Equal(t, "synced", string(content))
}

// poweredPostgres returns a PostgreSQL with the template, whose data are on a powered disk.
func poweredPostgres(t testing.TB, fsync string) (*postgres, *poweredDisk) {
	t.Helper()
	requirePower(t)
	dir, err := stacktest.TempDir("chaos-power")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	p, err := startPostgres(t.Context(), filepath.Join(dir, "postgres"), nil)
	require.NoError(t, err)
	t.Cleanup(func() { p.kill() })
	require.NoError(t, prepareTemplate(t.Context(), p))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	require.NoError(t, p.server.Stop(ctx))
	p.server = nil

	data, copied := filepath.Join(p.options.Dir, "data"), filepath.Join(dir, "data")
	require.NoError(t, os.Rename(data, copied))
	require.NoError(t, os.Mkdir(data, 0o700))
	d := newPoweredDisk(t, dir, data)
	d.command("cp", "--archive", copied+"/.", data)
	require.NoError(t, errors.Join(os.Remove(filepath.Join(data, "lost+found")), os.RemoveAll(copied)))
	d.sync()
	// Checkpoints are frequent, so that cuts meet them.
	p.options.Settings = map[string]string{
		"fsync": fsync, "full_page_writes": "on", "max_connections": "300", "shared_buffers": "64MB",
		"max_wal_size": "64MB", "checkpoint_timeout": "30s",
	}
	p.start(t)
	t.Cleanup(p.kill) // before the disk is unmounted
	return p, d
}
