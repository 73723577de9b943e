package chaos

import (
	"context"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// A sector is the smallest write of a disk, in bytes. A block of 4 KiB is the largest that is never torn; a page of PostgreSQL has two.
const (
	sector         = 512
	sectorsOfBlock = 4096 / sector
)

// volatileFile is a file in a FUSE file system that behaves like a disk with a volatile cache: a write survives a power cut for
// certain only if it was synced afterwards.
type volatileFile struct {
	fs.Inode
	durable *os.File

	mu       sync.Mutex
	unsynced map[int64][][]byte // by number of the sector: its contents since the last sync, oldest first
	off      bool
	next     *powerCut // nil unless one is due
}

// powerCut is due at one of the next writes and syncs.
type powerCut struct {
	rng                *rand.Rand
	left               int           // writes and syncs until then
	done               chan struct{} // closed when the power is off
	survived, unsynced int           // sectors
}

var _ interface {
	fs.NodeOpener
	fs.NodeGetattrer
	fs.NodeReader
	fs.NodeWriter
	fs.NodeFsyncer
} = (*volatileFile)(nil)

// Open leaves all caching to the file system on top.
func (*volatileFile) Open(context.Context, uint32) (fs.FileHandle, uint32, syscall.Errno) {
	return nil, fuse.FOPEN_DIRECT_IO, fs.OK
}

func (f *volatileFile) Getattr(_ context.Context, _ fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	info, err := f.durable.Stat()
	if err != nil {
		return syscall.EIO
	}
	out.Mode, out.Size = syscall.S_IFREG|0o600, uint64(info.Size())
	return fs.OK
}

func (f *volatileFile) Read(_ context.Context, _ fs.FileHandle, to []byte, at int64) (fuse.ReadResult, syscall.Errno) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.off || misaligned(to, at) {
		return nil, syscall.EIO
	}
	if _, err := f.durable.ReadAt(to, at); err != nil {
		return nil, syscall.EIO
	}
	for i := 0; i < len(to); i += sector {
		if versions := f.unsynced[(at+int64(i))/sector]; len(versions) > 0 {
			copy(to[i:], versions[len(versions)-1])
		}
	}
	return fuse.ReadResultData(to), fs.OK
}

func (f *volatileFile) Write(_ context.Context, _ fs.FileHandle, data []byte, at int64) (uint32, syscall.Errno) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.off || misaligned(data, at) {
		return 0, syscall.EIO
	}
	defer f.countDown()
	for i := 0; i < len(data); i += sector {
		number := (at + int64(i)) / sector
		f.unsynced[number] = append(f.unsynced[number], slices.Clone(data[i:i+sector]))
	}
	return uint32(len(data)), fs.OK
}

// misaligned reports whether a request isn't one of a block device.
func misaligned(data []byte, at int64) bool { return len(data)%sector != 0 || at%sector != 0 }

func (f *volatileFile) Fsync(context.Context, fs.FileHandle, uint32) syscall.Errno {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.countDown(); f.off {
		return syscall.EIO
	}
	for number, versions := range f.unsynced {
		if !f.keep(number, versions[len(versions)-1]) {
			return syscall.EIO
		}
	}
	clear(f.unsynced)
	return fs.OK
}

func (f *volatileFile) keep(number int64, content []byte) bool {
	_, err := f.durable.WriteAt(content, number*sector)
	return err == nil
}

// cutAt cuts the power at the nth next write or sync; 0 is now.
func (f *volatileFile) cutAt(nth int, rng *rand.Rand) *powerCut {
	f.mu.Lock()
	defer f.mu.Unlock()
	cut := &powerCut{rng: rng, left: nth, done: make(chan struct{})}
	f.next = cut
	if nth == 0 {
		f.cut(cut)
	}
	return cut
}

// countDown is called for each write and before each sync.
func (f *volatileFile) countDown() {
	if f.next == nil {
		return
	}
	if f.next.left--; f.next.left == 0 {
		f.cut(f.next)
	}
}

// cut ends the power: reads, writes and syncs fail from now on. A random share of the unsynced blocks survives, each with any of its
// contents since the last sync. Today's disks write a block at once, and ext4 relies on it: if the two sectors of its superblock come
// from different writes, it can't be mounted.
func (f *volatileFile) cut(o *powerCut) {
	f.off, f.next = true, nil
	share := o.rng.Float64()
	block, survives, version := int64(-1), false, 0.0
	for _, number := range slices.Sorted(maps.Keys(f.unsynced)) {
		if number/sectorsOfBlock != block {
			block, survives, version = number/sectorsOfBlock, o.rng.Float64() < share, o.rng.Float64()
		}
		versions := f.unsynced[number]
		if survives && f.keep(number, versions[int(version*float64(len(versions)))]) {
			o.survived++
		}
	}
	o.unsynced = len(f.unsynced)
	clear(f.unsynced)
	close(o.done)
}
