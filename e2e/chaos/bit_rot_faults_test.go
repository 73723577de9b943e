package chaos

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/stretchr/testify/require"
)

// bitRotFaults flip bits in the files of Holdfast's database, which has checksums.
var bitRotFaults = []scenario{
	// Changes of the entities on the page wait until an operator has restored it from a copy.
	{id: "F78", name: "table_page_rots", prepare: ownDatabase, twice: true, fault: func(w *world) {
		page := w.rot("entities", 0)
		w.awaitDamage()
		w.whileStopped(func() { page.write(w, page.sound) })
	}},
	// Every insert needs the index, until an operator has rebuilt it.
	{id: "F79", name: "index_page_rots", prepare: ownDatabase, twice: true, fault: func(w *world) {
		w.rot("events_by_workflow", 1)
		w.awaitDamage()
		w.sql.exec(w.t, w.name, "REINDEX INDEX events_by_workflow")
	}},
	// Recovery takes the first damaged record for the end of the log: what was committed after it is gone, without an error. The runs
	// in Temporal still have it.
	{id: "F80", name: "write_ahead_log_rots", prepare: ownDatabase, buries: true, fault: rotLog},
}

// ownDatabase starts a separate database server for the world.
func ownDatabase(w *world) {
	w.sql = separatePostgres(w.t, "chaos-own")
	require.NoError(w.t, prepareTemplate(w.t.Context(), w.sql))
}

// page is a part of a file of the database.
type page struct {
	path  string
	at    int64
	sound []byte
}

func (p page) write(w *world, content []byte) {
	w.t.Helper()
	file, err := os.OpenFile(p.path, os.O_WRONLY, 0)
	require.NoError(w.t, err)
	_, err = file.WriteAt(content, p.at)
	require.NoError(w.t, err)
	require.NoError(w.t, file.Close())
}

// damage flips a random bit of it.
func (p page) damage(w *world) {
	w.t.Helper()
	rotten := append([]byte{}, p.sound...)
	rotten[w.rng.IntN(len(rotten))] ^= 1 << w.rng.IntN(8)
	p.write(w, rotten)
}

func (w *world) readPage(path string, at, size int64) page {
	w.t.Helper()
	p := page{path: filepath.Join(w.sql.options.Dir, "data", path), at: at, sound: make([]byte, size)}
	file, err := os.Open(p.path)
	require.NoError(w.t, err)
	defer file.Close()
	_, err = file.ReadAt(p.sound, at)
	require.NoError(w.t, err)
	return p
}

// rot damages a page of a table or index. The server restarts, so that it reads the page again.
func (w *world) rot(relation string, number int64) (p page) {
	w.t.Helper()
	const size = 8192
	path := w.text("SELECT pg_relation_filepath($1)", relation)
	w.whileStopped(func() {
		p = w.readPage(path, number*size, size)
		p.damage(w)
	})
	return p
}

// whileStopped does something to the files of the database.
func (w *world) whileStopped(do func()) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
	defer cancel()
	require.NoError(w.t, w.sql.server.Stop(ctx))
	w.sql.server = nil
	do()
	w.sql.start(w.t)
}

// text returns the text from a query.
func (w *world) text(query string, args ...any) (value string) {
	w.t.Helper()
	require.NoError(w.t, w.sql.connect(w.t, w.name).QueryRow(w.t.Context(), query, args...).Scan(&value))
	return value
}

// awaitDamage lets events arrive until the damage has been found, and an operator would be alerted.
func (w *world) awaitDamage() {
	w.t.Helper()
	w.sleep(outage)
	w.awaitCount(time.Minute, 1, "SELECT count(*) FROM error_log WHERE error_code = 'data_corrupted'")
	found, err := w.count("SELECT checksum_failures FROM pg_stat_database WHERE datname = $1", w.name)
	require.NoError(w.t, err)
	require.Positive(w.t, found, "pages that failed their checksum")
}

// rotLog damages a record of the log that recovery reads, and restores what it loses as operators do.
func rotLog(w *world) {
	began := time.Now()
	w.sql.exec(w.t, w.name, "CHECKPOINT")
	w.load.awaitAccepted(time.Minute, afterwards)
	end := w.text("SELECT pg_current_wal_insert_lsn()::text")
	name := w.text("SELECT pg_walfile_name($1)", end)
	offset, err := w.count("SELECT file_offset FROM pg_walfile_name_offset($1)", end)
	require.NoError(w.t, err)
	w.load.awaitAccepted(time.Minute, warmUp)
	w.sql.kill()
	const header = 24 // of a record
	w.readPage(filepath.Join("pg_wal", name), int64(offset), header).damage(w)
	w.sql.start(w.t)

	w.load.awaitAccepted(time.Minute, afterwards)
	restored, err := w.run("reconcile", "--since", began.UTC().Format(time.RFC3339), "--yes", "--reason", "a damaged log")
	require.NoError(w.t, err, restored)
	w.t.Log(restored)
	out, err := w.run("dlq", "replay", "--step", "run", "--code", "lost", "--yes")
	require.NoError(w.t, err, out)
	w.t.Log(out)
}
